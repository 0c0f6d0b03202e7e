#!/usr/bin/env bash
# Runs every fuzz test of the module for FUZZTIME (default 30s) each.
set -euo pipefail
time=${FUZZTIME:-30s}
grep -rlE '^func Fuzz' --include='*_test.go' internal | while read -r file; do
	pkg=./$(dirname "$file")
	grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //' | while read -r name; do
		echo "fuzz: $pkg $name for $time"
		go test "$pkg" -run '^$' -fuzz "^$name\$" -fuzztime "$time"
	done
done

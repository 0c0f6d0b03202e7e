#!/usr/bin/env bash
# gofmt, go vet, staticcheck (its checks are chosen in staticcheck.conf), and the
# syntax of our own scripts.
set -euo pipefail
unformatted=$(git ls-files '*.go' | xargs -r gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'lint: run gofmt -w on:\n%s\n' "$unformatted" >&2
	exit 1
fi
go vet ./...
go tool staticcheck ./...
for f in scripts/*.sh .ci/run; do bash -n "$f"; done
echo "lint: gofmt, go vet, staticcheck: clean"

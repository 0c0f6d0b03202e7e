#!/usr/bin/env bash
# Fails if the generated files under the given paths differ from what is committed.
set -euo pipefail
if ! git diff --exit-code --stat -- "$@" || [ -n "$(git ls-files --others --exclude-standard -- "$@")" ]; then
	git ls-files --others --exclude-standard -- "$@"
	echo "generated files are not current: run make generate and commit the result" >&2
	exit 1
fi
echo "generated files are current: $*"

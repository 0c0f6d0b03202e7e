#!/usr/bin/env bash
# Installs what `make demo` or `make test` needs on a Debian machine, and says
# what it installs. Usage: setup.sh demo|test
set -euo pipefail
want=${1:?usage: setup.sh demo|test}

fail() { printf '\nsetup: %s\n' "$*" >&2; exit 1; }

command -v go >/dev/null || fail "Go is missing: install Go $(sed -n 's/^go //p' go.mod) or newer (https://go.dev/dl) and put it in PATH"
[ "$(id -u)" = 0 ] || fail "root is needed: the lab makes network namespaces; run: sudo env PATH=\$PATH make $want"

missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); } # command, package
if [ "$want" = test ]; then
	need gcc gcc                     # the race detector is cgo
	[ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
	need git git
	need clang-19 clang-19           # rebuilds the BPF objects
	need llvm-strip-19 llvm-19
	need arping iputils-arping       # checks our answers as a client would
	need ping iputils-ping
	need ndisc6 ndisc6
	need curl curl
fi
[ ${#missing[@]} -gt 0 ] || exit 0

command -v apt-get >/dev/null || fail "install these yourself, there is no apt-get here: ${missing[*]}"
echo "setup: installing through apt: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	fail "apt could not install: ${missing[*]}"
fi
echo "setup: done"

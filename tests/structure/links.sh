#!/usr/bin/env bash
# links.sh CORE.a OPS.a RUN.a: no library refers to a library above it. Code that inspects programs (core) refers to no
# operator or kernel; code that checks and rewrites (ops) refers to nothing that executes.
set -euo pipefail
core=$1 ops=$2 run=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

# symbols KIND LIBRARY: prints the symbols that the library defines (KIND defined) or refers to (undefined), one per line.
symbols() { nm -g -P "--$1-only" "$2" 2>/dev/null | awk 'NF > 1 { print $1 }' | sort -u; }

# refers_to_none LOWER HIGHER: checks that no object of LOWER refers to a symbol that only HIGHER defines.
refers_to_none() {
  symbols defined "$1" >"$scratch/own"
  symbols undefined "$1" | comm -23 - "$scratch/own" >"$scratch/wanted"
  symbols defined "$2" | comm -12 - "$scratch/wanted" >"$scratch/found"
  [ -s "$scratch/wanted" ] && [ -s "$scratch/own" ] || { echo "$1: found no symbols"; status=1; }
  if [ -s "$scratch/found" ]; then
    echo "$(basename "$1") refers to what $(basename "$2") defines:"
    c++filt <"$scratch/found" | sed 's/^/  /'
    status=1
  fi
}
refers_to_none "$core" "$ops"
refers_to_none "$core" "$run"
refers_to_none "$ops" "$run"

# The checks above prove something only if each library contains its own parts.
symbols defined "$run" | c++filt | grep '^pt2::run::Executor::' >/dev/null || { echo "$run: lacks the executor"; status=1; }
symbols defined "$ops" | c++filt | grep '^pt2::check_operators(' >/dev/null || { echo "$ops: lacks the checks"; status=1; }
exit $status

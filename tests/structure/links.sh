#!/usr/bin/env bash
# links.sh CORE.a OPS.a RUN.a: who links a library gets nothing of those above it. Inspecting (core) refers to no operator
# or kernel, checking and rewriting (ops) to nothing that executes.
set -euo pipefail
core=$1 ops=$2 run=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

# symbols KIND LIBRARY: names, one a line, of those that it defines or refers to.
symbols() { nm -g -P "--$1-only" "$2" 2>/dev/null | awk 'NF > 1 { print $1 }' | sort -u; }

# refers_to_none LOWER HIGHER: no object of LOWER needs what only HIGHER has.
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

# The executor is where the areas say it is, so that the lines above mean something.
symbols defined "$run" | c++filt | grep '^pt2::run::Executor::' >/dev/null || { echo "$run: lacks the executor"; status=1; }
symbols defined "$ops" | c++filt | grep '^pt2::check_operators(' >/dev/null || { echo "$ops: lacks the checks"; status=1; }
exit $status

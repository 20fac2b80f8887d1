#!/usr/bin/env bash
# c_symbols.sh LIBRARY: libpt2.so exports exactly the versioned symbols of tests/c/symbols.txt, the header declares the same
# functions, and a test calls every function. Symbols are never removed: PT2_REBASE=1 only adds new ones.
set -euo pipefail
library=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort >"$scratch/exported"
sed -nE 's/^PT2_API .*[ *](pt2_[a-z0-9_]+)\(.*/\1/p' include/pt2/c/pt2.h | LC_ALL=C sort >"$scratch/declared"
if [ "${PT2_REBASE:-}" = 1 ]; then
  LC_ALL=C sort -u tests/c/symbols.txt "$scratch/exported" -o tests/c/symbols.txt
fi

if ! diff tests/c/symbols.txt "$scratch/exported"; then
  echo "libpt2.so: found other symbols than tests/c/symbols.txt"
  status=1
fi
if ! diff <(sed 's/@.*//' tests/c/symbols.txt) "$scratch/declared"; then
  echo "include/pt2/c/pt2.h: declares other functions than tests/c/symbols.txt lists"
  status=1
fi
while read -r name; do
  grep -qE "\b$name\(" tests/c/*.c tests/c/*.cpp || { echo "tests/c: no test calls $name"; status=1; }
done <"$scratch/declared"
soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = libpt2.so.1 ] || { echo "found the SONAME '$soname', expected libpt2.so.1"; status=1; }
exit $status

#!/usr/bin/env bash
# compare_in_wine.sh COMMAND COMMAND.exe FILE...: whether both say the same of each file, with the same exit code, and write
# the same file for another release. Exit 1 where one differs.
set -euo pipefail
native=$1 windows=$2
shift 2
folder=$(mktemp -d)
export WINEPREFIX=$PWD/build/zig-tools/wine-home WINEDEBUG=-all
mkdir -p "$WINEPREFIX"  # which the server expects
wine=$(command -v wine64 /usr/lib/wine/wine64 | head -n 1)
server=$(command -v wineserver /usr/lib/wine/wineserver64 | head -n 1)
# Otherwise it ends with each process, and the next one may meet it while it does.
"$server" --persistent
trap '"$server" --kill; rm -rf "$folder"' EXIT
# The first program is told how Wine sets up the folder.
"$wine" "$windows" --version >/dev/null 2>&1
alike=0 different=0
# both VERB FILE OPTION...
both() {
  local ours=0 theirs=0
  rm -f "$folder"/*
  "$native" "$@" -o "$folder/ours.pt2" >"$folder/ours" 2>&1 </dev/null || ours=$?
  "$wine" "$windows" "$@" -o "$folder/theirs.pt2" >"$folder/theirs" 2>&1 </dev/null || theirs=$?
  sed -i 's/theirs\.pt2/ours.pt2/' "$folder/theirs"
  if [ "$ours" = "$theirs" ] && cmp -s "$folder/ours" "$folder/theirs" &&
    { [ ! -e "$folder/ours.pt2" ] || cmp -s "$folder/ours.pt2" "$folder/theirs.pt2"; }; then
    alike=$((alike + 1))
  else
    different=$((different + 1))
    echo "$*: exit $theirs, expected $ours" >&2
    diff "$folder/theirs" "$folder/ours" | head -n 10 >&2 || true
  fi
}
for file; do
  both json "$file"
  both dis "$file"
  both convert "$file" --for 2.6
  both graph "$file"
done
echo "$alike answers alike, $different differ"
[ "$different" -eq 0 ] && [ "$alike" -gt 0 ]

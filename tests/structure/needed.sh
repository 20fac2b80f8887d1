#!/usr/bin/env bash
# needed.sh BINARY...: each binary needs only shared libraries of its language and libraries that
# packaging/dependencies.json lists as linked.
set -euo pipefail
table=packaging/dependencies.json
linked=$(sed -nE '/"how": "linked"/s/^ *"([^"]+)".*/\L\1/p' "$(dirname "${BASH_SOURCE[0]}")/../../$table")
[ -n "$linked" ]
faults=0
for binary in "$@"; do
  needed=$(readelf -d "$binary" | sed -nE 's/.*\(NEEDED\).*\[(.+)\]/\1/p')
  [ -n "$needed" ] || { echo "$binary: needs nothing"; faults=1; }
  for library in $needed; do
    name=$(sed -E 's/^lib([A-Za-z]+).*/\1/' <<<"$library")
    case $name in c | m | stdc | gcc | pthread | dl | ld-linux*) continue ;; esac
    grep -qx -- "$name" <<<"$linked" || { echo "$binary needs $library, which $table does not have as linked"; faults=1; }
  done
done
exit $faults

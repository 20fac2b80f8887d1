#!/usr/bin/env bash
# library.sh CXX CORE.a OPS.a RUN.a: the libraries that users link have no static constructors and stay small.
#
# The script measures a stripped shared object of all objects of the archive, without exported symbols. This is the most
# that a program can link; most programs link less. Other libraries (simdjson, libdeflate, fmt, C++ runtime) do not count.
set -euo pipefail
compiler=$1 core=$2 ops=$3 run=$4
max_core_bytes=3000000
max_all_bytes=20000000
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

constructors=$(objdump -h "$core" "$ops" "$run" |
  awk '/file format/ { object = $1 } $2 ~ /^\.(init_array|ctors)/ { print object " " $2 }')
if [ -n "$constructors" ]; then
  printf 'static constructors:\n%s\n' "$constructors"
  status=1
fi

check_size() {
  local limit=$1 name=$2 size
  shift 2
  "$compiler" -shared -o "$scratch/$name.so" -Wl,--whole-archive "$@" -Wl,--no-whole-archive -Wl,--exclude-libs,ALL
  strip "$scratch/$name.so"
  size=$(stat -c %s "$scratch/$name.so")
  echo "$name: $size bytes, at most $limit"
  [ "$size" -le "$limit" ] || status=1
}
check_size $max_core_bytes core "$core"
check_size $max_all_bytes all "$core" "$ops" "$run"
exit $status

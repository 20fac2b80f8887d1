#!/usr/bin/env bash
# consumer.sh CMAKE BUILD_FOLDER: installs to an empty prefix and uses the installed files (project.sh). Then builds a project
# that contains this one as a subfolder: it gets the libraries, but neither the command nor install rules.
set -euo pipefail
cmake=$1 build=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$cmake" --install "$build" --prefix "$scratch/prefix" >/dev/null
bash "$here/project.sh" "$cmake" "$scratch/prefix"

mkdir "$scratch/outer"
cat >"$scratch/outer/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(outer CXX)
add_subdirectory("$root" pt2)
add_executable(outer "$here/no_exceptions.cpp")
target_link_libraries(outer PRIVATE pt2::run)
END
"$cmake" -S "$scratch/outer" -B "$scratch/outer/build" -G Ninja -DCMAKE_BUILD_TYPE=Release
if grep -qE '^build pt2/(tools|interop)/' "$scratch/outer/build/build.ninja"; then
  echo "add_subdirectory brings the command along"
  exit 1
fi
"$cmake" --install "$scratch/outer/build" --prefix "$scratch/installed" 2>/dev/null || true
[ ! -e "$scratch/installed" ]

#!/usr/bin/env bash
# guides.sh CMAKE PREFIX: compiles and runs the examples of docs/ in C++, C, CMake and shell, against the library in PREFIX,
# and compares their output. bindings/run runs Fortran, python/tests/test_guides.py runs Python. A page with a CMakeLists.txt
# is a project; programs of other pages link pt2::run. All run in a copy of examples/ with two language models.
set -euo pipefail
shopt -s nullglob  # a page may have no examples
cmake=$1 prefix=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r "$root/examples" "$scratch/examples"
cp -r "$root/tests/data/decoders/dynamic" "$scratch/examples/llama"
cp -r "$root/tests/data/decoders/encoder" "$scratch/examples/t5"
mkdir "$scratch/common"
{
  printf 'cmake_minimum_required(VERSION 3.22)\nproject(guides CXX)\nfind_package(pt2 REQUIRED)\n'
  printf 'link_libraries(pt2::run)\n'
} >"$scratch/common/CMakeLists.txt"

build() {
  "$cmake" -S "$1" -B "$1/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror -I$root/examples" \
    >"$scratch/log" && "$cmake" --build "$1/build" >"$scratch/log" || { cat "$scratch/log"; return 1; }
}

for page in "$root"/docs/{,guides/}*.md; do
  folder=$scratch/$(basename "$page" .md)
  bash "$here/blocks.sh" "$page" "$folder"
  for source in "$folder"/*; do
    case $(basename "$source") in
      "output of "* | *.py | *.f90 | *.sh | *.yaml | CMakeLists.txt) ;;
      *.c) cc -std=c99 -Wall -Wextra -pedantic -Werror "$source" -o "${source%.c}" $(pkg-config --cflags --libs libpt2) ;;
      *.cpp) [ -f "$folder/CMakeLists.txt" ] ||
        printf 'add_executable(%s "%s")\n' "$(basename "$source" .cpp)" "$source" >>"$scratch/common/CMakeLists.txt" ;;
      *) echo "$page: nothing runs $(basename "$source")" && exit 1 ;;
    esac
  done
  [ ! -f "$folder/CMakeLists.txt" ] || build "$folder"
done
# Compiles the examples in comments of public headers (header_examples.cpp).
mkdir "$scratch/headers"
headers=$(find "$prefix" -name pt2.h -path '*/include/pt2/pt2.h' -printf '%h')
shown=0
for header in $(cd "$headers" && find . -name '*.h' -not -path './c/*' | sed 's,^\./,,; s,\.h$,,'); do
  source=$scratch/headers/${header//\//_}.inc
  awk '/^\/\/   / { sub(/^\/\/   /, ""); print }' "$headers/$header.h" >"$source"
  [ -s "$source" ] || continue
  shown=$((shown + 1))
  grep -qF "\"$(basename "$source")\"" "$here/header_examples.cpp" || { echo "nothing compiles what $header.h shows"; exit 1; }
done
[ "$shown" -gt 20 ]
{
  printf 'add_library(header_examples OBJECT "%s")\n' "$here/header_examples.cpp"
  printf 'target_include_directories(header_examples PRIVATE "%s")\n' "$scratch/headers"
  printf 'target_compile_options(header_examples PRIVATE -Wno-unused)\n'
} >>"$scratch/common/CMakeLists.txt"
build "$scratch/common"

cd "$scratch/examples"
failed=0
for source in "$scratch"/*/*.{c,cpp,sh}; do
  [ -f "$source" ] || continue
  folder=$(dirname "$source")
  name=$(basename "$source")
  [[ $folder != "$scratch/examples" && $name != "output of "* ]] || continue
  case $name in
    *.c) command=("${source%.c}") ;;
    *.sh) [ -z "$(compgen -G "$folder/*.f90")" ] || continue
      cp "$folder"/{build/*.so,*.c} . 2>/dev/null || true
      command=(bash -e "$source") ;;
    *.cpp) command=("$scratch/common/build/${name%.cpp}")
      [ ! -f "$folder/CMakeLists.txt" ] || command=("$folder/build/${name%.cpp}")
      [ -x "${command[0]}" ] || continue ;;  # a plug-in; a shell script of the page loads it
  esac
  echo "$(basename "$folder"): $name"
  "${command[@]}" >"$scratch/printed" || { echo "exit code $?"; failed=1; }
  [ ! -f "$folder/output of $name" ] || diff "$folder/output of $name" "$scratch/printed" || failed=1
done
exit $failed

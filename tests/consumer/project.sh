#!/usr/bin/env bash
# project.sh CMAKE PREFIX: tests a user's project with the library that is installed in PREFIX. Builds and runs
# - the program and the CMakeLists.txt of the README, word for word; a verifier that links only pt2::ops; and a program
#   without exceptions that names components;
# - the programs of examples/, which must print what examples/README.md shows; the C one is built through pkg-config;
# - custom.pt2 with the command and a plug-in;
# - all programs of the guides (guides.sh).
set -euo pipefail
cmake=$1 prefix=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# fenced INFO [FILE]: prints the first block of FILE (default: README.md) that opens with ```INFO.
fenced() {
  awk -v fence="\`\`\`$1" '$0 == "```" && inside { exit } inside { print } $0 == fence { inside = 1 }' \
    "$root/${2:-README.md}"
}
# prints PROGRAM EXPECTED: checks that the program prints the content of the file EXPECTED.
prints() {
  "$1" | tee "$scratch/printed"
  diff "$2" "$scratch/printed"
}

mkdir "$scratch/app"
fenced cpp >"$scratch/app/main.cpp"
fenced cmake >"$scratch/app/CMakeLists.txt"
cat >"$scratch/app/verify.cpp" <<'END'
#include <pt2/verify.h>
#include <pt2/ops/verify_operators.h>
int main(int, char** arguments) {
  const pt2::Diagnostics findings =
      pt2::verify(arguments[1], pt2::Level::full, {.operators = pt2::check_operators});
  return static_cast<int>(findings.all().size());
}
END
printf 'add_executable(verify verify.cpp)\ntarget_link_libraries(verify PRIVATE pt2::ops)\n' \
  >>"$scratch/app/CMakeLists.txt"
cat >>"$scratch/app/CMakeLists.txt" <<END
find_package(pt2 REQUIRED COMPONENTS core ops run)
add_executable(no_exceptions "$here/no_exceptions.cpp")
target_compile_options(no_exceptions PRIVATE -fno-exceptions)
target_link_libraries(no_exceptions PRIVATE pt2::run)
END
for example in "$root"/examples/*.cpp; do
  name=$(basename "$example" .cpp)
  printf 'add_executable(%s "%s")\ntarget_link_libraries(%s PRIVATE pt2::run)\n' "$name" "$example" "$name" \
    >>"$scratch/app/CMakeLists.txt"
done
for plugin in "$root"/examples/plugins/*.cpp; do
  name=$(basename "$plugin" .cpp)
  printf 'add_library(%s MODULE "%s")\ntarget_link_libraries(%s PRIVATE pt2::run)\n' "$name" "$plugin" "$name" \
    >>"$scratch/app/CMakeLists.txt"
done
"$cmake" -S "$scratch/app" -B "$scratch/app/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror"
"$cmake" --build "$scratch/app/build"

mkdir "$scratch/unknown"
cat >"$scratch/unknown/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(unknown CXX)
find_package(pt2 REQUIRED COMPONENTS core runtime)
END
if "$cmake" -S "$scratch/unknown" -B "$scratch/unknown/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  2>"$scratch/message"; then
  echo "an unknown component is found"
  exit 1
fi
grep -q "pt2 has no component 'runtime'; it has core, ops, run" "$scratch/message"

# A project in C, on a machine without the packages that only programs in C++ link.
mkdir "$scratch/c"
cat >"$scratch/c/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(c C)
find_package(pt2 REQUIRED COMPONENTS c)
add_executable(digits "$root/examples/c/digits.c")
target_link_libraries(digits PRIVATE pt2::c)
END
"$cmake" -S "$scratch/c" -B "$scratch/c/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_simdjson=ON
"$cmake" --build "$scratch/c/build"

cd "$root/examples"
fenced text >"$scratch/expected"
prints "$scratch/app/build/app" "$scratch/expected"
"$scratch/app/build/verify" digits.pt2
"$scratch/app/build/no_exceptions" digits.pt2
for example in *.cpp; do
  fenced "text $example" examples/README.md >"$scratch/expected"
  prints "$scratch/app/build/${example%.cpp}" "$scratch/expected"
done
libraries=$(dirname "$(find "$prefix" -name libpt2.so)")
export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries
cc -std=c99 -Wall -Wextra -pedantic -Werror "$root/examples/c/digits.c" -o "$scratch/app/digits" \
  $(pkg-config --cflags --libs libpt2)
fenced "text c/digits.c" examples/README.md >"$scratch/expected"
"$scratch/app/digits" digits.pt2 digit_5.npy digits_8.npy | tee "$scratch/printed"
diff "$scratch/expected" "$scratch/printed"
fenced "text plugins/mylib.cpp" examples/README.md >"$scratch/expected"
"$prefix/bin/pt2" run custom.pt2 --ops "$scratch/app/build/libmylib.so" >"$scratch/printed"
diff "$scratch/expected" "$scratch/printed"

for each in bash-completion/completions/pt2 zsh/*/_pt2 fish/vendor_completions.d/pt2.fish man/man1/pt2-run.1*; do
  test -s "$prefix"/share/$each
done

PATH=$prefix/bin:$PATH bash "$here/guides.sh" "$cmake" "$prefix"

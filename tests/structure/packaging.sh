#!/usr/bin/env bash
# All packaging files name the dependencies in the table packaging/dependencies.json and the version in CMakeLists.txt. The
# table contains every package that CMake looks for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
faults=0
fault() {
  echo "$*"
  faults=$((faults + 1))
}
table=packaging/dependencies.json

# expect FILE TEXT: checks that the file contains the text.
expect() { grep -qF -- "$2" "$1" || fault "$1: lacks $2"; }

version=$(sed -nE 's/^project\(pt2 VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
expect packaging/debian/changelog "libpt2 ($version-"
expect packaging/vcpkg/libpt2/vcpkg.json "\"version\": \"$version\""
expect pyproject.toml "version = \"$version\""

# named COLUMN: prints the entries of that column in the current row of the table.
named() { sed -nE "s/.*\"$1\": \"([^\"]+)\".*/\1/p" <<<"$row"; }
depends=$(sed -n '/^Package: libpt2-dev/,/^Description/p' packaging/debian/control)
count=0
while read -r row; do
  count=$((count + 1))
  expect dev " $(named debian)"
  expect packaging/debian/control "$(named debian)"
  expect packaging/vcpkg/libpt2/vcpkg.json "\"$(named vcpkg)\""
  expect packaging/conan/conanfile.py "requires(\"$(named conan)/"
  if [ "$(named how)" = linked ]; then
    grep -qw -- "$(named debian)" <<<"$depends" || fault "packaging/debian/control: libpt2-dev lacks $(named debian)"
    expect cmake/pt2Config.cmake.in "find_dependency($(sed -E 's/^ *"([^"]+)".*/\1/' <<<"$row"))"
  fi
done < <(grep '"licence"' "$table")
[ "$count" -ge 6 ] || fault "$table: $count packages read"

while read -r package; do
  grep -qF "\"$package\"" "$table" || fault "$table: lacks $package, which CMake looks for"
done < <(git ls-files '*CMakeLists.txt' 'cmake/*.cmake' | grep -v '^tests/data' |
  xargs sed -nE 's/^ *find_package\((\w+).*/\1/p' | sort -u)
[ "$faults" -eq 0 ]

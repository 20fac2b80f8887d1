#!/usr/bin/env bash
# consumer.sh CMAKE BUILD_FOLDER: somebody else's project uses the installed library. Installs to an empty prefix, takes
# program and CMakeLists.txt word for word from the README, builds them there, and runs the program on the example.
set -euo pipefail
cmake=$1 build=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# fenced LANGUAGE: the first block of that language in the README.
fenced() { awk -v fence="\`\`\`$1" '$0 == "```" && inside { exit } inside { print } $0 == fence { inside = 1 }' "$root/README.md"; }

"$cmake" --install "$build" --prefix "$scratch/prefix" >/dev/null
mkdir "$scratch/app"
fenced cpp >"$scratch/app/main.cpp"
fenced cmake >"$scratch/app/CMakeLists.txt"
"$cmake" -S "$scratch/app" -B "$scratch/app/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror"
"$cmake" --build "$scratch/app/build"

cd "$root/examples"
"$scratch/app/build/app" | tee "$scratch/printed"
fenced text | diff - "$scratch/printed"

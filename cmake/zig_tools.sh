#!/usr/bin/env bash
# Brings what compiles for systems other than this one into build/zig-tools: zig from PyPI, which is Clang with the headers
# and runtimes of macOS, Windows and WASI, and the sources of libraries from Debian. ./dev platforms calls it, and
# web/toolchain.sh includes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$PWD/build/zig-tools
zig=$tools/zig
zig_version=0.17.1
mkdir -p "$tools/bin"

if [ ! -x "$zig/zig" ]; then
  python3 -m venv "$tools/venv"
  "$tools/venv/bin/pip" -q install "ziglang==$zig_version"
  ln -sfn "$tools"/venv/lib/python3*/site-packages/ziglang "$zig"
fi

# compiler NAME ARGUMENTS: makes bin/NAME, which is touched only where it changes.
compiler() {
  printf '#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR=%q ZIG_LOCAL_CACHE_DIR=%q\nexec %q %s "$@"\n' \
    "$tools/cache" "$tools/cache" "$zig/zig" "$2" >"$tools/bin/$1.new"
  chmod +x "$tools/bin/$1.new"
  cmp -s "$tools/bin/$1.new" "$tools/bin/$1" && rm "$tools/bin/$1.new" || mv "$tools/bin/$1.new" "$tools/bin/$1"
}
compiler ar ar
compiler ranlib ranlib
compiler rc rc
compiler macos-clang "cc -target aarch64-macos.13.0"
compiler macos-clang++ "c++ -target aarch64-macos.13.0"
compiler windows-clang "cc -target x86_64-windows-gnu"
compiler windows-clang++ "c++ -target x86_64-windows-gnu"

# The libraries' sources, in the versions of this Debian, through lists of packages that are apart from the system's.
sources=$tools/sources
if [ ! -f "$sources/complete" ]; then
  rm -rf "$sources"
  mkdir -p "$sources/apt/lists/partial" "$sources/apt/cache/archives/partial" "$sources/apt/parts"
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$list" ] || sed 's/^Types: deb$/Types: deb-src/; s/^deb /deb-src /' "$list" >"$sources/apt/parts/${list##*/}"
  done
  apt=(apt-get -q -o "Dir::State::lists=$sources/apt/lists" -o "Dir::Cache=$sources/apt/cache"
    -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$sources/apt/parts" -o APT::Sandbox::User=root)
  "${apt[@]}" update
  (cd "$sources" && "${apt[@]}" source --download-only fmtlib simdjson libdeflate highway)
  for archive in "$sources"/*.orig.tar.*; do
    tar -C "$sources" -xf "$archive"
  done
  for name in fmtlib simdjson libdeflate highway; do
    ln -sfn "$(ls -d "$sources/$name"-*/)" "$sources/$name"
  done
  # Those that are headers alone.
  mkdir -p "$sources/include"
  ln -sfn /usr/include/CLI "$sources/include/CLI"
  touch "$sources/complete"
fi

#!/usr/bin/env bash
# pt2.h includes every public C++ header, and Clang compiles it as C++23: there std::unique_ptr is constexpr, and Clang
# instantiates it earlier than GCC.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../include/pt2"
diff <(find . -name '*.h' -printf '%P\n' | grep -vxF -e pt2.h -e c/pt2.h | LC_ALL=C sort) \
  <(sed -n 's|^#include "pt2/\(.*\)"$|\1|p' pt2.h | LC_ALL=C sort)
for compiler in clang++ clang++-14; do
  command -v "$compiler" >/dev/null || continue
  "$compiler" -std=c++2b -fsyntax-only -I.. -x c++ - <<<'#include "pt2/pt2.h"'
  break
done

#!/usr/bin/env bash
# pt2.h includes every public C++ header.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../include/pt2"
diff <(find . -name '*.h' -printf '%P\n' | grep -vxF -e pt2.h -e c/pt2.h | LC_ALL=C sort) \
  <(sed -n 's|^#include "pt2/\(.*\)"$|\1|p' pt2.h | LC_ALL=C sort)

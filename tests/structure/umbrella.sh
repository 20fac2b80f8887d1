#!/usr/bin/env bash
# pt2.h includes every public header.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../include/pt2"
diff <(printf '%s\n' *.h | grep -vx pt2.h | LC_ALL=C sort) \
  <(sed -n 's|^#include "pt2/\(.*\)"$|\1|p' pt2.h | LC_ALL=C sort)

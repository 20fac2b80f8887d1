#!/usr/bin/env bash
# What one system or standard library has and another lacks, or what depends on the user's language, is in
# src/base/platform.cpp alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

found=$(grep -rnE '\b(st_mtim|st_mtimespec|lgamma|lgamma_r|signgam|strto[df]|strtod_l|stod|stof|atof|setlocale)\b' src tools include \
  --include='*.cpp' --include='*.h' | grep -vE '^src/base/platform\.(cpp|h):|^[^:]*:[0-9]+: *//|aten::|"lgamma"' || true)
[ -z "$found" ] || { echo "belongs into src/base/platform.cpp:" >&2; echo "$found" >&2; exit 1; }

#!/usr/bin/env bash
# Only src/base/platform.cpp and src/base/platform/ use functions that some systems or standard libraries lack, or that
# depend on the locale.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

found=$(grep -rnE '\b(st_mtim|st_mtimespec|lgamma|lgamma_r|signgam|strto[df]|strtod_l|stod|stof|atof|setlocale)\b' src tools include \
  --include='*.cpp' --include='*.h' | grep -vE '^src/base/platform[/.]|^[^:]*:[0-9]+: *//|aten::|"lgamma"' || true)
# Mathematical constants that standard C++ lacks, and system headers.
found+=$(grep -rnE '\bM_(PI|E|LN|LOG|SQRT|1|2)[A-Z0-9_]*\b|#include <(unistd|fcntl|dlfcn|fnmatch|glob|sched|signal|poll|io|windows|sys/[a-z]+)\.h>' \
  src tools include --include='*.cpp' --include='*.h' |
  grep -vE '^src/base/platform[/.]|^src/kernels/threads\.cpp' || true)
[ -z "$found" ] || { echo "belongs into src/base/platform.cpp or src/base/platform/:" >&2; echo "$found" >&2; exit 1; }

# Clang up to 15 cannot compile the algorithms of libstdc++ that return a std::ranges::subrange.
found=$(grep -rnE '\branges::(unique|rotate|remove|remove_if|partition|stable_partition|search|search_n|find_end|equal_range|subrange)\b' \
  src tools include tests --include='*.cpp' --include='*.h' || true)
[ -z "$found" ] || { echo "Clang cannot compile these, use the algorithm that takes iterators:" >&2; echo "$found" >&2; exit 1; }

# Installed libraries find each other beside themselves, which macOS calls @loader_path.
[ "$(grep -c '@loader_path' CMakeLists.txt)" -ge "$(grep -c '\$ORIGIN' CMakeLists.txt)" ] ||
  { echo 'CMakeLists.txt: $ORIGIN needs @loader_path beside it' >&2; exit 1; }

#!/usr/bin/env bash
# docs/upstream.md names every class and function of two of PyTorch's files (tests/data/upstream), and tests that exist.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

faults=0
for list in tests/data/upstream/*.txt; do
  while read -r name; do
    grep -qF "\`$name\`" docs/upstream.md || { echo "docs/upstream.md: lacks '$name' of $list"; faults=1; }
  done <"$list"
done
while IFS=. read -r suite test; do
  grep -rqE "TEST(_F|_P)?\($suite, $test\)" tests || { echo "docs/upstream.md: there is no test $suite.$test"; faults=1; }
done < <(grep -oE '\| `[A-Za-z]+\.[A-Za-z]+` \|$' docs/upstream.md | tr -d '|` ' | sort -u)
exit $faults

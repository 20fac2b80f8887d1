#!/usr/bin/env bash
# docs/upstream.md names every class and function of two of PyTorch's files (tests/data/upstream). README.md's table under
# "What PyTorch's own code defines" is complete. Every row of both tables names existing tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

faults=0
fault() {
  echo "$*"
  faults=$((faults + 1))
}

for list in tests/data/upstream/*.txt; do
  while read -r name; do
    grep -qF "\`$name\`" docs/upstream.md || fault "docs/upstream.md: lacks '$name' of $list"
  done <"$list"
done

# Checks the tests in the last column of each row. `structure.NAME` is a script in this folder.
check_tests() {
  local file=$1 row tests test
  while read -r row; do
    tests=$(sed -E 's/.*\| (.*) \|$/\1/' <<<"$row" | grep -oE '`[A-Za-z0-9]+\.[A-Za-z0-9_]+`' | tr -d '`' || true)
    [ -n "$tests" ] || fault "$file: no test in the row $row"
    for test in $tests; do
      if [ "${test%%.*}" = structure ]; then
        [ -f "tests/structure/${test#*.}.sh" ] || fault "$file: there is no $test"
      else
        grep -rqE "TEST(_F|_P)?\(${test%%.*}, ${test#*.}\)" tests --include='*.cpp' || fault "$file: there is no test $test"
      fi
    done
  done < <(grep -E '^\|.*\|$' | grep -vE '^\| PyTorch \||^\|-')
}
check_tests docs/upstream.md <docs/upstream.md
defined=$(sed -n "/^What PyTorch's own code defines/,/^## /p" README.md)
check_tests README.md <<<"$defined"
for row in 'schema 5.3' 'schema 8.6' '`Program` and `Model`' '`serialize.py`' '`graph_signature.py`' 'the early draft'; do
  grep -qF "| $row" <<<"$defined" || fault "README.md: lacks the row '$row'"
done
[ "$faults" -eq 0 ]

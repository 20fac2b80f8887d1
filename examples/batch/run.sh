#!/usr/bin/env bash
# run.sh PYTHON: runs the recipes with the engines that are installed beside pt2 in that Python, on this machine only. Both
# must give as many right answers as PyTorch (examples/README.md). Then 100,000 rows go through four workers of each engine,
# one of which is killed (many_rows.py).
set -euo pipefail
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
expected="446 of 450 right"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export RAY_USAGE_STATS_ENABLED=0 PYSPARK_PYTHON=$python

# run SCRIPT ARGUMENT...: shows the script's output; shows its log only if it fails.
run() { "$python" "$@" "$PWD/../digits.pt2" "$PWD/../digits_images.npz" 2>"$log" || { cat "$log" >&2; exit 1; }; }

for recipe in ray_data spark_udf; do
  printf '%s: ' $recipe
  found=$(run $recipe.py)
  echo "$found"
  [ "$found" = "$expected" ] || { echo "expected: $expected"; exit 1; }
done
for engine in ray spark; do
  printf '%s: ' $engine
  run many_rows.py --passes 100 $engine | grep -v '(raylet)'  # Ray says here, too, that a worker died
done

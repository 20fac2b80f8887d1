#!/usr/bin/env bash
# run.sh PYTHON: runs the recipes on the engines that are installed beside pt2 in that Python, on this machine alone. Both
# give as many right answers as PyTorch did (examples/README.md).
set -euo pipefail
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
expected="446 of 450 right"
for recipe in ray_data spark_udf; do
  printf '%s: ' $recipe
  found=$(RAY_USAGE_STATS_ENABLED=0 PYSPARK_PYTHON=$python "$python" $recipe.py "$PWD/../digits.pt2" \
    "$PWD/../digits_images.npz" 2>recipe.log) || { cat recipe.log; exit 1; }
  rm recipe.log
  echo "$found"
  [ "$found" = "$expected" ] || { echo "expected: $expected"; exit 1; }
done

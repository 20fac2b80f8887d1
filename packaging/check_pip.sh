#!/usr/bin/env bash
# check_pip.sh WHEEL PACKAGE...: each in a new Debian of its own (clean_debian.sh): the wheel serves somebody else's project
# (check_wheel.sh) where there is no compiler; then `pip install '.[numpy]'` in a clone, in a new virtual environment, after
# these Debian packages, and the README's program there.
set -euo pipefail
wheel=$(realpath "$1")
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

echo "== the wheel"
(
  . "$root/packaging/clean_debian.sh"
  python_inside
  mkdir -p "$clean/source"
  cp -r "$root/README.md" "$root/examples" "$root/packaging" "$wheel" "$clean/source/"
  inside bash /source/packaging/check_wheel.sh "/source/$(basename "$wheel")"
)
echo "== pip install of a clone"
. "$root/packaging/clean_debian.sh"
python_inside
install_packages "$@"
clone
inside python3 -m venv /venv
quietly_inside sh -c "cd $root && /venv/bin/pip install '.[numpy]'"
inside /venv/bin/pip list
if inside /venv/bin/python -c 'import torch' 2>/dev/null; then
  echo "found torch, expected none"
  exit 1
fi
awk '/^```python$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$root/README.md" >"$clean/recognise.py"
printed=$(inside sh -c "cd $root/examples && /venv/bin/python /recognise.py")
echo "$printed"
[ "$printed" = "this is a 5" ]

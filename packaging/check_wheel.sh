#!/usr/bin/env bash
# check_wheel.sh WHEEL: installs it in a new virtual environment of every CPython from 3.10 on that is found (in PATH, by
# pyenv, by uv) and runs the README's program there: the digit must be right, without torch, and with none of the
# libraries that libpt2 is made of but the wheel's own.
set -euo pipefail
wheel=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
awk '/^```python$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$root/README.md" >"$scratch/digits.py"
cat >>"$scratch/digits.py" <<'END'

import re
import sys

assert "torch" not in sys.modules
mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line and "/" in line}
for path in sorted(mapped):
    inside = path.startswith(sys.prefix)
    if not inside and re.match(r"lib(fmt|simdjson|deflate)\b", path.rsplit("/", 1)[-1]):
        raise SystemExit(f"{path} is not the wheel's")
END

pythons() {
  local version
  for version in 10 11 12 13 14; do
    {
      type -aP "python3.$version" || true
      ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$version".*/bin/python 2>/dev/null || true
      if command -v uv >/dev/null; then uv python find --no-project "3.$version" 2>/dev/null || true; fi
    } | while IFS= read -r python; do
      # A shim of pyenv may stand for a version that is not chosen.
      if "$python" -c 'import venv, sys; sys.exit(sys.implementation.name != "cpython")' 2>/dev/null; then
        echo "$python"
        break
      fi
    done
  done
}
found=$(pythons)
[ -n "$found" ] || { echo "found no CPython from 3.10 on"; exit 1; }
for python in $found; do
  rm -rf "$scratch/venv"
  "$python" -m venv "$scratch/venv"
  "$scratch/venv/bin/python" -m pip --disable-pip-version-check -q install numpy "$wheel"
  printed=$(cd "$root/examples" && "$scratch/venv/bin/python" "$scratch/digits.py")
  echo "$("$python" --version): $printed"
  [ "$printed" = "this is a 5" ]
done

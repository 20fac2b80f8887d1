#!/usr/bin/env bash
# check_wheel.sh WHEEL: somebody else's project, the README's program in a package that depends on pt2[numpy], is built and
# installed beside the wheel in a new virtual environment of every CPython from 3.10 on that is found (in PATH, by pyenv,
# by uv): the digit must be right, without torch, and with none of the libraries that libpt2 links
# (packaging/dependencies.json) but the wheel's own. The wheel has less than 6 MB.
set -euo pipefail
wheel=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
size=$(stat -c %s "$wheel")
[ "$size" -lt 6000000 ] || { echo "$wheel: found $size bytes, expected less than 6000000"; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
project=$scratch/project
mkdir "$project"
cat >"$project/pyproject.toml" <<'END'
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "recognise"
version = "1"
dependencies = ["pt2[numpy]"]

[tool.setuptools]
py-modules = ["recognise"]
END
awk '/^```python$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$root/README.md" >"$project/recognise.py"
linked=$(sed -nE '/"how": "linked"/s/^ *"([^"]+)".*/\L\1/p' "$root/packaging/dependencies.json" | sort)
cat >"$scratch/check.py" <<'END'
import re
import sys

import recognise

assert "torch" not in sys.modules
assert recognise.__file__.startswith(sys.prefix)
linked = "|".join(sys.argv[1].split())
mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line and "/" in line}
ours = {path for path in mapped if re.match(rf"lib({linked})\b", path.rsplit("/", 1)[-1])}
assert len(ours) == len(linked.split("|")), f"found {sorted(ours)}, expected one of each: {linked}"
for path in sorted(ours):
    if not path.startswith(sys.prefix):
        raise SystemExit(f"{path} is not the wheel's")
brought = {path for path in mapped if "/pt2.libs/" in path} - ours
if brought:
    raise SystemExit(f"the wheel has {sorted(brought)}, which packaging/dependencies.json does not have as linked")
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
  "$scratch/venv/bin/python" -m pip --disable-pip-version-check -q install "$wheel" "$project"
  printed=$(cd "$root/examples" && "$scratch/venv/bin/python" "$scratch/check.py" "$linked")
  echo "$("$python" --version): $printed"
  [ "$printed" = "this is a 5" ]
done

#!/usr/bin/env bash
# check_conan.sh PACKAGE...: in a new Debian of its own (clean_debian.sh) with these Debian packages, Conan from PyPI builds
# the package of a clone, and the README's program against it, which it runs (conan/test_package). Debian's packages stand in
# for those of a server. With CONAN_RECIPES, a folder of recipes as conan-center-index has them, these are built instead.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/packaging/clean_debian.sh"
python_inside
install_packages "$@"
clone
conan() { quietly_inside sh -c "cd $root && REQUESTS_CA_BUNDLE=$bundle /venv/bin/conan $*"; }
quietly_inside python3 -m venv /venv
quietly_inside /venv/bin/pip install 'conan>=2,<3'
conan profile detect
if [ -n "${CONAN_RECIPES:-}" ]; then
  cp -r "$CONAN_RECIPES" "$clean/recipes"
  conan remote add --index 0 recipes /recipes
  from="--remote recipes --build=missing -s compiler.cppstd=20"
else
  from="--profile=packaging/conan/debian.profile --no-remote"
fi
conan create packaging/conan "$from" -c tools.cmake.cmaketoolchain:generator=Ninja
grep -E "Package '.*' created|this is a" "$clean/log"
grep -q 'this is a 5' "$clean/log"

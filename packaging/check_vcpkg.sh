#!/usr/bin/env bash
# check_vcpkg.sh VCPKG PACKAGE...: in a new Debian of its own (clean_debian.sh) with these Debian packages, a copy of this
# folder of vcpkg, which was bootstrapped, installs the port of a clone. The README's program is built with it and run.
set -euo pipefail
vcpkg=$(realpath "$1")
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/packaging/clean_debian.sh"
# Without patchelf vcpkg would download one.
install_packages "$@" ca-certificates git curl zip unzip tar pkg-config patchelf
clone
cp -a "$vcpkg" "$clean/vcpkg"
triplet=x64-linux-release
quietly_inside env VCPKG_DISABLE_METRICS=1 VCPKG_FORCE_SYSTEM_BINARIES=1 /vcpkg/vcpkg install 'libpt2[tools]' \
  --triplet=$triplet --host-triplet=$triplet --overlay-ports="$root/packaging/vcpkg" ||
  { grep -hE -A5 'error:|Error ' "$clean"/vcpkg/buildtrees/libpt2/*.log | head -n 100; exit 1; }
grep -E '^Building|^All requested' "$clean/log"
mkdir "$clean/app"
for each in cpp:main.cpp cmake:CMakeLists.txt; do
  awk -v fence="\`\`\`${each%:*}" '$0 == "```" && inside { exit } inside { print } $0 == fence { inside = 1 }' \
    "$root/README.md" >"$clean/app/${each#*:}"
done
quietly_inside cmake -S /app -B /app/build -G Ninja -DVCPKG_TARGET_TRIPLET=$triplet \
  -DCMAKE_TOOLCHAIN_FILE=/vcpkg/scripts/buildsystems/vcpkg.cmake
quietly_inside cmake --build /app/build
printed=$(inside sh -c "cd $root/examples && /app/build/app")
echo "$printed"
[ "$printed" = "this is a 5" ]
inside sh -c "cd $root/examples && /vcpkg/installed/$triplet/tools/libpt2/pt2 run digits.pt2 -i image=digit_5.npy --top 1"

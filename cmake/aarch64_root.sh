#!/usr/bin/env bash
# aarch64_root.sh PACKAGE...: brings these packages of Debian for AArch64, and what they need, into build/aarch64-root, with
# a state of apt's own: nothing of it is installed, and no package of this machine gives way. ./dev aarch64 calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD/build/aarch64-root
[ "$(cat "$root/packages" 2>/dev/null)" != "$*" ] || exit 0
rm -rf "$root"
mkdir -p "$root"/apt/state/lists/partial "$root"/apt/cache/archives/partial
: >"$root/apt/status"
apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Debug::NoLocking=1
  -o "Dir::State=$root/apt/state" -o "Dir::State::status=$root/apt/status" -o "Dir::Cache=$root/apt/cache")
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends --download-only "$@"
for package in "$root"/apt/cache/archives/*.deb; do dpkg -x "$package" "$root"; done
rm -rf "$root/apt"
echo "$*" >"$root/packages"

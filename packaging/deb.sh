#!/usr/bin/env bash
# deb.sh FOLDER: builds the Debian packages of this tree into FOLDER, and looks at them with lintian; an error of it, or of
# a version that is not the project's, ends this.
set -euo pipefail
out=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=$(sed -nE 's/^project\(pt2 VERSION ([0-9.]+) .*/\1/p' "$root/CMakeLists.txt")
packaged=$(sed -nE '1s/^libpt2 \(([^)-]+)-.*/\1/p' "$root/packaging/debian/changelog")
[ "$version" = "$packaged" ] || { echo "packaging/debian/changelog: found $packaged, expected $version"; exit 1; }

rm -rf "$out"
source=$out/libpt2-$version
mkdir -p "$source"
# What the repository has, with changes that are not committed yet; the test data is not needed to build.
git -C "$root" ls-files -z --cached --others --exclude-standard -- ':!tests' |
  (cd "$root" && while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done) |
  tar -C "$root" --null -T - -c | tar -C "$source" -x
tar -C "$out" --sort=name --owner=0 --group=0 --mtime=@0 -cJf "$out/libpt2_$version.orig.tar.xz" "libpt2-$version"
cp -r "$root/packaging/debian" "$source/debian"
(cd "$source" && DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" dpkg-buildpackage -us -uc)
(cd "$out" && lintian --fail-on error --info libpt2_*.changes)
rm -rf "$source"

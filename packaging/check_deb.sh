#!/usr/bin/env bash
# check_deb.sh FOLDER: installs the packages that deb.sh made in a new Debian of their own (clean_debian.sh) and uses them
# there: first the command alone, then a C program with the shared library, then everything of tests/consumer.
set -euo pipefail
debs=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/packaging/clean_debian.sh"
mkdir -p "$clean/debs" "$clean/source/tests"
cp "$debs"/*.deb "$clean/debs/"
cp -r "$root/README.md" "$root/docs" "$root/examples" "$clean/source/"
mkdir "$clean/source/tests/data"
cp -r "$root/tests/consumer" "$clean/source/tests/"
cp -r "$root/tests/data/decoders" "$clean/source/tests/data/"
file_of() { (cd "$clean/debs" && ls "$1"_*.deb | sed 's,^,/debs/,'); }

ours() { (cd "$clean" && find etc usr var -name '*pt2*' -not -path '*/python3*' -not -path 'var/cache/*' | sort); }
ours >"$clean/before"

echo "== pt2 alone"
install_packages "$(file_of pt2)"
inside pt2 info /source/examples/digits.pt2
inside pt2 run /source/examples/digits.pt2 -i image=/source/examples/digit_5.npy --top 1 | tee "$clean/printed"
grep -qE '^ +5 ' "$clean/printed"
inside test -s /usr/share/bash-completion/completions/pt2
echo "== C, shared library"
install_packages "$(file_of libpt2-1)" "$(file_of libpt2-dev)" gcc libc6-dev pkg-config
inside sh -ec 'cd /source/examples; cc -std=c99 c/digits.c -o /digits $(pkg-config --cflags --libs libpt2)
  /digits digits.pt2 digit_5.npy digits_8.npy; ldd /digits | grep libpt2.so.1'
echo "== C++, tests/consumer"
install_packages g++ cmake ninja-build
quietly_inside bash /source/tests/consumer/project.sh cmake /usr
tail -n 12 "$clean/log"
echo "== removing"
quietly_inside apt-get -q purge -y libpt2-1 libpt2-dev pt2
ours | diff "$clean/before" -

# To be sourced, with this repository in $root: a new Debian of its own in the folder $clean, in which nothing of this machine
# is seen. As root; it goes at the end. DEBIAN_RELEASE and DEBIAN_MIRROR choose another one than bookworm of the usual mirror;
# DEBIAN_ROOT is one that debootstrap made already, which is copied. With CCACHE_DIR, compilers in there use that cache.
clean=$(mktemp -d)
# What could not be unmounted keeps the folder: rm would empty what is mounted there.
leave() {
  local folder
  for folder in proc ccache; do
    ! mountpoint -q "$clean/$folder" || umount "$clean/$folder" || return
  done
  rm -rf --one-file-system "$clean"
}
trap leave EXIT
chmod 755 "$clean"
bundle=/etc/ssl/certs/ca-certificates.crt

inside() {
  chroot "$clean" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PIP_CERT=$bundle PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore ${CCACHE_DIR:+CCACHE_DIR=/ccache} "$@"
}
# quietly_inside COMMAND...: what it prints is shown only if it fails.
quietly_inside() { inside "$@" >"$clean/log" 2>&1 || { tail -n 100 "$clean/log"; return 1; }; }
install_packages() { quietly_inside apt-get -q install -y --no-install-recommends "$@"; }
# python_inside: Python with virtual environments, which trusts whom this machine trusts.
python_inside() {
  install_packages ca-certificates python3-venv
  [ ! -f "$bundle" ] || cp "$bundle" "$clean$bundle"
}

# clone: what is committed here, where it lies here, so that a compiler's cache knows it.
clone() { git clone -q "$root" "$clean$root"; }

if [ -n "${DEBIAN_ROOT:-}" ]; then
  cp -a --one-file-system "$DEBIAN_ROOT/." "$clean/"
else
  debootstrap --variant=minbase "${DEBIAN_RELEASE:-bookworm}" "$clean" ${DEBIAN_MIRROR:-} >/dev/null
fi
cp -L /etc/resolv.conf "$clean/etc/"
mount -t proc proc "$clean/proc"
if [ -n "${CCACHE_DIR:-}" ]; then
  mkdir -p "$clean/ccache"
  mount --bind "$CCACHE_DIR" "$clean/ccache"
fi
quietly_inside apt-get -q update
[ -z "${CCACHE_DIR:-}" ] || install_packages ccache

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what building and testing weft needs, on Debian 12, and says what it installs. Does nothing, quickly, when
# all of it is there. With --real also what the Debian source packages of `make real` need.
set -eu

packages="clang-19 llvm-19-dev llvm-19-tools lld-19 libclang-rt-19-dev libzstd-dev libcmocka-dev libdw-dev libzydis-dev ninja-build
cmake gdb python3 make gcc g++ libc6-dev spin"
real="dpkg-dev autoconf automake libtool autopoint gettext po-debconf pkg-config xz-utils bzip2 libbz2-dev zlib1g-dev
liblzma-dev liblz4-dev libevent-dev apache2-utils libssl-dev openssl tcl libexpat1-dev libpcre2-dev bison flex wget ca-certificates"

for option in "$@"; do
    case $option in
    --real) packages="$packages $real" ;;
    *) echo "usage: scripts/setup.sh [--real]" >&2; exit 2 ;;
    esac
done

if ! command -v dpkg-query >/dev/null; then
    echo "setup: this is not a Debian system; please install: $(echo $packages)" >&2
    exit 0
fi
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages 2>/dev/null | sed -n 's/^installed //p')
missing=
for package in $packages; do
    grep -qxF -- "$package" <<<"$installed" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
# Tests that need these skip themselves without them: not a reason to run apt, but on a new machine they come along.
missing="$missing meson"

root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: missing:$missing; become root, or install sudo, and run this again" >&2
        exit 1
    fi
    root=sudo
fi
echo "setup: installing:$missing"
$root apt-get -qq update
$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $missing >/dev/null
echo "setup: done"

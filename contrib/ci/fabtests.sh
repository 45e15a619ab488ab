#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fabtests.sh RELEASE: prints the folder with the programs of libfabric's own tests,
# in bin, built once in Debian RELEASE (chroot.sh) from the source package of its
# libfabric, which no binary package has. Status 77 with a reason if it cannot be had.
set -u
# shellcheck source=contrib/ci/cache.sh
. "$(dirname "$0")/cache.sh"

# Inside: what is installed here is forgotten at the end.
if [ "$1" = --make ]; then
    set -e
    sed -i 's/^deb \(.*\)/&\ndeb-src \1/' /etc/apt/sources.list
    apt-get -q update
    apt-get -q -y install autoconf automake libtool gcc libc6-dev make xz-utils \
        libfabric-dev libibverbs-dev
    mkdir /tmp/source
    cd /tmp/source
    apt-get -q --only-source --tar-only source libfabric
    tar -xf libfabric_*.orig.tar.* --strip-components 1
    cd fabtests
    ./autogen.sh
    ./configure --prefix="$2" --enable-efa CFLAGS='-O2 -w'
    make -j2 install-exec
    exit
fi

folder=$srd_cache/fabtests/$1
mkdir -p "${folder%/*}"
exec 9>"${folder%/*}/lock"
flock 9
if [ ! -e "$folder/made" ]; then
    rm -rf "$folder"
    mkdir "$folder"
    "$(dirname "$0")/chroot.sh" --bind "$folder" "$1" -- "$PWD/${0##"$PWD"/}" --make "$folder" \
        >"$folder/log" 2>&1 9>&- && touch "$folder/made" || {
        echo "libfabric's tests cannot be built: $(tail -n 1 "$folder/log")" >&2
        exit 77
    }
fi
echo "$folder"

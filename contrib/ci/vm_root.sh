#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Run by chroot.sh --vm in a fresh Debian system: installs QEMU and puts under
# /vm/sid what a virtual machine with the kernel's efa driver needs: vmlinuz, version
# and the modules in the order of loading (modules/NN-NAME.ko), and the same under
# /vm/experimental, where Debian has a newer kernel there.
#
# Debian's kernel packages lack efa.ko, and no package has the driver's source
# alone: it is taken from the source package of the very kernel, of which no
# more is unpacked. A copy of its files in this tree would be third-party code
# that a packager must account for, and would fall behind the kernel.
set -eu
kernel=cloud-amd64

sed -i 's/^\(deb .*\) sid main$/&\n\1 experimental main/' /etc/apt/sources.list
apt-get -q update
apt-get -q -y install qemu-system-x86 seabios
installed=$(dpkg-query -W -f '${Package}\n' | sort)

# kernel_image SUITE: the name of its newest kernel
kernel_image() {
    apt-cache -o "APT::Default-Release=$1" depends "linux-image-$kernel" |
        sed -n 's/.*Depends: linux-image-//p' | head -n 1
}

# kernel_make SUITE
kernel_make() {
    image=$(kernel_image "$1")
    series=$(echo "$image" | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
    mkdir -p "/vm/$1/modules" /vm/build
    cd /vm/build
    apt-get -q -t "$1" download "linux-base-$image" "linux-binary-$image" \
        "linux-modules-$image" "linux-source-$series"
    for package in linux-b*.deb linux-modules*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x
    done
    apt-get -q -y -t "$1" install make xz-utils kmod "linux-headers-$image"
    dpkg-deb --fsys-tarfile linux-source-*.deb |
        tar -xO "./usr/src/linux-source-$series.tar.xz" |
        tar -xJ --strip-components 1 --wildcards '*/drivers/infiniband/hw/efa/*'
    cd drivers/infiniband/hw/efa
    echo "obj-m := efa.o
efa-y := $(ls efa*.c | sed 's/c$/o/' | xargs)" >Makefile
    make -C "/usr/src/linux-headers-$image" "M=$PWD" modules
    cd /vm/build
    number=10
    for module in ib_core ib_uverbs_support ib_uverbs; do
        file=$(find . -name "$module.ko.xz" | head -n 1)
        [ -n "$file" ] || continue
        xz -dc "$file" >"/vm/$1/modules/$number-$module.ko"
        number=$((number + 1))
    done
    cp drivers/infiniband/hw/efa/efa.ko "/vm/$1/modules/90-efa.ko"
    cp "usr/lib/modules/$image/vmlinuz" "/vm/$1/vmlinuz"
    modinfo -F vermagic drivers/infiniband/hw/efa/efa.ko >"/vm/$1/version"
    cd /
    rm -rf /vm/build
}

kernel_make sid
[ "$(kernel_image sid)" = "$(kernel_image experimental)" ] || kernel_make experimental

# Packages of the build alone, a gigabyte
dpkg-query -W -f '${Package}\n' | sort | comm -13 /dev/fd/3 - 3<<END |
$installed
END
    xargs dpkg --purge --force-depends >/dev/null 2>&1 || true
apt-get -q clean

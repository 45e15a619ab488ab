#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Run by chroot.sh --vm in a fresh Debian system: installs QEMU and puts under
# /vm what a virtual machine with the kernel's efa driver needs: vmlinuz, and
# the modules in the order of loading (modules/NN-NAME.ko).
#
# Debian's kernel packages lack efa.ko, and no package has the driver's source
# alone: it is taken from the source package of the very kernel, of which no
# more is unpacked. A copy of its files in this tree would be third-party code
# that a packager must account for, and would fall behind the kernel.
set -eu
kernel=cloud-amd64

apt-get -q update
apt-get -q -y install qemu-system-x86 seabios

mkdir -p /vm/modules /vm/build
cd /vm/build
image=$(apt-cache depends "linux-image-$kernel" |
    sed -n 's/.*Depends: linux-image-//p' | head -n 1)
series=$(echo "$image" | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
apt-get -q download "linux-base-$image" "linux-binary-$image" \
    "linux-modules-$image" "linux-source-$series"

for package in linux-b*.deb linux-modules*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x
done
installed=$(dpkg-query -W -f '${Package}\n' | sort)
apt-get -q -y install make xz-utils kmod "linux-headers-$image"
dpkg-deb --fsys-tarfile linux-source-*.deb |
    tar -xO "./usr/src/linux-source-$series.tar.xz" |
    tar -xJ --strip-components 1 --wildcards '*/drivers/infiniband/hw/efa/*'
cat >drivers/infiniband/hw/efa/Makefile <<'END'
obj-m := efa.o
efa-y := efa_com_cmd.o efa_com.o efa_main.o efa_verbs.o
END
make -C "/usr/src/linux-headers-$image" \
    "M=$PWD/drivers/infiniband/hw/efa" modules

number=10
for module in ib_core ib_uverbs_support ib_uverbs; do
    file=$(find . -name "$module.ko.xz" | head -n 1)
    [ -n "$file" ] || continue
    xz -dc "$file" >"/vm/modules/$number-$module.ko"
    number=$((number + 1))
done
cp drivers/infiniband/hw/efa/efa.ko "/vm/modules/90-efa.ko"
cp "usr/lib/modules/$image/vmlinuz" /vm/vmlinuz
modinfo -F vermagic drivers/infiniband/hw/efa/efa.ko >/vm/version

# Packages of the build alone, a gigabyte
dpkg-query -W -f '${Package}\n' | sort | comm -13 /dev/fd/3 - 3<<END |
$installed
END
    xargs dpkg --purge --force-depends >/dev/null 2>&1 || true
cd /
rm -rf /vm/build
apt-get -q clean

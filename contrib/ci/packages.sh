# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
#
# The Debian packages this project needs, in this one place, and how they get
# installed. Sourced, after common.sh. Each line: package, then what proves on
# any other system that the same thing is there (a command, a header, a library
# of the dynamic linker, or a file by pattern).

# To build the module and the emulated device.
PACKAGES_BUILD='
gcc                 command gcc
libc6-dev           header stdio.h
make                command make
autoconf            command autoconf
automake            command automake
libucx-dev          header uct/api/uct.h
libibverbs-dev      header infiniband/efadv.h
'

# To run stock UCX programs over it.
PACKAGES_RUN='
ucx-utils           command ucx_perftest
ibverbs-providers   library libefa.so.1
'

# To build the tests' programs.
PACKAGES_BUILD_TESTS='
g++                 command g++
libgtest-dev        header gtest/gtest.h
'

# Packages of contrib/test.sh, beside the lists above.
PACKAGES_TEST='
openmpi-bin         command mpirun
libopenmpi-dev      command mpicc
mpich               command mpiexec.mpich
libmpich-dev        command mpicc.mpich
hpcc                command hpcc
ibverbs-utils       command ibv_devinfo
perftest            command ib_send_lat
libfabric-bin       command fi_info
valgrind            command valgrind
clang               command clang
libclang-rt-dev     file /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
binutils            command nm
python3             command python3
python3-pyverbs     file /usr/share/doc/rdma-core/tests/run_tests.py
universal-ctags     command ctags
shellcheck          command shellcheck
libhwloc-dev        header hwloc.h
iproute2            command ip
procps              command pgrep
git                 command git
pkg-config          command pkg-config
'

# Packages with which bench/run.sh compares and counts; without one of them it
# names the measurement that it left out.
PACKAGES_BENCH='
perftest            command ib_send_lat
libfabric-dev       header rdma/fi_tagged.h
valgrind            command valgrind
python3             command python3
'

# Needs of the profiles ci and full beside that: other releases of Debian
# (contrib/ci/chroot.sh), wheels of PyPI, UCX's source, our own package.
PACKAGES_CI='
debootstrap         command debootstrap
python3-pip         command pip3
python3-venv        file /usr/lib/python3*/ensurepip/__init__.py
python3-yaml        file /usr/lib/python3/dist-packages/yaml/__init__.py
debhelper           command dh
dpkg-dev            command dpkg-source
lintian             command lintian
rpm                 command rpmbuild
qemu-user-static    command qemu-aarch64-static
binutils-aarch64-linux-gnu command aarch64-linux-gnu-objdump
'

# package_present KIND NAME: is it there, whoever installed it?
package_present() {
    case $1 in
    command) command -v "$2" >/dev/null 2>&1 ;;
    header) header_present "$2" ;;
    library) library_present "$2" ;;
    file) compgen -G "$2" >/dev/null ;;
    esac
}

header_present() {
    local file
    for file in /usr/include/"$1" /usr/include/*-linux-gnu/"$1" \
        /usr/local/include/"$1" /usr/include/openmpi/"$1"; do
        [ -e "$file" ] && return 0
    done
    # UCX_CFLAGS=-I/opt/ucx/include and CPATH serve UCX from elsewhere.
    for file in ${UCX_CFLAGS-} ${CPPFLAGS-}; do
        [ -e "${file#-I}/$1" ] && return 0
    done
    return 1
}

library_present() {
    PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | grep -q "^[[:space:]]*$1 "
}

# packages_missing LIST: prints the packages of LIST whose proof is absent.
packages_missing() {
    local package kind name
    while read -r package kind name; do
        [ -n "$package" ] || continue
        package_present "$kind" "$name" || echo "$package"
    done <<<"$1"
}

# packages_require LIST INSTALL(yes|no) WHAT FOR: installs what is missing, or
# says what is. Status 1: something still is.
packages_require() {
    local missing
    missing=$(packages_missing "$1" | tr '\n' ' ')
    missing=${missing% }
    [ -n "$missing" ] || return 0

    if [ "$2" = no ]; then
        warn "missing (needed $3), not installed as --no-install asks: $missing;" \
            "install them (apt-get install), or leave --no-install out"
        return 1
    fi
    if ! command -v apt-get >/dev/null 2>&1; then
        warn "missing (needed $3): $missing. These are Debian's package names;" \
            "no apt-get here, so install what corresponds to them by hand"
        return 1
    fi
    say "installing (needed $3): $missing"
    packages_install "$missing"
}

# packages_install "NAMES": apt-get, as root or through sudo.
packages_install() {
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            warn "not root and no sudo: run as root 'apt-get install $1'"
            return 1
        fi
        as_root=(sudo)
        # Nobody can type a password into a job without a terminal.
        [ -t 0 ] || as_root=(sudo -n)
    fi
    as_root+=(env DEBIAN_FRONTEND=noninteractive)

    local package there=()
    step "package lists" "${as_root[@]}" apt-get -q update || return 1
    for package in $1; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            there+=("$package")
        else
            warn "this release has no package $package; what needs it is skipped"
        fi
    done
    step "packages" "${as_root[@]}" apt-get -q -y --no-install-recommends \
        -o DPkg::Lock::Timeout=120 install "${there[@]}" || return 1
}

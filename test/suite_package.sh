#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What is installed and packaged: make install and uninstall, the pkg-config
# file; with full also make distcheck, the Debian package, and that package in
# systems of Debian 12 and 13 that have nothing else.
# usage: suite_package.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
set -u

TOP=$(cd "$TEST_DIR/.." && pwd -P)

# Nothing is built again: the files of this build are taken as they are.
install_uninstall() {
    local root=$CHECK_LOG.root file module
    rm -rf "$root"
    make -C "$BUILD" install DESTDIR="$root" prefix=/opt/srd >/dev/null ||
        fail "make install"
    (cd "$root/opt/srd" && find . ! -type d | sort)
    for file in bin/srdrun bin/srd_info bin/efasim sbin/srd_systemwide \
        lib/ucx/libuct_srd.so.0 lib/ucx/srd_shim.so \
        lib/ucx/python/sitecustomize.py lib/pkgconfig/ucx-efa-srd.pc \
        share/man/man1/srd_info.1; do
        [ -e "$root/opt/srd/$file" ] || fail "$file is not installed"
    done
    # It works where it was moved to.
    module=$("$root/opt/srd/bin/srdrun" --print-path) || fail "srdrun"
    [ "$(readlink -f "$module")" = "$root/opt/srd/lib/ucx/libuct_srd.so.0" ] ||
        fail "srdrun takes $module"
    if [ -z "${SRD_SANITIZE-}" ]; then
        env OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any \
            "$root/opt/srd/bin/efasim" run --fabric "t$$" -- \
            "$root/opt/srd/bin/srd_info" --check || fail "srd_info: status $?"
    fi
    make -C "$BUILD" uninstall DESTDIR="$root" prefix=/opt/srd >/dev/null ||
        fail "make uninstall"
    ! (cd "$root" && find . ! -type d) | grep . || fail "files are left"
    ! (cd "$root/opt/srd" && find . -type d) | grep -E 'ucx|efasim|srd' ||
        fail "folders of ours are left"
}

pkg_config() {
    need pkg-config
    local file=$BUILD/lib/ucx-efa-srd.pc libdir
    libdir=$(sed -n 's/^libdir=//p' "$file")
    [ "$(pkg-config --modversion "$file")" = \
        "$("$BUILD/bin/srdrun" --version | cut -d ' ' -f 2)" ] || fail version
    [ "$(pkg-config --variable=module "$file")" = \
        "$libdir/ucx/libuct_srd.so.0" ] || fail "module: $libdir"
    ! grep -E '%|\$\{exec_prefix' "$file" || fail "not filled in"
}

# Everything that a build needs is in the tarball, and a build leaves nothing.
distcheck() {
    local flags=
    command -v ccache >/dev/null && flags='CC="ccache gcc" CXX="ccache g++"'
    make -C "$BUILD" distcheck SUITES='flow info load' \
        DISTCHECK_CONFIGURE_FLAGS="$flags" || fail "make distcheck"
}

deb_build() {
    need dpkg-buildpackage dh lintian
    make -C "$BUILD" deb || fail "make deb"
    ls "$BUILD"/deb/ucx-efa-srd_*.deb || fail "no package"
}

# In a system without anything else of this: install, all is ok, remove.
deb_in() {
    local deb
    deb=$(find "$BUILD/deb" -name 'ucx-efa-srd_*.deb' 2>/dev/null)
    [ -n "$deb" ] || skip_here "there is no package (make deb)"
    "$TOP/contrib/ci/chroot.sh" --bare --bind "$BUILD" "$1" -- \
        "$TEST_DIR/package_inside.sh" "$deb"
}

suite_run() {
    # make install may link what the other suites run
    alone install_uninstall 60 install_uninstall
    check pkg_config 10 pkg_config
    full || return
    check distcheck 1800 distcheck
    check deb_build 900 deb_build
    check deb_debian_12 600 deb_in 12
    check deb_debian_13 600 deb_in 13
}

suite_main package "$@"

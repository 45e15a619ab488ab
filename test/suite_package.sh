#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installation and packages: make install and uninstall, the pkg-config file; with full
# also make distcheck, the Debian package, and that package in systems of Debian 12 and
# 13 that have nothing else.
# usage: suite_package.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
set -u

TOP=$(cd "$TEST_DIR/.." && pwd -P)

# completes ROOT: what bash's completion of each program offers.
completes() {
    local PATH=$1/bin:$PATH
    offers() { # PROGRAM WORD...: into COMPREPLY
        local program=$1
        # shellcheck source=/dev/null
        . "$ROOT/share/bash-completion/completions/$program"
        shift
        COMP_WORDS=("$program" "$@") COMP_CWORD=$# COMPREPLY=()
        _ucx_efa_srd "$program"
        printf ' %s' "${COMPREPLY[@]}"
    }
    local ROOT=$1
    [ "$(offers srd_info --se)" = ' --selftest' ] || fail "srd_info --se"
    [ "$(offers srdrun --pri)" = ' --print-path' ] || fail "srdrun --pri"
    [[ "$(offers srdrun srd_inf) " == *' srd_info '* ]] || fail "srdrun srd_inf"
    [[ $(offers efasim '') == *' run'*' stat'* ]] || fail "efasim"
    [[ $(offers efasim run --reo) == ' --reorder'* ]] || fail "efasim run --reo"
    [[ "$(offers efasim run -- srd_inf) " == *' srd_info '* ]] || fail "efasim run -- srd_inf"
    [ "$(offers efapci --coun)" = ' --counters' ] || fail "efapci --coun"
    [ "$(offers srd_replay --unt)" = ' --until' ] || fail "srd_replay --unt"
    # a word of the line is no pattern: these files would be a command that runs x
    rm -rf "$CHECK_LOG.his" && mkdir "$CHECK_LOG.his" && cd "$CHECK_LOG.his" || fail "mkdir"
    echo ': >ran' | tee run sh >x
    EFASIM_FABRIC=t$$ offers efasim '*' ''
    [ ! -e ran ] || fail "a program was run"
    PATH=$1/sbin:$PATH
    [ "$(offers srd_systemwide dis)" = ' disable' ] || fail "srd_systemwide dis"
}

# Nothing is built again: the files of this build are taken as they are.
install_uninstall() {
    local root="$CHECK_LOG.root;false" file module mask
    for mask in 077 000; do # for all users, and root's alone to write to
        rm -rf "$root"
        (umask $mask && make -C "$BUILD" install DESTDIR="$root" prefix=/opt/srd) \
            >/dev/null || fail "make install"
        ! find "$root/opt" \( -perm /022 -o ! -perm -044 \) ! -type l | grep . ||
            fail "umask $mask: wrong rights"
    done
    (cd "$root/opt/srd" && find . ! -type d | sort)
    for file in bin/srdrun bin/srd_info bin/efasim bin/efapci sbin/srd_systemwide \
        lib/ucx/libuct_srd.so.0 lib/ucx/srd_shim.so \
        lib/ucx/python/sitecustomize.py lib/ucx/srd_top/__main__.py \
        lib/pkgconfig/ucx-efa-srd.pc share/man/man1/srd_info.1 \
        share/man/man7/ucx-efa-srd.7 share/doc/ucx-efa-srd/LICENSE \
        share/bash-completion/completions/srd_info \
        lib/ucx/python/ucx_efa_srd/examples/ucxx_pingpong.py; do
        [ -e "$root/opt/srd/$file" ] || fail "$file is not installed"
    done
    # all pages: one that is new is easily forgotten
    for file in "$TOP"/docs/*.md; do
        cmp "$file" "$root/opt/srd/share/doc/ucx-efa-srd/docs/${file##*/}" ||
            fail "docs/${file##*/} is not installed"
    done
    completes "$root/opt/srd"
    # It works where it was moved to.
    module=$("$root/opt/srd/bin/srdrun" --print-path) || fail "srdrun"
    [ "$(readlink -f "$module")" = "$root/opt/srd/lib/ucx/libuct_srd.so.0" ] ||
        fail "srdrun takes $module"
    "$root/opt/srd/bin/srd_info" --top --json - | grep '"headline"' || fail "srd_info --top"
    if [ -z "${SRD_SANITIZE-}" ]; then
        env OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any \
            "$root/opt/srd/bin/efasim" run --fabric "t$$" -- \
            "$root/opt/srd/bin/srd_info" --check || fail "srd_info: status $?"
        # pip install --target: above that folder others may write
        mkdir -p "$root/target/lib/ucx" && : >"$root/libuct_srd.so.0"
        cp "$root/opt/srd/lib/ucx/libuct_srd.so.0" "$root/target/lib/ucx"
        cp -r "$root/opt/srd/lib/ucx/python/ucx_efa_srd" "$root/target"
        PYTHONPATH=$root/target python3 -c 'import ucx_efa_srd' || fail "python3: status $?"
        rm -r "$root/target" "$root/libuct_srd.so.0"
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

# A deb's needs are asked for first, in one line, not when the rest is done.
deb_tools() {
    local bin=$CHECK_LOG.bin out=$CHECK_LOG.out name
    rm -rf "$bin" && mkdir -p "$bin" || exit 1
    for name in bash sh make dirname rm sed; do
        ln -s "$(command -v $name)" "$bin/$name"
    done
    ! PATH=$bin make -C "$BUILD" -o Makefile deb >"$out" 2>&1 ||
        fail "a package without tools"
    cat "$out"
    grep -qx 'make_deb.sh: missing: dpkg-dev debhelper (apt-get install.*)' "$out" ||
        fail "what is missing is not said"
    [ "$(grep -c . "$out")" -le 4 ] || fail "it did something before that"
}

deb_build() {
    need dpkg-buildpackage dh lintian
    (umask 000 && make -C "$BUILD" deb) || fail "make deb"
    ls "$BUILD"/deb/ucx-efa-srd_*.deb || fail "no package"
    ! { tar -tvf "$BUILD"/deb/*.orig.tar.xz && dpkg -c "$BUILD"/deb/ucx-efa-srd_*.deb; } |
        grep -E '^[^l].{4}w|^[^l].{7}w' || fail "who unpacks it lets others write"
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
    check deb_tools 20 deb_tools
    full || return
    check distcheck 1800 distcheck
    check deb_build 900 deb_build
    check deb_debian_12 600 deb_in 12
    check deb_debian_13 600 deb_in 13
}

suite_main package "$@"

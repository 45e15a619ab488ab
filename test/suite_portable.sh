#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One download for every machine: what contrib/package/portable.sh builds for x86-64 and
# aarch64 and glibc 2.17, the wheel and the RPM of it, and that on aarch64 (by
# qemu) protocol, emulator and tables do what they do here.
# usage: suite_portable.sh BUILD_DIR [ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/python/environment.sh
. "$TEST_DIR/python/environment.sh"
# shellcheck source=test/openmpi.sh
. "$TEST_DIR/openmpi.sh"
# shellcheck source=test/record.sh
. "$TEST_DIR/record.sh"
# shellcheck source=test/portable/aarch64.sh
. "$TEST_DIR/portable/aarch64.sh"
# shellcheck source=test/portable/contents.sh
. "$TEST_DIR/portable/contents.sh"
# shellcheck source=test/portable/deploy.sh
. "$TEST_DIR/portable/deploy.sh"
# shellcheck source=test/portable/rpm.sh
. "$TEST_DIR/portable/rpm.sh"
# shellcheck source=test/portable/ucx.sh
. "$TEST_DIR/portable/ucx.sh"
# shellcheck source=test/portable/wheel.sh
. "$TEST_DIR/portable/wheel.sh"
set -u

TOP=$(cd "$TEST_DIR/.." && pwd -P)
GLIBC=2.17
MODULE=libuct_srd.so.0

# ------------------------------------------------------------ building

# build ARCH: with all that can be made of it.
build() {
    local options=(--wheel) status=0
    ! command -v rpmbuild >/dev/null || options+=(--rpm)
    "$TOP/contrib/package/portable.sh" --dir "$BUILD/portable" "${options[@]}" "$1" ||
        status=$?
    [ "$status" -ne "$SKIPPED" ] || exit "$SKIPPED"
    [ "$status" -eq 0 ] || fail "portable.sh: status $status"
}

# The archive of ARCH, its wheel; a check that needs what was not built is skipped.
tarball_of() {
    built "$BUILD"/portable/ucx-efa-srd-*-linux-"$1".tar.xz
}

wheel_of() {
    built "$BUILD"/portable/ucx_efa_srd-*-manylinux_2_17_"$1".*.whl
}

rpm_of() {
    built "$BUILD"/portable/ucx-efa-srd-*."$1".rpm
}

built() {
    [ -f "$1" ] || skip_here "contrib/package/portable.sh built nothing here"
    echo "$1"
}

# programs_of DIR: from here on efasim and srdrun are those in DIR, also
# in what this check starts.
programs_of() {
    export SUITE_PROGRAMS=$1
    EFASIM=$1/efasim SRDRUN=$1/srdrun
}

# perftest_pair BYTES COUNT: stock ucx_perftest between two nodes, all by srd.
perftest_pair() {
    need_perftest
    export UCX_TLS=srd
    two_nodes -- "${PERFTEST[@]}" -p @PORT@ -- "${PERFTEST[@]}" 127.0.0.1 \
        -p @PORT@ -t tag_bw -s "$1" -n "$2" || exit 1
    at_least payload "$(stat_payload "$STAT")" $(($1 * $2))
}

# Programs in root, and in the wheel. This build's own programs, for this machine's
# glibc, must be found out.
versions() {
    local wheel files
    wheel=$(wheel_of "$1") || { echo "$wheel"; exit "$SKIPPED"; }
    mapfile -t files < <(find "$BUILD/portable/$1/root" -type f)
    "$TEST_DIR/portable/check_elf.py" "$1" $GLIBC "${files[@]}" "$wheel" ||
        exit 1
    at_least "ELF files" "$(grep -c ': glibc ' "$CHECK_LOG")" 9
    ! "$TEST_DIR/portable/check_elf.py" "$1" 2.3 "${files[@]}" \
        >"$CHECK_LOG.old" || fail "2.3 would do, too?"
    grep -q 'newer than 2.3' "$CHECK_LOG.old" || fail "2.3: no reason is given"
}

# The tool by which PyPI decides whether a wheel is what its name says.
auditwheel() {
    local wheel venv
    wheel=$(wheel_of "$1") || { echo "$wheel"; exit "$SKIPPED"; }
    environment_make auditwheel
    venv=$PYTHON_CACHE/auditwheel
    "$venv/bin/auditwheel" show "$wheel" >"$CHECK_LOG.show" || fail "status $?"
    cat "$CHECK_LOG.show"
    tr -s ' \n' ' ' <"$CHECK_LOG.show" |
        grep -q "consistent with the following platform tag: \"manylinux_2_17_$1\"" ||
        fail "another tag"
}

# The same sources elsewhere, with other rights, clock, language and an empty
# cache: the same bytes.
reproducible() {
    local other=$CHECK_LOG.other/deeper/tree file name
    tarball_of "$1" >/dev/null || { tarball_of "$1"; exit "$SKIPPED"; }
    rm -rf "$CHECK_LOG.other"
    mkdir -p "$other"
    tar -C "$TOP" -cf - --exclude=./build --exclude=./.git --exclude=__pycache__ \
        . | tar -C "$other" -xf - || fail "the tree cannot be copied"
    (
        umask 077
        export TZ=Asia/Tokyo LANG=C.UTF-8 SRD_ZIG_CACHE=$CHECK_LOG.other/zig
        export LC_ALL=C.UTF-8
        options=(--wheel)
        [ ! -e "$(compgen -G "$BUILD/portable/*.rpm" | head -n 1)" ] ||
            options+=(--rpm)
        cd "$other" && contrib/package/portable.sh --dir "$CHECK_LOG.other/out" \
            "${options[@]}" "$1"
    ) || fail "the second build"
    for file in "$CHECK_LOG.other/out"/*"$1".*; do
        [ -f "$file" ] || continue
        name=${file##*/}
        sha256sum "$file" "$BUILD/portable/$name" | cut -c 1-100
        cmp "$file" "$BUILD/portable/$name" || fail "$name differs"
    done
    [ -n "${name-}" ] || fail "nothing was compared"
    rm -rf "$CHECK_LOG.other"
}

# Unpacked anywhere it works, and data crosses the device.
tarball() {
    local dir=$CHECK_LOG.dir file
    file=$(tarball_of x86_64) || { echo "$file"; exit "$SKIPPED"; }
    rm -rf "$dir" && mkdir -p "$dir" && tar -C "$dir" -xJf "$file" || fail tar
    dir=$(echo "$dir"/*)
    programs_of "$dir/bin"
    [ "$(readlink -f "$("$SRDRUN" --print-path)")" = "$dir/lib/ucx/$MODULE" ] ||
        fail "srdrun takes $("$SRDRUN" --print-path)"
    perftest_pair 1048576 200
}

# Under an emulator of aarch64, which takes a Debian of its own.
run_arm() {
    CHECKS='' check arm_system 600 arm_system
    CHECKS='' check arm_build 400 arm_build
    check arm_programs 60 arm_run arm_programs
    check arm_flow 200 arm_run arm_gtest gtest_flow
    check arm_sim 200 arm_run arm_sim $sims
    check arm_fuzz 60 arm_run arm_fuzz
    # (the soak looks at its resident memory: that of qemu's translations, too)
    check arm_engine 200 arm_run arm_gtest gtest_efasim_engine '-engine_soak.*'
    # Pages of 64 kB. (UCX's own programs end with signal 11 in this mode of qemu.)
    check arm_flow_64k 200 arm_64k gtest_flow
    check arm_engine_64k 200 arm_64k gtest_efasim_engine '-engine_soak.*'
    check arm_srd 120 arm_run arm_bytes srd
    check arm_ud 120 arm_run arm_bytes ud
    check arm_rdma 60 arm_run arm_rdma
    check arm_record 120 arm_record
}

suite_run() {
    local arch name sims=2
    ! full || sims=20
    for arch in x86_64 aarch64; do
        CHECKS='' check "build_$arch" 400 build $arch
    done
    for arch in x86_64 aarch64; do
        check "versions_$arch" 30 versions $arch
        check "auditwheel_$arch" 120 auditwheel $arch
    done
    for arch in x86_64 aarch64; do
        check "contents_$arch" 30 contents $arch
        check "rpm_$arch" 30 rpm_contents $arch
    done
    check rpm_install 120 rpm_install
    check tarball 60 tarball
    check wheel_examples 60 wheel_examples
    check release 120 release
    check deploy_cluster 120 deploy_cluster
    check ucx_newer 60 ucx_newer
    ! full || check ucx_1_12 600 ucx_old 1.12.1
    check wheel 120 wheel_python_of python3
    [ "$(readlink -f /usr/bin/python3)" = "$(readlink -f "$(command -v python3)")" ] ||
        check wheel_system_python 120 wheel_python_of /usr/bin/python3
    check wheel_odd 60 wheel_python_odd
    check wheel_debian_13 120 wheel_debian_13
    for name in nixl ucxx; do
        check "environment_$name" 300 environment_make $name
    done
    check wheel_nixl 60 wheel_environment nixl nixl_transfer.py
    check wheel_ucxx 60 wheel_environment ucxx ucxx_pingpong.py
    if [ -n "${SRD_WHOLE_CI-}" ]; then
        check arm 10 skip_here "a whole run of CI: name the suite"
    else
        run_arm
    fi
    check arm_layout 60 arm_layout
    check arm_barriers 60 arm_barriers
    check reproducible_x86_64 400 reproducible x86_64
    ! full || check reproducible_aarch64 400 reproducible aarch64
}

suite_main portable "$@"

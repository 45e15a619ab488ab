# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The RPM: what it holds and wants, and what its scripts do. Sourced by
# suite_portable.sh.

# Names that rpm 4.11 (Amazon Linux 2) and the C library of every distribution provide.
RPM_MAY_NEED='^(/bin/sh|lib(c|dl|pthread)\.so\.[0-9]+\(.*|ld-linux-.*\.so\.[12]\(.*'
RPM_MAY_NEED=$RPM_MAY_NEED'|rtld\(GNU_HASH\)|rpmlib\((CompressedFileNames|FileDigests'
RPM_MAY_NEED=$RPM_MAY_NEED'|PayloadFilesHavePrefix|PayloadIsXz)\) .*)$'

rpm_contents() {
    need rpm
    local file name
    file=$(rpm_of "$1") || { echo "$file"; exit "$SKIPPED"; }
    [ "$(rpm -qp --qf '%{ARCH} %{OS} %{PAYLOADCOMPRESSOR} %{SOURCERPM}' "$file")" = \
        "$1 linux xz $(basename "$file" ".$1.rpm").src.rpm" ] || fail "its tags:" \
        "$(rpm -qp --qf '%{ARCH} %{OS} %{PAYLOADCOMPRESSOR} %{SOURCERPM}' "$file")"
    rpm -qpl "$file" >"$CHECK_LOG.list" || fail "rpm -qpl"
    cat "$CHECK_LOG.list"
    for name in /usr/bin/{srdrun,srd_info,efasim} /usr/sbin/srd_systemwide \
        /usr/lib64/efasim/libefasim.so /usr/lib64/ucx/{$MODULE,srd_shim.so} \
        /usr/lib64/ucx/srd_top/__main__.py \
        /usr/lib64/ucx/python/{sitecustomize.py,ucx_efa_srd/__init__.py} \
        /usr/share/man/man1/srd_info.1 /usr/share/doc/ucx-efa-srd/LICENSE; do
        grep -qx "$name" "$CHECK_LOG.list" || fail "$name is not in it"
    done
    # all of it, and nothing twice
    [ "$(rpm -qplv "$file" | grep -vc '^d')" = \
        "$(find "$BUILD/portable/$1/root" -type f | wc -l)" ] ||
        fail "not the files that portable.sh installed"
    ! rpm -qplv "$file" | grep -v ' root *root ' || fail "owners"
    ! rpm -qp --requires "$file" | grep -vE "$RPM_MAY_NEED" ||
        fail "it wants what not every distribution has"
    rpm -qp --requires "$file" | grep -q "(GLIBC_$GLIBC)" || fail "no glibc wanted?"
    rpm -qp --scripts "$file" | grep -q 'srd_systemwide disable' || fail "scripts"
}

# In a system of Debian 13, with its UCX; rpm is Debian's there, too.
rpm_install() {
    local chroot=$TEST_DIR/../contrib/ci/chroot.sh file next=$BUILD/portable/next
    file=$(rpm_of x86_64) || { echo "$file"; exit "$SKIPPED"; }
    need rpmbuild
    "$chroot" --made 13 || skip_here "Debian 13 is not made here:" \
        "contrib/ci/chroot.sh 13 makes it"
    # a later one, for the upgrade
    mkdir -p "$next"
    SOURCE_DATE_EPOCH=1600000000 "$TEST_DIR/../contrib/package/make_rpm.sh" 99.1 x86_64 \
        "$BUILD/portable/x86_64/root/usr/local" "$next" || fail "make_rpm.sh"
    "$chroot" --bind "$BUILD" 13 -- "${CALL[@]}" rpm_inside "$file" "$next"/*99.1*.rpm
}

# rpm_traces: what of ours lies anywhere but in this tree.
rpm_traces() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path \
        "$BUILD" -o -path "$TOP" \) -prune -o \( -name '*srd*' -o -name '*efasim*' \
        -o -name '*ucx-efa*' \) -print
}

rpm_inside() {
    local before
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -q update && apt-get -q -y install rpm; } >/tmp/apt.log 2>&1 ||
        skip_here "Debian's packages cannot be had: $(tail -n 1 /tmp/apt.log)"
    before=$(rpm_traces)
    # its database knows none of Debian's packages
    rpm -i --nodeps "$1" || fail "rpm -i: status $?"
    rpm -V --nodeps ucx-efa-srd || fail "rpm -V"
    [ "$(srdrun --print-path | xargs readlink -f)" = /usr/lib64/ucx/$MODULE ] ||
        fail "srdrun takes $(srdrun --print-path)"
    UCX_TLS=srd efasim run -- srdrun srd_info | grep 'UCX takes srd on' || fail srd_info

    # enabled for the system: an upgrade leaves that, the end undoes it
    srd_systemwide enable || fail "srd_systemwide"
    efasim run -- srd_info --check | grep '^ok *loading *system-wide' ||
        fail "not loaded system-wide"
    rpm -U --nodeps "$2" || fail "rpm -U: status $?"
    rpm -q ucx-efa-srd | grep 99.1 || fail "not upgraded"
    srd_systemwide status || fail "the upgrade has undone it"
    rpm -e ucx-efa-srd || fail "rpm -e: status $?"
    ! ldconfig -p | grep srd || fail "left in the loader's cache"
    [ "$(rpm_traces)" = "$before" ] ||
        fail "left behind: $(diff <(echo "$before") <(rpm_traces))"
}

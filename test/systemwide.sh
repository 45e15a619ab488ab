# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# srd_systemwide: the checks of suite load, which sources this file.

# In a mount namespace with an /etc of its own, and a place that is root's up to "/".
systemwide() {
    need unshare ucx_info
    [ "$(id -u)" = 0 ] || skip_here "needs root"
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers want their runtime first"
    unshare -m true 2>/dev/null || skip_here "no mount namespaces here"
    rm -rf "$CHECK_LOG.etc"
    cp -a /etc "$CHECK_LOG.etc"
    unshare -m "${CALL[@]}" systemwide_inside || exit
    rm -rf "$CHECK_LOG.etc"
}

systemwide_inside() {
    local home=/opt/srd tool=/opt/srd/sbin/srd_systemwide out=$CHECK_LOG.out before mask his
    mount --bind "$CHECK_LOG.etc" /etc && mount -t tmpfs -o mode=755 srd /opt ||
        skip_here "no mounts here"
    his=$home/his
    mkdir "$home" && cp -r "$BUILD/sbin" "$BUILD/lib" "$home" || fail "cp: status $?"
    ldconfig
    before=$(find /etc -type f ! -name ld.so.cache | sort | xargs sha1sum)
    ! "$tool" status || fail "enabled at first"
    "$tool" disable | grep -qx 'not enabled: nothing to undo' || fail "undo nothing"
    ! "$tool" disable twice 2>/dev/null || fail "two arguments were taken"
    # another user's: a module beside the folder that "sh srd_systemwide" is run in, a
    # farm that disable would empty, a module that he can write to
    rm -rf "$his" && mkdir -p "$his/bin" "$his/lib" "$his/etc/ucx" || fail "mkdir: status $?"
    : >"$his/lib/srd_shim.so"
    : >"$his/etc/ucx/precious"
    (cd "$his/bin" && PATH=$home/sbin:$PATH bash srd_systemwide enable) &&
        "$tool" disable || fail "from his folder: status $?"
    [ ! -e "$his/ucx-efa-srd.d" ] || fail "his module was enabled"
    ln -s "$his/etc" "$home/ucx-efa-srd.d"
    ! "$tool" disable 2>"$out" && [ -e "$his/etc/ucx/precious" ] || fail "disable is led"
    rm "$home/ucx-efa-srd.d"
    says "another user can write to $home/ucx-efa-srd.d: " "$out"
    cp -r "$home/sbin" "$home/lib" "$his" && chown 4242 "$his/lib" || fail "cp: status $?"
    ! "$his/sbin/srd_systemwide" enable 2>"$out" || fail "his module is taken"
    says "another user can write to $his/lib: " "$out"
    chown 0 "$his/lib" && chown 4242 "$his" || fail "chown: status $?" # he may rename it
    for mask in enable disable; do
        ! "$his/sbin/srd_systemwide" $mask 2>"$out" || fail "a module in his folder is taken"
        says "another user can write to $his: " "$out"
    done
    chown 0:4242 "$his" && chmod 2775 "$his" || fail "chown: status $?" # his group may
    ! "$his/sbin/srd_systemwide" enable 2>"$out" || fail "a module in his group's folder is taken"
    says "another user can write to $his: " "$out"
    systemwide_lent "$home/lent"
    for mask in 000 077; do # for all users, and root's alone to write to
        (umask $mask && "$tool" enable) || fail "enable: status $?"
        ! find "$home/ucx-efa-srd.d" /etc/ld.so.conf.d/00-ucx-efa-srd.conf \( -perm /022 \
            -o ! -perm -044 \) ! -type l | grep . || fail "umask $mask: wrong rights"
        [ $mask = 077 ] || "$tool" disable || fail "disable: status $?"
    done
    "$tool" status || fail "not enabled"
    ! "$tool" enable 2>/dev/null || fail "enabled twice"
    "$EFASIM" run --fabric "t$$" -- ucx_info -d >"$out" 2>&1
    says 'Component: efa$' "$out"
    says 'Component: cma$' "$out"
    [ "$(grep -c 'Transport: srd$' "$out")" = 1 ] || fail "not one srd"
    ! grep -q 'Component: ib$' "$out" || fail "the ib component has the EFA"
    "$EFASIM" run --fabric "t$$" -- env UCX_TLS=srd "$BUILD/bin/srd_info" \
        --check >"$out"
    says '^ok +loading +system-wide' "$out"
    ucx_info -d >"$out" 2>&1 || fail "without a device: status $?"
    says 'Transport: tcp$' "$out"
    [ "$("$tool" disable)" = disabled ] || fail "disable: status $?"
    ! "$tool" status || fail "enabled still"
    [ ! -e "$home/ucx-efa-srd.d" ] || fail "the farm was left"
    "$EFASIM" run --fabric "t$$" -- env UCX_TLS=tcp ucx_info -d >"$out" 2>&1
    says_not 'Component: efa$' "$out"
    [ "$before" = "$(find /etc -type f ! -name ld.so.cache | sort |
        xargs sha1sum)" ] || fail "something was left in /etc"
}

# systemwide_lent FOLDER: a module in another user's file system, which calls it root's.
systemwide_lent() {
    mkdir "$1" && fuse_mounted "$1" "$1" || { note "no FUSE here" && return; }
    # shellcheck disable=SC2016 # for the shell in there
    ! bash -c "$(<"$tool")" "$1/lib/it.so" enable 2>"$out" || fail "his mount is taken"
    says "another user can write to $1: " "$out"
    umount "$1"
}

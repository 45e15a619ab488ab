# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# UCX beyond both ends of the tables: one line, no crash, and the program goes on
# without srd. Sourced by suite_portable.sh.

# refused_by TEXT COMMAND...: on a node COMMAND ends well without srd, and says TEXT,
# once.
refused_by() {
    local text=$1 out=$CHECK_LOG.refused
    shift
    UCX_TLS=srd,tcp,self "$EFASIM" run --fabric "t$$r" -- "$@" >"$out" 2>&1 ||
        { cat "$out"; fail "status $?"; }
    grep -E 'WARN|ERROR|libuct_srd' "$out"
    [ "$(grep -c 'libuct_srd: not used with ' "$out")" = 1 ] || fail "not one line"
    grep -q "WARN  libuct_srd: not used with .*: $text" "$out" || fail "not: $text"
    ! grep -E 'WARN|ERROR' "$out" | grep -vE "libuct_srd|transport 'srd' is not av" ||
        fail "other lines"
    grep -q 'Transport: tcp' "$out" || fail "no tcp: UCX does not go on"
    ! grep 'Transport: srd' "$out" || fail "srd all the same"
}

# A UCX newer than the newest table, in sid, whose UCX has it: its libucp says
# the minor after it.
# The symbols of libuct decide whether it is still safe (docs/UCX-VERSIONS.md).
ucx_newer() {
    local chroot=$TEST_DIR/../contrib/ci/chroot.sh newest
    newest=$(newest_minor)
    need python3
    "$chroot" --made sid || skip_here "Debian sid is not made here:" \
        "contrib/ci/chroot.sh sid makes it"
    rm -rf "$CHECK_LOG.newer" && mkdir -p "$CHECK_LOG.newer"
    "$chroot" --bind "$BUILD" sid -- cp /usr/lib/x86_64-linux-gnu/libucp.so.0 \
        /usr/lib/x86_64-linux-gnu/libuct.so.0 "$CHECK_LOG.newer" || fail "no UCX"
    "$TEST_DIR/portable/newer_ucp.py" "$CHECK_LOG.newer/libucp.so.0" "$newest" \
        $((newest + 1)) || skip_here "sid's UCX is not 1.$newest"
    mkdir "$CHECK_LOG.newer/resized"
    mv "$CHECK_LOG.newer/libuct.so.0" "$CHECK_LOG.newer/resized"
    elf_resize "$CHECK_LOG.newer/resized/libuct.so.0" uct_tcp_component ||
        fail "no uct_tcp_component"
    cp "$CHECK_LOG.newer/libucp.so.0" "$CHECK_LOG.newer/resized"
    "$chroot" --bind "$BUILD" sid -- "${CALL[@]}" ucx_newer_inside
}

ucx_newer_inside() {
    local info=("$SRDRUN" ucx_info -d) newest next last
    newest=$(newest_minor) next=$((newest + 1)) last=$((newest - 1))
    export LD_LIBRARY_PATH=$CHECK_LOG.newer
    refused_by "UCX 1\.$next is newer than what this module knows ($(known_minors)):" \
        "${info[@]}"
    UCX_EFA_ABI=1.$last refused_by \
        "UCX 1\.$next .*UCX_EFA_ABI=1\.$last is not .*1\.$newest is allowed" "${info[@]}"
    LD_LIBRARY_PATH=$CHECK_LOG.newer/resized UCX_EFA_ABI=1.$newest refused_by \
        "looks like UCX 1\.$newest, but uct_tcp_component has 8 bytes" "${info[@]}"
    export UCX_EFA_ABI=1.$newest # at one's own risk
    perftest_pair 65536 500
}

# ucx_old RELEASE: built from its tag, where contrib/ci/ucx_source.sh has the tree.
ucx_old() {
    local tree prefix=$BUILD/portable/ucx-$1
    tree=$("$TOP/contrib/ci/ucx_source.sh" "$1") || { echo "$tree"; exit "$SKIPPED"; }
    if [ ! -e "$prefix/made" ]; then
        rm -rf "$prefix" && mkdir -p "$prefix" && cp -r "$tree" "$prefix/tree" || fail cp
        (cd "$prefix/tree" && { [ -x configure ] || ./autogen.sh; } &&
            ./contrib/configure-release --prefix="$prefix" --disable-doxygen-doc \
                --without-{java,go,rocm,cuda,knem,xpmem,verbs,rdmacm,fuse3} \
                CFLAGS='-O0 -Wno-error' && for part in ucm ucs uct ucp tools/info; do
                make -j2 -C "src/$part" install || exit
            done) >"$prefix/log" 2>&1 || { tail -n 30 "$prefix/log"; fail "UCX $1"; }
        rm -rf "$prefix/tree"
        touch "$prefix/made"
    fi
    export LD_LIBRARY_PATH=$prefix/lib PATH=$prefix/bin:$PATH
    refused_by "UCX ${1%.*} is too old (supported: $(known_minors)): update UCX" \
        "$SRDRUN" ucx_info -d
    UCX_EFA_ABI=1.13 refused_by "UCX ${1%.*} is too old" "$SRDRUN" ucx_info -d
    UCX_TLS=srd "$EFASIM" run --fabric "t$$c" -- "$BUILD/bin/srd_info" --check \
        >"$CHECK_LOG.check"
    cat "$CHECK_LOG.check"
    grep -E "^FAIL +UCX .*${1%.*}" "$CHECK_LOG.check" || fail "srd_info --check: not said"
}

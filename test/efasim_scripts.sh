# SPDX-License-Identifier: BSD-3-Clause
#
# Folders and files of the tree's scripts that another user may have made first. Sourced by
# suite_efasim.sh, after efasim_hosts.sh.
# shellcheck shell=bash

# Another user has made the folder of what is kept, in a place for all, for a group, or
# of his: nothing of it is taken, nor where a link of his leads.
planted_cache() {
    local kind out source script lists=()
    source=$(cd "$TEST_DIR/.." && pwd -P)/contrib/ci/ucx_source.sh
    user_home
    for kind in his led mine; do
        mkdir -m 777 "$USER_HOME/$kind"
        mkdir -p "$USER_HOME/$kind.is/source/ucx-0.0.1" || fail "mkdir: status $?"
        : >"$USER_HOME/$kind.is/source/ucx-0.0.1/configure.ac"
    done
    mv "$USER_HOME/his.is" "$USER_HOME/his/ucx-efa-srd"
    mv "$USER_HOME/mine.is" "$USER_HOME/mine/ucx-efa-srd"
    chown -R 4242 "$USER_HOME/his/ucx-efa-srd"
    "${AS_USER[@]}" ln -s "$USER_HOME/led.is" "$USER_HOME/led/ucx-efa-srd"
    cp -a "$USER_HOME/his" "$USER_HOME/group"
    chown 0:4242 "$USER_HOME/group" && chmod 775 "$USER_HOME/group"
    cp -a "$USER_HOME/his" "$USER_HOME/home"
    chown 4242 "$USER_HOME/home" && chmod 755 "$USER_HOME/home"
    # of this user's alone, where another may put his own in its place
    cp -a "$USER_HOME/mine" "$USER_HOME/loose" && chmod 1777 "$USER_HOME/mine"
    cp -a "$USER_HOME/mine" "$USER_HOME/lent" && chown 4242 "$USER_HOME/lent"
    mkdir -m 777 "$USER_HOME/deep" && mkdir -m 755 "$USER_HOME/deep/own" &&
        cp -a "$USER_HOME/loose/ucx-efa-srd" "$USER_HOME/deep/own/" &&
        cp -a "$USER_HOME/deep" "$USER_HOME/team" && chown 0:4242 "$USER_HOME/team" &&
        chmod 2775 "$USER_HOME/team" || fail "mkdir: status $?"
    mkdir -p "$USER_HOME/list/own" && cp -a "$USER_HOME/deep/own" "$USER_HOME/listed" &&
        cp -a "$USER_HOME/deep/own/ucx-efa-srd" "$USER_HOME/list/own/" || fail "mkdir: status $?"
    ! listed "$USER_HOME/listed" || ! listed "$USER_HOME/list" || lists=(listed list/own)
    for kind in his led group home loose lent deep/own team/own "${lists[@]}"; do
        out=$(XDG_CACHE_HOME=$USER_HOME/$kind "$source" 0.0.1 2>&1) &&
            fail "$kind: $out is believed"
        grep -F "$USER_HOME/$kind/ucx-efa-srd is not this user's alone" <<<"$out" ||
            fail "$kind: $out"
        for script in portable.sh "release.sh --have $USER_HOME"; do
            [ "$script" = portable.sh ] || [ $kind = his ] || continue # it takes time
            # shellcheck disable=SC2086 # words
            out=$(SRD_ZIG=/bin/false "${source%/*/*}/package/"$script \
                --dir "$USER_HOME/$kind/ucx-efa-srd" 2>&1)
            [ $? = 1 ] && grep -F "$USER_HOME/$kind/ucx-efa-srd is not this user's" <<<"$out" ||
                fail "$script: $kind: $out"
        done
    done
    ! unshare -U true 2>/dev/null || # where his number is root's
        ! XDG_CACHE_HOME=$USER_HOME/home unshare -U "$source" 0.0.1 || fail "home: unshare -U"
    out=$(XDG_CACHE_HOME=$USER_HOME/his "${source%/*/*/*}/bench/kv.py" "$BUILD" 2>&1)
    grep -F "$USER_HOME/his/ucx-efa-srd is not this" <<<"$out" || fail "kv.py: $out"
    XDG_CACHE_HOME=$USER_HOME/mine "$source" 0.0.1 || fail "mine: status $?"
    SUDO_UID=4242 XDG_CACHE_HOME=$USER_HOME/home "$source" 0.0.1 || fail "sudo: status $?"
    ! SUDO_UID=4242 SUDO_GID=4242 XDG_CACHE_HOME=$USER_HOME/group "$source" 0.0.1 ||
        fail "group: his group made it"
    # shellcheck source=contrib/ci/cache.sh
    (XDG_CACHE_HOME=$USER_HOME/mine/new && . "${source%/*}/cache.sh")
    [ -O "$USER_HOME/mine/new" ] || fail "another may still make mine/new"
    ! "${AS_USER[@]}" ls "$USER_HOME/mine/new/ucx-efa-srd" 2>/dev/null ||
        fail "another user may hold its locks"
    : >"$USER_HOME/mine/ucx-efa-srd/lock"
    ! "${AS_USER[@]}" flock -n "$USER_HOME/mine/ucx-efa-srd/lock" true 2>/dev/null ||
        fail "another user may hold the locks of one that was there"
    for kind in cache common; do
        # shellcheck disable=SC1090
        out=$(umask 000 && . "${source%/*}/$kind.sh" && umask)
        [ "$out" = 0022 ] || fail "$kind: under umask 000 others may write to what is made"
    done
}

# In a folder with another user's Python modules portable.sh runs none of
# them, nor does a suite; of all scripts none calls Python so that it would.
planted_python() {
    need python3
    local his=$CHECK_LOG.his top=${TEST_DIR%/*} name status=0
    rm -rf "$his"* && mkdir -p "$his" "$his.cache" && cd "$his" || fail "mkdir: status $?"
    for name in venv pip; do
        echo "open('$his.ran', 'w')" >$name.py
    done
    env -u SRD_ZIG PIP_NO_INDEX=1 "XDG_CACHE_HOME=$his.cache" \
        "$top/contrib/package/portable.sh" --dir "$his.out" || status=$?
    [ $status = 77 ] || fail "portable.sh: status $status"
    [ ! -e "$his.ran" ] || fail "his module ran"
    ! grep -rnE 'python3?[",]* "?-[cm]' "$top/bench" "$top"/contrib/*/*.sh || fail "without -I"
    [ "$("$SUITE_SCRIPT" --call "$SUITE" "$BUILD" quick "$his.log" pwd)" = "$top" ] ||
        fail "a suite runs in his folder"
}

# A file of bench/ in another user's folder replaces his link, or is not written.
planted_bench() {
    need python3
    local bench=${TEST_DIR%/*}/bench his name
    user_home
    his=$USER_HOME/his
    mkdir "$his" && chown 4242 "$his" || fail "mkdir: status $?"
    printf '\n## T\n| a |\n' | tee "$USER_HOME/kept" >"$USER_HOME/page" || fail "no page"
    "${AS_USER[@]}" sh -c 'cd "$0" && for name in page bench.json bench.txt.new page.new; do
        ln -s "$1" $name || exit; done' "$his" "$USER_HOME/kept" || fail "ln: status $?"
    python3 -B "$bench/run/main.py" --only none --out "$his" "$BUILD"
    for name in "$his/page" "$USER_HOME/page"; do
        python3 -B -c 'import sys
sys.path.insert(0, sys.argv[1])
import report
report.put(sys.argv[2], ["", "## T", "| b |"])' "$bench/run" "$name"
    done
    cmp "$USER_HOME/kept" - <<<$'\n## T\n| a |' || fail "a link was followed"
    cmp "$USER_HOME/page" - <<<$'\n## T\n| b |' || fail "the page was not renewed"
    ! grep -rnE 'remote-debugging-port|http\.server' "$bench" "$bench/../contrib" ||
        fail "any user of the host may ask it for files"
}

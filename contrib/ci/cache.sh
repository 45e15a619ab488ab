# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Sets srd_cache: the folder of what is made once, which is then executed (other systems,
# Python environments, tools, sources). Sourced. Where others may make a folder of that
# name (XDG_CACHE_HOME=/tmp, another user's or a group's, unless both are this user's, or
# his who is root by sudo) only one of this user's alone is believed, which none of them can
# put another in the place of; and what is made in it is nobody else's to write to. Nor is
# one believed in a folder that others may rename, may write to by a list of access, or have
# mounted.
srd_cache=${XDG_CACHE_HOME:-$HOME/.cache}/ucx-efa-srd
srd_others=(! -user "$(id -u)" ! -user 0 ! -user "${SUDO_UID:-0}")
# In a user namespace this number may be that of all who have none there.
case $(awk '{ n += $3 } END { printf "%.0f", n }' /proc/self/uid_map):$(id -u) in
4294967295:*) ;;
*:"$(cat /proc/sys/kernel/overflowuid)") srd_others=(! -user 0) ;;
esac
srd_group=(! \( -user "$(id -u)" -group "$(id -g)" \)
    ! \( -user "${SUDO_UID:-0}" -group "${SUDO_GID:-0}" \))
# srd_listed FOLDER: a list lets others write there; the mode has their right as the group's.
srd_listed() {
    case $(LC_ALL=C ls -ld "$1" 2>/dev/null) in
    d????w???[!tT]+*) echo "$1" ;;
    esac
}
# srd_lent FOLDER: another user has mounted it (FUSE), and says of owners what he likes.
srd_lent() {
    findmnt -nro FS-OPTIONS -T "$1" 2>/dev/null |
        sed -nE "/,user_id=(0|$(id -u)|${SUDO_UID:-0})(,|\$)/d; /,user_id=/p"
}
# srd_above FOLDER: a word if others may put another folder in its place, or it is of theirs.
srd_above() {
    local above
    srd_listed "$1/."
    srd_lent "$1"
    above=$(cd "$1" 2>/dev/null && pwd -P)
    while [ "${#above}" -gt 1 ]; do
        above=${above%/*}
        find "${above:-/}" -prune \( ! -perm -1000 \( -perm -002 -o \
            -perm -020 "${srd_group[@]}" \) -o ! -user "$(stat -c %u /)" "${srd_others[@]}" \)
        srd_listed "${above:-/}"
        srd_lent "${above:-/}"
    done
}
# srd_open FOLDER: a word if others may make a name in it.
srd_open() {
    find -H "$1" -prune \( -perm -002 -o -perm -020 "${srd_group[@]}" -o "${srd_others[@]}" \)
}
# srd_own FOLDER: makes it for outputs. In the tree of this script, which is believed, it is
# anyone's; elsewhere this user's alone, and no link of another leads there.
srd_own() {
    local way=$1 loose
    mkdir -p "$1" || return 1
    loose=$(while find "${way:-/}" -prune -type l "${srd_others[@]}" && [ "$way" != "${way%/*}" ]
        do way=${way%/*}; done)
    case $(cd "$1" && pwd -P)/ in
    "$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd -P)"/*) ;;
    *) loose+=$(srd_above "$1/."; srd_open "$1/.") ;;
    esac
    [ -z "$loose" ] && return
    echo "$1 is not this user's alone: name a folder that only you can write to" >&2
    return 1
}
umask go-w
mkdir -p "${srd_cache%/*}" 2>/dev/null # or another may make it, after this look
srd_loose=$(srd_above "${srd_cache%/*}"; srd_lent "$srd_cache")
if [ -n "$srd_loose$(srd_open "${srd_cache%/*}" 2>/dev/null)" ]; then
    mkdir -m 700 "$srd_cache" 2>/dev/null
    if [ -n "$srd_loose$(find -H "${srd_cache%/*}" -prune \( ! -perm -1000 -o \
        "${srd_others[@]}" \))" ] || [ -z "$(find "$srd_cache" -prune -type d \
        -user "$(id -u)" ! -perm -002)" ]; then
        echo "$srd_cache is not this user's alone, and would be executed from: remove it," \
            "or set XDG_CACHE_HOME to a folder that only you can write to" >&2
        exit 1
    fi
fi
# No other user takes the locks in there, for ever, or executes programs with the setuid
# bit of a system that nobody updates.
{ mkdir -m 700 "$srd_cache" || chmod 700 "$srd_cache"; } 2>/dev/null || :

# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Sets srd_cache: the folder of what is made once, which is then executed (other systems,
# Python environments, tools, sources). Sourced. Where others may make a folder of that
# name (XDG_CACHE_HOME=/tmp, a group's or another user's, but for who is root by sudo) only
# one of this user's alone is believed, which none of them can put another in the place of;
# and what is made in it is nobody else's to write to.
srd_cache=${XDG_CACHE_HOME:-$HOME/.cache}/ucx-efa-srd
srd_others=(! -user "$(id -u)" ! -user 0 ! -user "${SUDO_UID:-0}")
umask go-w
if [ -n "$(find -H "${srd_cache%/*}" -prune \( -perm -002 -o -perm -020 ! -group "$(id -g)" \
    ! -group "${SUDO_GID:-0}" -o "${srd_others[@]}" \) 2>/dev/null)" ]; then
    mkdir -m 700 "$srd_cache" 2>/dev/null
    if [ -n "$(find -H "${srd_cache%/*}" -prune \( ! -perm -1000 -o "${srd_others[@]}" \))" ] ||
        [ -z "$(find "$srd_cache" -prune -type d -user "$(id -u)" ! -perm -002)" ]; then
        echo "$srd_cache is not this user's alone, and would be executed from: remove it," \
            "or set XDG_CACHE_HOME to a folder that only you can write to" >&2
        exit 1
    fi
fi

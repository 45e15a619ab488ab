#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ucx_source.sh [VERSION]: prints the folder of UCX's unpacked source package
# (default: 1.13.1), from this machine's package mirror, kept in the cache.
# Status 77 with a reason if it cannot be had. Changes nothing of apt's. A tree of
# another release, from its tag, is found there, too (ucx-1.12.1).
set -u
version=${1-1.13.1}
# shellcheck source=contrib/ci/cache.sh
. "$(dirname "$0")/cache.sh"
cache=$srd_cache/source
folder=$cache/ucx-$version

skip() {
    echo "no source package of UCX $version: $*" >&2
    exit 77
}

if [ ! -e "$folder/configure.ac" ]; then
    command -v apt-get >/dev/null || skip "no apt-get here"
    command -v dpkg-source >/dev/null || skip "dpkg-dev is missing"
    mkdir -p "$cache" || skip "cannot write to $cache"
    work=$(mktemp -d "$cache/new.XXXXXX") || skip "cannot write to $cache"
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial" "$work/parts"
    # the mirrors of binary packages have the sources, too
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 2>/dev/null | sort -u |
        sed 's/^/deb-src /' >"$work/sources.list"
    [ -s "$work/sources.list" ] || skip "apt has no package lists"
    apt=(timeout 40 apt-get -qq -o "Dir::Etc::sourcelist=$work/sources.list"
        -o "Dir::Etc::sourceparts=$work/parts"
        -o "Dir::State::lists=$work/lists" -o Acquire::Languages=none
        -o APT::Sandbox::User=root -o "Dir::Cache::pkgcache=" -o
        "Dir::Cache::srcpkgcache=")
    "${apt[@]}" update >"$work/log" 2>&1 ||
        skip "$(grep -v '^W:' "$work/log" | tail -n 1)"
    (cd "$work" && "${apt[@]}" --only-source source "ucx=$version-1") \
        >"$work/log" 2>&1 || skip "$(tail -n 1 "$work/log")"
    mv -T "$work/ucx-$version" "$folder" 2>/dev/null ||
        [ -e "$folder/configure.ac" ] || skip "the package holds no tree"
fi
echo "$folder"

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# make_deb.sh --tools: status 1, with one line, if what it needs is missing.
# make_deb.sh TARBALL VERSION DIR: a Debian package of the tarball that "make
# dist" wrote, for the release it runs on, in DIR; lintian's opinion with it.
# "make deb" calls it.
set -u
program=make_deb.sh
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"

usage='usage: make_deb.sh TARBALL VERSION DIR (make deb calls it), or --tools'
case ${1-} in
--help | -h)
    echo "$usage"
    exit 0
    ;;
esac
missing=
for tool in dpkg-buildpackage:dpkg-dev dh:debhelper; do
    command -v "${tool%:*}" >/dev/null || missing="$missing ${tool#*:}"
done
[ -z "$missing" ] || die "missing:$missing (apt-get install$missing)"
[ "${1-}" != --tools ] || exit 0

[ $# = 3 ] || die "$usage"
tarball=$(readlink -f -- "$1")
version=$2
dir=$3
revision=1

rm -rf "$dir"
mkdir -p "$dir" || exit 1
dir=$(cd "$dir" && pwd -P)
cp "$tarball" "$dir/ucx-efa-srd_$version.orig.tar.xz"
tar -xJf "$tarball" -C "$dir" || die "cannot unpack $tarball"
source=$dir/ucx-efa-srd-$version
cp -r "$source/contrib/package/debian" "$source/debian"

# copyright: the license's text, indented as the format wants it.
{
    cat "$source/debian/copyright.in"
    sed -e 1,2d -e 's/^$/./' -e 's/^/ /' "$source/LICENSE"
} >"$source/debian/copyright"
rm "$source/debian/copyright.in"
cat >"$source/debian/changelog" <<END
ucx-efa-srd ($version-$revision) unstable; urgency=medium

  * See NEWS.

 -- $(sed -n 's/^Maintainer: //p' "$source/debian/control")  $(date -R \
    -d "@$(stat -c %Y "$source/NEWS")")
END

(cd "$source" && dpkg-buildpackage -us -uc -b) >"$dir/build.log" 2>&1 || {
    tail -n 30 "$dir/build.log" >&2
    die "dpkg-buildpackage failed ($dir/build.log)"
}
rm -rf "$source"
command -v lintian >/dev/null || {
    warn "lintian is missing (Debian: lintian): not looked at"
    ls "$dir"/*.deb
    exit 0
}
lintian --fail-on error,warning --suppress-tags bad-distribution-in-changes-file \
    "$dir"/ucx-efa-srd_*.deb >"$dir/lintian.log" 2>&1 || {
    cat "$dir/lintian.log" >&2
    die "lintian is not content"
}
ls "$dir"/*.deb

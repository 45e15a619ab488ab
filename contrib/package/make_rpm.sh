#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# make_rpm.sh VERSION ARCH ROOT DIR: an RPM of what portable.sh has installed in
# ROOT, in DIR; its path is printed. portable.sh calls it. It is for any
# distribution with glibc 2.17 or newer, so it is named after none.
set -u
program=make_rpm.sh
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"

[ $# = 4 ] || die "usage: make_rpm.sh VERSION ARCH ROOT DIR"
version=$1 arch=$2 root=$3 dir=$4
work=$dir/$arch/rpm
command -v rpmbuild >/dev/null || {
    warn "rpmbuild is missing (Debian: rpm)"
    exit 77
}
rm -rf "$work"
mkdir -p "$work/stage/usr" || exit 1

# The same tree under /usr, libraries where RPM's distributions have them.
cp -a "$root"/bin "$root"/sbin "$root"/share "$work/stage/usr/" &&
    cp -a "$root"/lib "$work/stage/usr/lib64" || exit 1
for name in bin/srdrun sbin/srd_systemwide lib64/pkgconfig/ucx-efa-srd.pc; do
    sed -i -e 's,/usr/local/lib,/usr/lib64,g' -e 's,/usr/local,/usr,g' \
        "$work/stage/usr/$name" || exit 1
done
chmod -R u=rwX,go=rX "$work/stage"
find "$work/stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

sed -e "s,@VERSION@,$version,g" -e "s,@STAGE@,$work/stage,g" \
    "$top/contrib/package/rpm/ucx-efa-srd.spec.in" >"$work/ucx-efa-srd.spec"
rpmbuild -bb --target "$arch-linux" --define "_topdir $work/top" \
    --define '_buildhost localhost' --define "_rpmdir $work/out" \
    --define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
    --buildroot "$work/top/root" "$work/ucx-efa-srd.spec" >"$work/log" 2>&1 || {
    tail -n 30 "$work/log" >&2
    die "rpmbuild failed ($work/log)"
}
mv "$work/out/ucx-efa-srd-$version-1.$arch.rpm" "$dir/" || exit 1
rm -rf "$work/top" "$work/out"
echo "$dir/ucx-efa-srd-$version-1.$arch.rpm"

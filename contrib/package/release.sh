#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# All that is published of a version, by one command. See usage().

set -u
program=release.sh
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"

SPDX_TOOLS='spdx-tools==0.8.5'
SKIPPED=77

usage() {
    cat <<END
Usage: contrib/package/release.sh [--build DIR] [--dir DIR] [--have DIR]

Makes in DIR (build/release), from the configured build in build/ (--build):

  ucx-efa-srd-VERSION.tar.xz              the sources
  ucx_efa_srd-VERSION-py3-none-….whl      wheels  } for glibc 2.17 and newer,
  ucx-efa-srd-VERSION-1.ARCH.rpm          RPMs    } x86-64 and aarch64
  ucx-efa-srd-VERSION-linux-ARCH.tar.xz   archives}
  ucx-efa-srd_VERSION-1_ARCH.deb          for this Debian or Ubuntu release
  ucx-efa-srd-VERSION.spdx.json           the SBOM (SPDX 2.3, by $SPDX_TOOLS)
  SHA256SUMS                              of all of them: sha256sum -c SHA256SUMS

  --have DIR  takes what is in there and makes SBOM and checksums alone

Needs dpkg-dev, debhelper, rpm and python3-venv of Debian, and PyPI.
Status $SKIPPED: PyPI cannot be had.
END
}

# Missing tools are named before anything is built.
tools() {
    local missing='' tool
    for tool in dpkg-buildpackage:dpkg-dev dh:debhelper rpmbuild:rpm \
        python3:python3; do
        command -v "${tool%:*}" >/dev/null || missing="$missing ${tool#*:}"
    done
    python3 -I -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
    [ -z "$missing" ] || die "missing:$missing (apt-get install$missing)"
}

# Sets spdx: the Python that has SPDX's own tools.
find_spdx() {
    local venv=$cache/${SPDX_TOOLS/==/-}
    if [ ! -e "$venv/made" ]; then
        rm -rf "$venv"
        if ! python3 -I -m venv "$venv" || ! "$venv/bin/python" -I -m pip install -q \
            --retries 1 "$SPDX_TOOLS" >&2; then
            warn "$SPDX_TOOLS cannot be had from PyPI"
            exit "$SKIPPED"
        fi
        touch "$venv/made"
    fi
    spdx=$venv/bin/python
}

build=$top/build dir='' have=''
while [ $# -gt 0 ]; do
    case $1 in
    --build | --dir | --have)
        [ -n "${2-}" ] || die "$1 wants a folder"
        declare "${1#--}=$2"
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        die "unknown option $1"
        ;;
    esac
    shift
done
dir=${dir:-$build/release}
# shellcheck source=contrib/ci/cache.sh
. "$top/contrib/ci/cache.sh"
cache=$srd_cache/release
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1577836800}
version=$(sed -n 's/^AC_INIT(\[ucx-efa-srd\], \[\(.*\)\])$/\1/p' \
    "$top/configure.ac")
compiler=$(sed -n 's/^ZIG=ziglang==//p' "$top/contrib/package/portable.sh")

if [ -z "$have" ]; then
    tools
    [ -e "$build/Makefile" ] ||
        die "$build is not configured: run contrib/quickstart.sh"
fi
srd_own "$dir" && mkdir -p "$cache" || exit 1
dir=$(cd "$dir" && pwd -P) || exit 1
find_spdx
if [ -z "$have" ]; then
    have=$dir/parts
    rm -rf "$have" && mkdir "$have" || exit 1
    step "sources and deb" make -C "$build" deb || exit 1
    cp "$build/ucx-efa-srd-$version.tar.xz" \
        "$build/deb/ucx-efa-srd_$version"*.deb "$have/" || exit 1
    step "wheels, RPMs, archives" "$top/contrib/package/portable.sh" \
        --dir "$build/portable" --wheel --rpm || exit 1
    cp "$build/portable/"*"$version"*.* "$have/" || exit 1
fi

rm -f "$dir"/ucx[-_]efa[-_]srd[-_]* "$dir/SHA256SUMS"
find "$have" -maxdepth 1 -type f -name "ucx[-_]efa[-_]srd[-_]$version*" \
    ! -name '*.spdx.json' -exec cp {} "$dir/" \; || exit 1
[ "$have" != "$dir/parts" ] || rm -rf "$have"
compgen -G "$dir/*$version*" >/dev/null || die "nothing of $version in $have"
"$spdx" "$top/contrib/package/make_sbom.py" "$version" "$compiler" \
    "$dir"/*"$version"* >"$dir/sbom.new" || exit 1
mv "$dir/sbom.new" "$dir/ucx-efa-srd-$version.spdx.json" || exit 1
(cd "$dir" && sha256sum ./*"$version"* | sed 's,\./,,' >SHA256SUMS) || exit 1
say "release $version in $dir"
cat "$dir/SHA256SUMS"
grep -q '(not released yet)' "$top/NEWS" &&
    warn "NEWS still says that $version is not released"
exit 0

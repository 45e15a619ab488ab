#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds what runs on every Linux of EC2, on any machine: module, srdrun,
# srd_info and efasim for glibc 2.17 and newer, for x86-64 and aarch64. The
# compiler, zig, comes from PyPI and brings the C library's headers and symbols
# of each version; headers of UCX and rdma-core are this machine's, as in any
# build. The same sources give the same bytes. See usage().

set -u
program=portable.sh
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"
# shellcheck source=contrib/ci/packages.sh
. "$top/contrib/ci/packages.sh"
# shellcheck source=contrib/ci/build.sh
. "$top/contrib/ci/build.sh"

# "It cannot be had here": what test/lib.sh takes for a skip.
SKIPPED=77
GLIBC=2.17
ZIG=ziglang==0.17.1
# The date of all files in packages: no clock is in them.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1577836800}
export LC_ALL=C TZ=UTC

usage() {
    cat <<END
Usage: contrib/package/portable.sh [--dir DIR] [--wheel] [--rpm] [ARCH...]

Builds for glibc $GLIBC and newer, for each ARCH (x86_64, aarch64; both if none is
named), in DIR (build/portable):

  ARCH/root           what is to be installed, under usr/local
  ucx-efa-srd-VERSION-linux-ARCH.tar.xz
                      the same, to unpack anywhere

  --wheel     also ucx_efa_srd-VERSION-py3-none-manylinux….whl
  --rpm       also ucx-efa-srd-VERSION-1.ARCH.rpm (Debian: package rpm)

The compiler is $ZIG of PyPI, in a virtual environment under
\${XDG_CACHE_HOME:-~/.cache}/ucx-efa-srd/portable, made on first use (450 MB);
SRD_ZIG names another zig. Status $SKIPPED: it cannot be had here.
END
}

# ------------------------------------------------------------ the compiler

# Sets zig.
find_zig() {
    local venv=$cache/${ZIG/==/-} log=$cache/pip.log
    zig=${SRD_ZIG-}
    [ -z "$zig" ] || return 0
    mkdir -p "$cache" || exit "$SKIPPED"
    exec 9>"$cache/lock"
    flock 9
    if [ ! -e "$venv/made" ]; then
        rm -rf "$venv"
        if ! python3 -I -m venv "$venv" >"$log" 2>&1 ||
            ! "$venv/bin/python" -I -m pip install -q --only-binary=:all: \
                --retries 1 "$ZIG" >>"$log" 2>&1; then
            warn "$ZIG cannot be had from PyPI: $(grep . "$log" | tail -n 1)" \
                "(SRD_ZIG=/path/to/zig names one that is here)"
            exit "$SKIPPED"
        fi
        touch "$venv/made"
    fi
    exec 9>&-
    zig=$("$venv/bin/python" -I -c 'import os, ziglang
print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))') || exit 1
}

# wrapper NAME WORD...: DIR/ARCH/tools/NAME is zig with these words in front.
# Objects that were made with another wrapper are no good.
wrapper() {
    local file=$dir/$arch/tools/$1
    shift
    # programs may lie anywhere in memory, too; what is shared says -fPIC
    cat >"$file.new" <<END
#!/bin/sh
case " \$* " in
*' -c '*) set -- -fPIE "\$@" ;;
esac
exec $* "\$@"
END
    if cmp -s "$file.new" "$file"; then
        rm "$file.new"
    else
        mv "$file.new" "$file"
        chmod +x "$file"
        rm -rf "$dir/$arch/build"
    fi
}

# No sanitizer, which zig has by default, and no path of this machine.
make_tools() {
    local target="-target $arch-linux-gnu.$GLIBC -fno-sanitize=all"
    target="$target -ffile-prefix-map=$top=ucx-efa-srd"
    mkdir -p "$dir/$arch/tools"
    wrapper cc "$zig" cc "$target"
    wrapper c++ "$zig" c++ "$target"
    wrapper ar "$zig" ar
    wrapper ranlib "$zig" ranlib
}

# Nothing else of /usr/include may be seen: it is of another C library.
make_headers() {
    local name from
    mkdir -p "$dir/include"
    for name in infiniband uct ucs ucp ucm gtest; do
        for from in ${UCX_CFLAGS-} ${CPPFLAGS-} -I/usr/local/include \
            -I/usr/include; do
            if [ -d "${from#-I}/$name" ]; then
                ln -sfn "${from#-I}/$name" "$dir/include/$name"
                break
            fi
        done
    done
}

# ------------------------------------------------------------ building

build() (
    export CC=$dir/$arch/tools/cc CXX=$dir/$arch/tools/c++
    export AR=$dir/$arch/tools/ar RANLIB=$dir/$arch/tools/ranlib
    export CPPFLAGS=-I$dir/include CFLAGS='-O2 -g' CXXFLAGS='-O2 -g'
    export ZIG_GLOBAL_CACHE_DIR=$cache/zig
    export ZIG_LOCAL_CACHE_DIR=${SRD_ZIG_CACHE:-$cache/zig}
    unset UCX_CFLAGS LDFLAGS LIBS LIBRARY_PATH CPATH C_INCLUDE_PATH
    build_targets=(all bin_efasim_LDFLAGS=-pie bin_srd_info_LDFLAGS=-pie)
    build_tree "$dir/$arch/build" --host="$arch-linux-gnu" \
        --prefix=/usr/local --libdir=/usr/local/lib --enable-werror \
        --without-hwloc LDFLAGS="-s -Wl,--hash-style=gnu" ac_cv_prog_MPICC=no
)

install_root() {
    local root=$dir/$arch/root
    rm -rf "$root"
    make -C "$dir/$arch/build" install DESTDIR="$root" >"$dir/$arch/install.log" \
        2>&1 || { cat "$dir/$arch/install.log" >&2; return 1; }
    # as if umask were 022
    chmod -R u=rwX,go=rX "$root"
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

pack() {
    local name=ucx-efa-srd-$version-linux-$arch
    tar -C "$dir/$arch/root/usr" --sort=name --owner=0 --group=0 \
        --numeric-owner --format=ustar --transform "s,^local,$name," -cf - local |
        xz -6 -T1 >"$dir/$name.tar.xz" || return 1
    echo "$dir/$name.tar.xz"
}

wheel() {
    python3 "$top/contrib/package/make_wheel.py" "$top" "$version" "$arch" \
        "$dir/$arch/root/usr/local" "$dir"
}

rpm() {
    "$top/contrib/package/make_rpm.sh" "$version" "$arch" "$dir/$arch/root/usr/local" \
        "$dir"
}

dir=$top/build/portable with=()
archs=()
while [ $# -gt 0 ]; do
    case $1 in
    --dir)
        [ -n "${2-}" ] || die "--dir wants a folder"
        dir=$2
        shift
        ;;
    --wheel | --rpm) with+=("${1#--}") ;;
    -h | --help)
        usage
        exit 0
        ;;
    x86_64 | aarch64) archs+=("$1") ;;
    *)
        usage >&2
        die "unknown option or architecture $1; there are x86_64 and aarch64"
        ;;
    esac
    shift
done
# shellcheck source=contrib/ci/cache.sh
. "$top/contrib/ci/cache.sh"
srd_own "$dir" && dir=$(cd "$dir" && pwd -P) || exit 1
cache=$srd_cache/portable
version=$(sed -n 's/^AC_INIT(\[ucx-efa-srd\], \[\(.*\)\])$/\1/p' \
    "$top/configure.ac")
packages_require "$PACKAGES_BUILD" no "to build" || exit "$SKIPPED"
command -v python3 >/dev/null || die "python3 is missing"
find_zig
make_headers
[ ${#archs[@]} -gt 0 ] || archs=(x86_64 aarch64)
for arch in "${archs[@]}"; do
    say "$arch, glibc $GLIBC"
    make_tools
    build && install_root && pack || exit 1
    for part in "${with[@]}"; do
        "$part" || exit 1
    done
done

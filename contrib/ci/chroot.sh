#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command in another Debian release: its UCX, rdma-core, perftest,
# libfabric and Open MPI, with this tree at its own path. See usage().
#
# Folders per release in the cache: `base` is what debootstrap makes, `full` is
# base with the packages below, `vm` base with what vm_root.sh puts there. A
# command sees one of them through an overlay whose upper layer is memory, in a
# mount namespace of its own: so what it writes outside this tree is gone at its
# end, nothing has to be unmounted however it ends, and any number of commands
# run at once.

set -u
program=chroot.sh
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"

# "It cannot be had here": what test/lib.sh takes for a skip.
SKIPPED=77

# As far as a release has them; the first must be there.
packages_must='libucx0 ucx-utils ibverbs-providers ibverbs-utils'
packages_may='perftest openmpi-bin libfabric-bin python3-pyverbs valgrind
              gawk procps iproute2'

# Our own needs in a system of another architecture, which an emulator runs.
packages_foreign='procps iproute2'

# Debian 12's UCX beside a newer release's: our test programs are built for
# it, the newer rdma-core shows what 12's lacks (RDMA write).
old_ucx_suite=bookworm
old_ucx_packages='libucx0/bookworm ucx-utils/bookworm'
old_ucx_home=/opt/ucx-1.13

usage() {
    cat <<END
Usage: contrib/ci/chroot.sh [--bare | --vm] [--arch ARCH] [--rebuild] [--bind DIR]...
                         RELEASE [--] [COMMAND...]
       contrib/ci/chroot.sh [--arch ARCH] --made RELEASE
       contrib/ci/chroot.sh [--arch ARCH] --remove RELEASE
       contrib/ci/chroot.sh --list

Runs COMMAND as root in Debian RELEASE (12, 13 or sid), made on first use under
\${XDG_CACHE_HOME:-~/.cache}/ucx-efa-srd/chroot, which takes a minute or two and
up to 1 GB. Without COMMAND it is only made. This tree is there under the same
path; what COMMAND writes elsewhere is forgotten at its end.

  --bare      without UCX, rdma-core and the like: Debian's smallest system
  --vm        that and QEMU; under /vm Debian's kernel and the efa driver of it,
              built (sid alone)
  --arch ARCH of another architecture, as Debian names it (arm64): qemu-user
              runs it (Debian: qemu-user-static), and is made known to this
              machine's kernel if it is not yet
  --rebuild   make it anew
  --bind DIR  show DIR, too, under its path
  --made      status 0 if RELEASE is made already; makes nothing
  --list      releases, and versions in those that are made
  --remove    delete RELEASE from the cache

Debian 12's UCX 1.13 stands in every newer release under $old_ucx_home/lib.
Variables UCX_*, EFASIM_*, SRD_*, OMPI_*, FI_*, QEMU_* reach COMMAND; others do not.
SRD_DEBIAN_MIRROR chooses the package mirror; default: this machine's own.
The status is COMMAND's, or $SKIPPED if RELEASE cannot be had here (a line on
standard error says why).
END
}

skip() {
    warn "$*"
    exit "$SKIPPED"
}

# ------------------------------------------------------------ making

# The mirror that this machine's apt uses for Debian; nothing on another
# distribution, where debootstrap has a default.
mirror() {
    if [ -n "${SRD_DEBIAN_MIRROR-}" ]; then
        echo "$SRD_DEBIAN_MIRROR"
    elif command -v apt-get >/dev/null; then
        # shellcheck disable=SC2016 # apt's own format
        apt-get indextargets --format '$(LABEL) $(REPO_URI)' \
            'Created-By: Packages' 2>/dev/null |
            awk '$1 == "Debian" { print $2; exit }'
    fi
}

# recipe KIND: changes when what is in the folder KIND would.
recipe() {
    echo "1 $suite${arch:+ $arch}"
    [ "$1" != vm ] || cksum <"$top/contrib/ci/vm_root.sh"
    [ "$1" != full ] || echo "$packages_must $packages_may $old_ucx_packages" |
        xargs
}

is_made() {
    [ "$(cat "$cache/$1.made" 2>/dev/null)" = "$(recipe "$1")" ]
}

# in_root ROOT COMMAND...: with /proc, /sys and /dev, for package scripts. In
# a mount namespace already.
in_root() {
    local root=$1 dir
    shift
    for dir in proc sys dev; do
        mountpoint -q "$root/$dir" ||
            mount --rbind "/$dir" "$root/$dir" || return 1
    done
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null
    env -i HOME="/root" PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}

# The index of a moving suite may be older than it says it is good for.
apt_options='Acquire::Check-Valid-Until "false";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "2";'

# mirror_answers PID ROOT: a network that swallows packets would let debootstrap
# try for a quarter of an hour; the index comes in seconds or not at all.
mirror_answers() {
    local second
    for second in $(seq 1 40); do
        ! compgen -G "$2/var/lib/apt/lists/*Release" >/dev/null || return 0
        kill -0 "$1" 2>/dev/null || return 0
        sleep 1
    done
    echo "no index from the mirror in $second s"
    kill "$1"
    return 1
}

make_base() {
    local from
    from=$(mirror)
    # shellcheck disable=SC2086 # none, or one word
    timeout 1800 debootstrap --variant=minbase --include=ca-certificates \
        ${arch:+--arch=$arch} "$suite" "$1" $from &
    mirror_answers $! "$1" && wait $! || return 1
    echo "$apt_options" >"$1/etc/apt/apt.conf.d/90srd"
    # No service may start.
    printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
    chmod +x "$1/usr/sbin/policy-rc.d"
}

make_full() {
    local root=$1 package
    rmdir "$root" && cp -a "$cache/base" "$root" || return 1
    in_root "$root" apt-get -q update || return 1
    # shellcheck disable=SC2086 # one word each
    in_root "$root" apt-get -q -y install $packages_must || return 1
    for package in $packages_may; do
        in_root "$root" apt-get -q -y install "$package" ||
            echo "not in $suite: $package"
    done
    if [ "$suite" != "$old_ucx_suite" ]; then
        add_old_ucx "$root" || return 1
    fi
    in_root "$root" apt-get -q clean
}

# A virtual machine's parts (vm_root.sh).
make_vm() {
    local root=$1
    rmdir "$root" && cp -a "$cache/base" "$root" &&
        cp "$top/contrib/ci/vm_root.sh" "$root/" || return 1
    in_root "$root" sh /vm_root.sh
}

# Its archives alone, unpacked: no package of the release is touched.
add_old_ucx() {
    local root=$1 lists=/var/lib/apt/lists-old apt deb from
    from=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' "$root/etc/apt/sources.list")
    echo "deb $from $old_ucx_suite main" >"$root/etc/apt/old.list"
    mkdir -p "$root$lists/partial" "$root$old_ucx_home"
    apt=(apt-get -q -o "Dir::Etc::SourceList=/etc/apt/old.list"
        -o "Dir::Etc::SourceParts=/dev/null" -o "Dir::State::Lists=$lists")
    in_root "$root" "${apt[@]}" update || return 1
    # shellcheck disable=SC2086 # one word each
    in_root "$root" env -C "$old_ucx_home" "${apt[@]}" download \
        $old_ucx_packages || return 1
    for deb in "$root$old_ucx_home"/*.deb; do
        in_root "$root" dpkg -x "${deb#"$root"}" "$old_ucx_home" || return 1
    done
    # Not under the triplet's name: one path for users on every machine.
    mv "$root$old_ucx_home"/usr/lib/*-linux-gnu* "$root$old_ucx_home/lib" &&
        mv "$root$old_ucx_home/usr/bin" "$root$old_ucx_home/bin" || return 1
    rm -rf "${root:?}$old_ucx_home"/*.deb "${root:?}$lists"
}

# make KIND: under the lock; a half-made folder never gets the name KIND.
make() {
    local new=$cache/$1.new
    is_made "$1" && return
    rm -rf --one-file-system "$new" "${cache:?}/$1" "$cache/$1.made"
    mkdir -p "$new" || return 1
    echo "== Debian $suite: making '$1' in $cache (once)" >&2
    if ! "make_$1" "$new" >"$cache/$1.log" 2>&1; then
        tail -n 5 "$cache/$1.log" | sed 's/^/    | /' >&2
        # Mounts that debootstrap made end with this namespace, not before.
        (umount -R "$new/proc" "$new/sys" "$new/dev" &&
            rm -rf --one-file-system "$new") 2>/dev/null
        return 1
    fi
    for dir in proc sys dev; do
        ! mountpoint -q "$new/$dir" || umount -R -l "$new/$dir"
    done
    mv "$new" "$cache/$1" && recipe "$1" >"$cache/$1.made"
}

# ------------------------------------------------------------ running

# Prints NAME=VALUE of what may pass.
environment() {
    local name
    for name in $(compgen -e); do
        case $name in
        UCX_* | EFASIM_* | SRD_* | OMPI_* | FI_* | QEMU_* | TERM | *SAN_OPTIONS | \
            CHECKS | SLOWNESS | SUITE_LOGS)
            printf '%s=%s\0' "$name" "${!name}"
            ;;
        esac
    done
}

# Inside the namespace: never returns.
enter() {
    local kind=$1 root=$cache/run dir bind passed=()
    shift
    mkdir -p "$root" && mount -t tmpfs -o mode=755 srd "$root" &&
        mkdir "$root/upper" "$root/work" "$root/root" || exit "$SKIPPED"
    mount -t overlay -o "lowerdir=$cache/$kind,upperdir=$root/upper" \
        -o "workdir=$root/work" srd "$root/root" ||
        skip "this kernel has no overlay file system"
    root=$root/root
    mount -t tmpfs -o mode=1777 srd "$root/tmp"
    dir=$top
    for bind in "${binds[@]}"; do
        mkdir -p "$root$bind" && mount --rbind "$bind" "$root$bind" || exit 1
        case $PWD/ in
        "$bind"/*) dir=$PWD ;;
        esac
    done
    mapfile -d '' passed < <(environment)
    in_root "$root" env -C "$dir" "${passed[@]}" "$@"
    exit
}

# Mounts from here on end with the last process that sees them.
isolate() {
    if [ "${SRD_CHROOT_INSIDE-}" = "$$" ]; then
        unset SRD_CHROOT_INSIDE
        return
    fi
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null ||
            skip "other releases need root, or sudo without a password"
        exec sudo -n env SRD_CHROOT_CACHE="$cache_top" "$0" "${arguments[@]}"
    fi
    unshare --mount true 2>/dev/null ||
        skip "this machine does not let root make a mount namespace"
    SRD_CHROOT_INSIDE=$$ exec unshare --mount --propagation private \
        "$0" "${arguments[@]}"
}

# emulate: the kernel hands programs of $arch to qemu, whose interpreter it opened
# when it was told of it: the chroot needs no copy. A package's script does
# this where systemd runs; in containers nobody does.
emulate() {
    local dir=/proc/sys/fs/binfmt_misc name conf
    case $arch in
    arm64) name=aarch64 ;;
    *) die "no emulator is known for the architecture $arch" ;;
    esac
    [ -e $dir/register ] || mount -t binfmt_misc srd $dir 2>/dev/null ||
        skip "this kernel hands no programs to an emulator (binfmt_misc)"
    [ ! -e $dir/qemu-$name ] || return 0
    conf=/usr/lib/binfmt.d/qemu-$name.conf
    [ -e $conf ] || skip "qemu-$name is missing (apt-get install qemu-user-static)"
    cat $conf >$dir/register 2>/dev/null ||
        skip "this kernel does not take qemu-$name"
}

# make_or_skip KIND: base is made first.
make_or_skip() {
    local kind
    if is_made "$1"; then
        return
    fi
    command -v debootstrap >/dev/null ||
        skip "debootstrap is missing (apt-get install debootstrap)"
    mkdir -p "$cache" || skip "cannot write to $cache_top"
    exec 9>"$cache/lock"
    flock 9 || exit 1
    for kind in base "$1"; do
        make "$kind" || skip "Debian $suite cannot be made here, most likely" \
            "for want of the network or of space; see $cache/$kind.log"
    done
    exec 9>&-
}

# ------------------------------------------------------------ the words

list() {
    local name kind
    for name in bookworm trixie sid; do
        kind=$cache_top/$name/full
        if [ -e "$kind.made" ]; then
            # shellcheck disable=SC2016 # dpkg-query's own format
            echo "$name: $(chroot "$kind" dpkg-query -W \
                -f '${Package} ${Version}, ' libucx0 libibverbs1 perftest \
                openmpi-bin libfabric1 2>/dev/null)"
        else
            echo "$name: not made"
        fi
    done
}

# This machine's architecture, as Debian names it.
native() {
    case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) uname -m ;;
    esac
}

# suite_of RELEASE: Debian's code name.
suite_of() {
    case $1 in
    12 | bookworm) echo bookworm ;;
    13 | trixie) echo trixie ;;
    sid | unstable) echo sid ;;
    *) die "unknown release '$1'; there are 12, 13 and sid" ;;
    esac
}

# shellcheck source=contrib/ci/cache.sh
. "$top/contrib/ci/cache.sh"
umask 022 # a system has users beside root
cache_top=${SRD_CHROOT_CACHE:-$srd_cache/chroot}
arguments=("$@")
kind=full action=run rebuild=no arch=
binds=("$top")
while [ $# -gt 0 ]; do
    case $1 in
    --bare) kind=base ;;
    --vm) kind=vm ;;
    --arch)
        [ "${2-}" = "$(native)" ] || arch=${2-}
        shift
        ;;
    --rebuild) rebuild=yes ;;
    --bind)
        [ -d "${2-}" ] || die "--bind wants a folder, not '${2-}'"
        binds+=("$(cd "$2" && pwd -P)")
        shift
        ;;
    --made | --remove) action=${1#--} ;;
    --list)
        list
        exit
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    -*)
        usage >&2
        die "unknown option $1"
        ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || die "which release? 12, 13 or sid (--help)"
suite=$(suite_of "$1") || exit 1
cache=$cache_top/$suite${arch:+-$arch}
if [ -n "$arch" ]; then
    packages_may=$packages_foreign
fi
shift
[ "${1-}" != -- ] || shift

case $action in
made)
    is_made "$kind"
    exit
    ;;
remove)
    isolate
    rm -rf --one-file-system "$cache"
    exit
    ;;
esac
isolate
[ -z "$arch" ] || emulate
[ "$rebuild" = no ] || rm -f "$cache/base.made" "$cache/full.made"
make_or_skip "$kind"
[ $# -gt 0 ] || exit 0
enter "$kind" "$@"

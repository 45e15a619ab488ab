#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command under Linux's own efa driver: in a virtual machine (QEMU
# without acceleration, Debian sid's kernel and programs) whose EFA devices are
# efapci's. See usage().

set -u
program=vm.sh
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"
SKIPPED=77

usage() {
    cat <<END
Usage: test/kernel/vm.sh [OPTION]... [--] COMMAND...
       test/kernel/vm.sh [--build DIR] --make

Runs COMMAND (one shell command if it is one word) as root in a virtual machine
with Debian sid's kernel, rdma-core, UCX and Open MPI. The devices are efa_0,
efa_1, ...: efapci's, behind the kernel's own driver. What was built in this
tree is there under the same path, its programs (srdrun, srd_info, ...) in PATH;
of other files of this machine COMMAND's own, if it is one, and those that --file
names. As in

  test/kernel/vm.sh srdrun ucx_info -d
  test/kernel/vm.sh ./my_program 1000

The first time it makes what it needs (--make: only that): two Debian systems in
the cache, some 500 MB to download, a few minutes.

  --build DIR        the build (default: build)
  --function efaN    a device of this generation; once for each (default: efa1
                     twice)
  --efapci OPTION    an option of efapci, as --efapci --reorder=0.1
  --sockets DIR      the functions' sockets are there already, as 0, 1, ...
                     (--function says how many): another efapci serves them
  --file FILE        is there, too, as /srd/NAME
  --keep DIR         leave kernel.log and efapci.log there
  --next             Debian experimental's kernel, where that is a newer one

The status is COMMAND's; 120: the kernel has warned, or the machine has not come
to its end; $SKIPPED: the machine cannot be had here (a line says why).
END
}

skip() {
    warn "$*"
    exit "$SKIPPED"
}

build=$top/build functions=() options=() files=() keep='' sockets='' make=no kernel=sid
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$(realpath "$2") && shift || exit 1 ;;
    --make) make=yes ;;
    --next) kernel=experimental ;;
    --function) functions+=("$2") && shift ;;
    --efapci) options+=("$2") && shift ;;
    --sockets) sockets=$(cd "$2" && pwd -P) && shift || exit 1 ;;
    --file) files+=("/srd/$(basename "$2")=$2") && shift ;;
    --keep) keep=$2 && shift ;;
    -h | --help) usage && exit 0 ;;
    --) shift && break ;;
    -*) usage >&2 && exit 2 ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || [ $make = yes ] || die "no command (--help)"
[ ${#functions[@]} -gt 0 ] || functions=(efa1 efa1)
[ "$(uname -m)" = x86_64 ] || skip "the guest is one for x86-64"
[ -x "$build/bin/efapci" ] ||
    die "$build/bin/efapci is not built (contrib/test.sh --build builds it)"
command -v python3 >/dev/null || skip "python3 is missing"

chroot=$top/contrib/ci/chroot.sh
store=$build/kernel
mkdir -p "$store" && chmod 700 "$store" || die "the build belongs to another user"

# parts: the kernel and its modules, and the guest's system as an archive, once
# for a build folder.
parts() {
    local made
    "$chroot" sid && "$chroot" --vm sid || return
    made=$("$chroot" --vm sid -- sh -c 'cat /vm/*/version' &&
        "$chroot" sid -- sh -c 'cksum </var/lib/dpkg/status' &&
        cksum <"$top/test/kernel/guest_image.py") || return
    [ "$made" != "$(cat "$store/made" 2>/dev/null)" ] || return 0
    # by root there: what it leaves is root's
    # shellcheck disable=SC2016 # for the shell in there
    "$chroot" --bind "$store" --vm sid -- sh -c \
        'rm -rf "$1/vm" "$1/made" && cp -r /vm "$1/vm"' - "$store" &&
        "$chroot" --bind "$store" sid -- python3 \
            "$top/test/kernel/guest_image.py" "$store/system" --system &&
        echo "$made" >"$store/made"
}

exec 9>"$store/lock"
flock 9
status=0
parts || status=$?
exec 9>&-
[ "$status" != "$SKIPPED" ] || exit "$SKIPPED"
[ "$status" = 0 ] || die "the guest's parts could not be made"
[ $make = no ] || exit 0
[ -e "$store/vm/$kernel/vmlinuz" ] || skip "Debian experimental has no newer kernel now"

# A program of the caller's comes along; one that was built here is there.
case $1 in
*/*)
    if [ -f "$1" ] && [ -x "$1" ]; then
        path=$(realpath "$1") || exit 1
        case $path in
        "$build"/*) ;;
        *)
            files+=("/srd/$(basename "$path")=$path")
            path=/srd/$(basename "$path")
            ;;
        esac
        set -- "$path" "${@:2}"
    fi
    ;;
esac

work=$(mktemp -d "$store/run.XXXXXX") || exit 1
served=
finish() {
    [ -z "$served" ] || {
        kill "$served"
        wait "$served"
    } 2>/dev/null
    if [ -n "$keep" ]; then
        mkdir -p "$keep" && cp "$work"/*.log "$keep/" 2>/dev/null
    fi
    rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

{
    echo "PATH=\$PATH:$(printf %q "$build/bin")"
    if [ $# = 1 ]; then echo "$1"; else printf '%q ' "$@"; fi
} >"$work/command"
# Programs that run there are built here, with modules and the libraries beside them.
for name in bin lib sbin test bench; do
    [ ! -d "$build/$name" ] || files+=("$build/$name=$build/$name")
done
python3 "$top/test/kernel/guest_image.py" "$work/own" \
    "/init=$top/test/kernel/guest_init.sh" "/srd/command=$work/command" \
    "/srd/modules=$store/vm/$kernel/modules" "${files[@]}" ||
    die "cannot make the guest's archive"
cat "$store/system" "$work/own" >"$work/initrd" || exit 1

# Where others have the CPUs, or a machine is stopped, an answer of the device
# takes long: the machine waits for it, for a day; after 5 s it would give up.
devices=()
served_args=()
for i in "${!functions[@]}"; do
    path=${sockets:-$work}/$i
    served_args+=("${functions[i]}:$path")
    devices+=(-device "{\"driver\": \"vfio-user-pci\", \"socket\":
        {\"type\": \"unix\", \"path\": \"$path\"}, \"x-msg-timeout\": 86400000}")
done
if [ -z "$sockets" ]; then
    "$build/bin/efapci" --counters "${options[@]}" "${served_args[@]}" \
        >"$work/efapci.log" 2>&1 &
    served=$!
    until [ -S "$work/$((${#functions[@]} - 1))" ]; do
        kill -0 "$served" 2>/dev/null || {
            cat "$work/efapci.log" >&2
            die "efapci did not start"
        }
        sleep 0.1
    done
fi

# Where others have the CPUs the machine stands still now and then: then no timer
# is missing, and nothing hangs.
kernel_options="console=ttyS0 panic=-1 oops=panic quiet no_timer_check nowatchdog"
kernel_options+=" sysctl.kernel.hung_task_timeout_secs=0"
kernel_options+=" rcupdate.rcu_cpu_stall_suppress=1 tsc=reliable mitigations=off"

binds=(--bind "$store")
[ -z "$sockets" ] || binds+=(--bind "$sockets")
"$chroot" "${binds[@]}" --vm sid -- qemu-system-x86_64 \
    -M q35,memory-backend=mem -accel tcg,thread=multi \
    -object memory-backend-memfd,id=mem,size=2G,share=on -m 2G \
    -cpu max,la57=off -smp 2 -nodefaults -display none -no-reboot \
    -kernel "$store/vm/$kernel/vmlinuz" -initrd "$work/initrd" \
    -append "$kernel_options" \
    -serial "file:$work/kernel.log" -device virtio-serial-pci \
    -chardev "file,id=out,path=$work/out" -device virtconsole,chardev=out \
    "${devices[@]}" >"$work/qemu.log" 2>&1 &
machine=$!
tail -n +1 -s 0.2 -f --pid="$machine" "$work/out" --retry 2>/dev/null |
    sed -u 's/\r$//; /^srd-status /d' # as it comes
wait "$machine"

status=$(tr -d '\r' <"$work/out" 2>/dev/null |
    sed -n 's/^srd-status //p' | tail -n 1)
if [ -z "$status" ]; then
    warn "the machine has not come to its end"
    tail -n 20 "$work/qemu.log" "$work/kernel.log" "$work/efapci.log" >&2
    exit 120
fi
if grep -E 'WARNING:|BUG:|Oops|Call Trace|refcount_t|INFO: task' \
    "$work/kernel.log" >&2; then
    warn "the kernel has warned"
    grep -A 30 -m 1 -E 'WARNING:|BUG:|Oops|Call Trace|refcount_t|INFO: task' \
        "$work/kernel.log" >&2
    exit 120
fi
exit "$status"

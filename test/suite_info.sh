#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# srd_info: all is well under efasim, and each failure that its check knows is
# provoked and named, alone.
# usage: suite_info.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/top.sh
. "$TEST_DIR/top.sh"
# shellcheck source=test/commands.sh
. "$TEST_DIR/commands.sh"
# shellcheck source=test/info_python.sh
. "$TEST_DIR/info_python.sh"
set -u

INFO_MPI=(OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any)

clean_environment() {
    local name
    for name in $(compgen -e UCX_) $(compgen -e OMPI_); do unset "$name"; done
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    OUT=$CHECK_LOG.out DIR=$CHECK_LOG.dir
    rm -rf "$DIR"
    mkdir -p "$DIR"
}

# outside [ENV...] : [OPTION...], inside [ENV...] : [OPTION...]: the check on
# this machine, or on an emulated node; into $OUT, the status into $STATUS.
outside() {
    local words=()
    while [ "$1" != : ]; do words+=("$1"); shift; done
    shift
    STATUS=0
    env "${INFO_MPI[@]}" "${words[@]}" "${INFO:-$BUILD/bin/srd_info}" --check \
        "$@" >"$OUT" 2>&1 || STATUS=$?
    cat "$OUT"
}

inside() {
    outside "$EFASIM" run --fabric "t$$" "${SIM[@]}" -- env "$@"
}
SIM=()

# verdict LEVEL NAME REGEX: exactly this check is LEVEL, with such a text and a
# remedy in it or below, and no other is warn or FAIL. The status goes with it.
verdict() {
    local lines
    lines=$(grep -E '^(warn|FAIL)' "$OUT")
    [ "$(grep -c . <<<"$lines")" = 1 ] || fail "not one line: $lines"
    grep -Eq "^$1 +$2 +.*$3" <<<"$lines" || fail "no '$1 $2 $3' in: $lines"
    grep -A 1 -E "^$1 +$2 " "$OUT" |
        grep -Eq 'remedy: |[:;] .*(install|start|load|attach|update|raise|use|name) ' ||
        fail "no remedy"
    [ "$STATUS" = "$([ "$1" = FAIL ] && echo 1 || echo 0)" ] ||
        fail "status $STATUS"
}

all_ok() {
    clean_environment
    inside :
    [ "$STATUS" = 0 ] || fail "status $STATUS"
    ! grep -vE '^ok  |^[0-9]+ ok, 0 warnings, 0 failed, 0 skipped$' "$OUT" ||
        fail "not all is ok"
    [ "$(grep -c '^ok ' "$OUT")" -ge 15 ] || fail "checks are missing"
    # the check of loading names what UCX says when srdrun is forgotten
    [ "$(ucx_minor)" != 13 ] ||
        grep -E '^ok +loading +start .* srdrun; .*"Out of memory"' "$OUT" ||
        fail "what happens without srdrun is not said"
    # with srdrun the module is in this very process
    inside "$SRDRUN" :
    grep -E '^ok +loading +preloaded .*libuct_srd\.so\.0' "$OUT" ||
        fail "preloaded, and not seen"
    ! grep -E '^(warn|FAIL|skip)' "$OUT" || fail "not all is ok"
}

shows() {
    clean_environment
    SIM=(--per-node 1)
    "$EFASIM" run --fabric "t$$" -- "$BUILD/bin/srd_info" --all >"$OUT" ||
        fail "status $?"
    cat "$OUT"
    local line
    export OUT
    for line in '^device rdmap0s6$' '^  place +PCI 0000:00:06.0, ' \
        '^  GID +fe80:' '^  capabilities .*RDMA read,.* SRD, UD$' \
        '^  messages +to 8928 B' '^UCX +1\.[0-9]+\.[0-9]+ in /' \
        '^module +/.*libuct_srd.so.0 ' '^transport srd +UCX can use it$' \
        '^transport ud +UCX can use it$' \
        '^to other hosts +UCX takes srd on rdmap0s6 \(UCX_TLS is not set\)$' \
        '^  lane +srd/rdmap0s6:1.* am' '^  CUDA memory '; do
        grep -Eq "$line" "$OUT" || fail "no line $line"
    done
    SIM+=(--fail-command create-qp:1) # of each process
    "$EFASIM" run --fabric "t$$" "${SIM[@]}" -- "$BUILD/bin/srd_info" >"$OUT"
    cat "$OUT"
    grep -Eq '^transport srd +cannot be used: .*no SRD queue pair' "$OUT" &&
        grep -Eq '^transport ud +cannot be used: .*no UD queue pair' "$OUT" ||
        fail "the reasons are not told"
    "$BUILD/bin/srd_info" >"$OUT" && fail "no device, and status 0"
    grep -q '^no device: this machine has no EFA' "$OUT" || fail "not said"
    "$BUILD/bin/srd_info" --nosuch 2>/dev/null
    [ $? = 2 ] || fail "a wrong option: not status 2"
    "$BUILD/bin/srd_info" --help | grep -q -- --check || fail "no help"
}

# The NUMA node is what sysfs says, but for what a terminal takes for a command, as it may
# be another user's tree; the emulated device itself belongs to none.
places() {
    clean_environment
    # shellcheck disable=SC2016  # for the inner shell
    "$EFASIM" run --fabric "t$$" -- bash -c 'rm -rf "$0"
        cp -r "$SYSFS_PATH" "$0" 2>/dev/null
        cd "$0/devices/pci0000:00/0000:00:06.0" && printf "1\033\n" >numa_node &&
        echo 4-7,12-15 >local_cpulist && SYSFS_PATH=$0 exec "$1"' \
        "$DIR/sys" "$BUILD/bin/srd_info" >"$OUT" 2>&1
    cat "$OUT"
    grep -q '^  place  *PCI 0000:00:06.0, NUMA node 1[?], CPUs 4-7,12-15' "$OUT" ||
        fail "the place is not told"
}

# Two GPUs of a machine that hwloc reads from a file: one beside the EFA, one
# behind a bridge of its own.
gpus_near() {
    clean_environment
    ldd "$BUILD/bin/srd_info" | grep -q libhwloc ||
        skip_here "srd_info was built without hwloc"
    HWLOC_XMLFILE=$TEST_DIR/gpus.xml "$EFASIM" run --fabric "t$$" -- \
        "$BUILD/bin/srd_info" >"$OUT" 2>&1
    grep -F 'near GPU 0000:00:1c.0 (behind one bridge), near GPU 0000:10:1d.0' \
        "$OUT" | grep -v '1d.0 (' || fail "the GPUs are not told"
}

device() {
    clean_environment
    mkdir -p "$DIR/none/class" "$DIR/pci/bus/pci/devices/0000:00:06.0" \
        "$DIR/verbs/class/infiniband_verbs/uverbs97/device"
    echo 'pci:v00001D0Fd0000EFA1sv00001D0Fsd0000EFA1bc02sc00i00' |
        tee "$DIR/pci/bus/pci/devices/0000:00:06.0/modalias" \
            >"$DIR/verbs/class/infiniband_verbs/uverbs97/device/modalias"
    outside SYSFS_PATH="$DIR/none" :
    verdict FAIL device 'no EFA device'
    outside SYSFS_PATH="$DIR/pci" :
    verdict FAIL driver 'has no driver.*modprobe efa'
    outside SYSFS_PATH="$DIR/verbs" :
    verdict FAIL 'device files' 'uverbs97 is not.*--device=/dev/infiniband/uverbs97'
    SIM=(--refuse-open)
    inside :
    verdict FAIL 'device files' 'cannot be opened to read and write'
}

# A container with one of the host's devices: that is well, and none is not.
device_share() {
    clean_environment
    printf '%s\n' 'on 0.0,0.1 refuse-open EPERM' 'on 0.3 refuse-open ENOENT' >"$DIR/plan"
    SIM=(--devices 4 --plan "$DIR/plan")
    inside :
    ! grep -E '^(warn|FAIL|skip)' "$OUT" || fail "one of four is well"
    [ "$STATUS" = 0 ] || fail "status $STATUS"
    grep -Eq "^ok +device files +.*uverbs2, 1 of 4 \\(3 are not this container's\\)" "$OUT" ||
        fail "the others are not told of"
    [ "$(grep -c '^ok  *open ' "$OUT")" = 1 ] || fail "one device was opened"
    "$EFASIM" run --fabric "t$$" "${SIM[@]}" -- "$BUILD/bin/srd_info" --map >"$OUT"
    cat "$OUT"
    [ "$(cut -d ' ' -f 1-2 "$OUT")" = 'rank 0' ] && grep -q '=rdmap32s6:1 ' "$OUT" ||
        fail "--map has devices that are not this container's"
    SIM=(--devices 4 --refuse-open)
    inside :
    verdict FAIL 'device files' 'cannot be opened to read and write'
}

libraries() {
    clean_environment
    local libefa
    mkdir -p "$DIR"/{efa,verbs,other}
    echo 'no library' | tee "$DIR/efa/libefa.so.1" >"$DIR/verbs/libibverbs.so.1"
    inside LD_LIBRARY_PATH="$DIR/efa" :
    verdict FAIL libraries 'libefa cannot be opened'
    inside LD_LIBRARY_PATH="$DIR/verbs" :
    verdict FAIL libraries 'libibverbs cannot be opened'
    libefa=$(ldconfig -p | awk '/libefa\.so\.1.*x86-64/ { print $NF; exit }')
    [ -n "$libefa" ] || return 0
    sed 's/IBVERBS_PRIVATE_[0-9][0-9]/IBVERBS_PRIVATE_99/g' "$libefa" \
        >"$DIR/other/libefa.so.1"
    inside LD_LIBRARY_PATH="$DIR/other" :
    verdict FAIL libraries 'libefa and libibverbs do not match'
}

# A generation of the device that this libefa does not know.
provider() {
    clean_environment
    # shellcheck disable=SC2016  # for the inner shell
    inside bash -c 'rm -rf "$0"; cp -r "$SYSFS_PATH" "$0" 2>/dev/null
        find "$0" -name modalias -exec sed -i s/EFA[0-9]/EFAF/ {} + &&
        SYSFS_PATH=$0 exec "$@"' "$DIR/sys" :
    verdict FAIL provider 'libibverbs has no provider'
}

locked_memory() {
    clean_environment
    SIM=(--memlock 2)
    # shellcheck disable=SC2016
    inside bash -c 'ulimit -l 64; exec "$@"' - :
    verdict FAIL 'locked memory' 'limit is 64 KiB'
    # enough for a few peers, as a user's usual 8 MiB: a warning, and srd works
    # shellcheck disable=SC2016
    inside bash -c 'ulimit -l 8192; exec "$@"' - :
    verdict warn 'locked memory' 'limit is 8192 KiB: enough for'
    grep -E '^ok +message .* over srd' "$OUT" || fail "the message did not decide"
    # enough to open the device, not for a transport
    # shellcheck disable=SC2016
    inside bash -c 'ulimit -l 4000; exec "$@"' - :
    verdict FAIL 'locked memory' '4 MiB cannot be registered.*4000 KiB'
}

no_rdma() {
    clean_environment
    SIM=(--no-rdma-read)
    inside :
    verdict warn open 'SRD without RDMA'
}

# The driver refuses to open the device.
# A failed open is tried again by a new list of devices.
open_device() {
    clean_environment
    SIM=(--fail-command "get-context:1:EOPNOTSUPP,get-context:2:EOPNOTSUPP")
    inside :
    verdict FAIL open 'refuses this user space'
    SIM=(--fail-command "get-context:1:EIO,get-context:2:EIO")
    inside :
    verdict FAIL open 'cannot be opened: Input/output error; .*dmesg'
    SIM=(--fail-command "get-context:1:ENOMEM,get-context:2:ENOMEM")
    inside :
    verdict FAIL 'locked memory' 'cannot be opened: out of memory'
    SIM=(--fail-command alloc-pd:1:EIO)
    inside :
    verdict FAIL 'locked memory' 'Input/output error.*is not the cause'
}

# gpu NAME PCI-VENDOR [MODULE...]: the check on a sysfs tree with such a GPU.
gpu() {
    local root=$DIR/$1 device=$DIR/$1/sys/bus/pci/devices/0000:10:1c.0 name
    mkdir -p "$device" "$root/proc"
    echo 0x030200 >"$device/class"
    echo "$2" >"$device/vendor"
    cp /proc/meminfo "$root/proc/"
    shift 2
    for name; do mkdir -p "$root/sys/module/$name"; done
}

system() {
    clean_environment
    mkdir -p "$DIR/huge/proc" "$DIR/nowhere"
    printf 'HugePages_Total: 8\nHugePages_Free: 0\n' >"$DIR/huge/proc/meminfo"
    inside : --sysroot="$DIR/huge"
    verdict warn 'huge pages' 'all 8 are in use'
    inside : --sysroot="$DIR/nowhere"
    verdict warn 'huge pages' '/proc/meminfo cannot be read'
    gpu pipes 0x10de # of another user, say: nobody waits for them
    mkdir -p "$DIR/pipes/etc/openmpi"
    for name in proc/meminfo sys/bus/pci/devices/0000:10:1c.0/class \
        etc/openmpi/openmpi-mca-params.conf; do
        rm -f "$DIR/pipes/$name" && mkfifo "$DIR/pipes/$name" || fail "status $?"
    done
    inside : --sysroot="$DIR/pipes"
    grep -Eq '^ok +huge pages +none reserved' "$OUT" || fail "no verdict"
    gpu bare 0x10de
    inside : --sysroot="$DIR/bare"
    verdict warn 'GPU memory' '1 GPUs without a driver'
    gpu alone 0x10de nvidia
    inside : --sysroot="$DIR/alone"
    verdict warn 'GPU memory' 'neither peer memory nor dma-buf'
    # NVIDIA's own is for InfiniBand's drivers
    gpu infiniband 0x10de nvidia nvidia_peermem
    inside : --sysroot="$DIR/infiniband"
    verdict warn 'GPU memory' 'neither peer memory nor dma-buf'
    # with it, what is said depends on what module and UCX register
    gpu peer 0x10de nvidia efa_nv_peermem
    inside : --sysroot="$DIR/peer"
    ! grep 'neither peer memory' "$OUT" || fail "peer memory was not seen"
    gpu open 0x10de nvidia
    mkdir -p "$DIR/open/proc/driver/nvidia"
    echo 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.1' \
        >"$DIR/open/proc/driver/nvidia/version"
    SIM=(--no-dmabuf)
    inside : --sysroot="$DIR/open"
    SIM=()
    verdict warn 'GPU memory' 'this kernel or libibverbs registers no dma-bufs'
    UCX_EFA_DMABUF=n inside : --sysroot="$DIR/open"
    verdict warn 'GPU memory' 'UCX_EFA_DMABUF=n forbids dma-bufs'
    SIM=(--gpus 2)
    inside :
    SIM=()
    verdict warn 'GPU memory' '2 GPUs, '
    gpu amd 0x1002 amdgpu
    inside : --sysroot="$DIR/amd"
    ! grep 'neither peer memory' "$OUT" || fail "peer memory was not seen"
}

ucx() {
    clean_environment
    need python3
    local libucp name
    mkdir -p "$DIR"/{none,unknown,mixed}
    echo 'no library' >"$DIR/none/libucp.so.0"
    inside LD_LIBRARY_PATH="$DIR/none" :
    verdict FAIL UCX 'no UCX can be opened'
    libucp=$(ldconfig -p | awk '/libucp\.so\.0 / { print $NF; exit }')
    # the newer of two: it wants what the other has not
    sed s/uct_worker_create/uct_worker_better/g "$libucp" >"$DIR/mixed/libucp.so.0"
    inside LD_LIBRARY_PATH="$DIR/mixed" :
    verdict FAIL UCX "mixed: $DIR/mixed/libucp.so.0 of one, /.*/libuc.* of another .*_better"
    "$EFASIM" run --fabric "t$$" -- env LD_LIBRARY_PATH="$DIR/mixed" "$BUILD/bin/srd_info" \
        >"$OUT" 2>&1 && fail "no UCX, and status 0"
    [ "$(grep -c _better "$OUT")" = 1 ] && grep -Eq "^UCX +none: two UCX are mixed: \
$DIR/mixed/libucp.so.0 of one, /.*/libuc.* of another .*_better.*remedy: look at LD_LIBRARY_PATH" \
        "$OUT" || fail "plain srd_info: $(cat "$OUT")"
    for name in ucp uct ucs ucm; do
        cp "$(dirname "$libucp")/lib$name.so.0" "$DIR/unknown/" || exit 1
    done
    elf_resize "$DIR/unknown/libuct.so.0" uct_tcp_component || fail "not resized"
    inside LD_LIBRARY_PATH="$DIR/unknown" :
    verdict FAIL UCX 'uct_tcp_component has 8 bytes where .*use a release'
}

loading() {
    clean_environment
    [ ! -e "$("$BUILD/bin/srd_info" --help >/dev/null; \
        sed -n 's/^libdir = //p' "$BUILD/Makefile")/ucx/libuct_srd.so.0" ] ||
        skip_here "the module is installed on this machine"
    mkdir -p "$DIR/bin"
    cp "$BUILD/bin/srd_info" "$DIR/bin/"
    INFO=$DIR/bin/srd_info inside :
    verdict FAIL loading 'is not beside this program'
}

# ud was asked for, and cannot be had.
transport_ud() {
    clean_environment
    SIM=(--fail-command create-qp:1)
    inside UCX_TLS=ud,tcp :
    verdict FAIL transport 'UCX cannot use ud: .*no UD queue pair'
}

# UCX has an srd of its own: it is set aside, or ours stays out.
transport() {
    clean_environment
    ucx_with_standin "$DIR"
    export INTREE_SRD=1
    inside LD_LIBRARY_PATH="$DIR" :
    ! grep -E '^(warn|FAIL|skip)' "$OUT" || fail "not set aside"
    export UCX_EFA_CLAIM=n
    inside LD_LIBRARY_PATH="$DIR" :
    verdict FAIL transport "UCX's own srd in .* unset UCX_EFA_CLAIM"
    inside LD_LIBRARY_PATH="$DIR" UCX_TLS=ud :
    verdict FAIL transport "cannot use ud: .*UCX's own srd in .*unset"
}

selection() {
    clean_environment
    local tls
    for tls in tcp tcp,sm '^srd,ud' self,sm; do
        inside UCX_TLS="$tls" :
        verdict FAIL selection "UCX_TLS=${tls/^/.} leaves srd and ud out"
    done
    for tls in ud ud,tcp,sm '\ud' '^srd'; do
        inside UCX_TLS="$tls" :
        ! grep -E '^(warn|FAIL|skip)' "$OUT" || fail "UCX_TLS=$tls is well"
        grep -Eq '^ok +transport +UCX has ud and srd, from ' "$OUT" &&
            grep -Eq '^ok +selection .* takes ud on rdmap0s6.*UCX_TLS=srd,sm,self' "$OUT" &&
            grep -Eq '^ok +message +.*, over ud, arrived' "$OUT" ||
            fail "UCX_TLS=$tls: ud is not what is told of"
    done
    for tls in srd srd,sm,self all '^sm' srd,tcp srd,ud; do
        inside UCX_TLS="$tls" :
        ! grep -E '^(warn|FAIL|skip)' "$OUT" || fail "UCX_TLS=$tls is well"
        grep -Eq '^ok +message +.*, over srd, arrived' "$OUT" ||
            fail "UCX_TLS=$tls: srd is not what is told of"
    done
    inside UCX_NET_DEVICES=eth9 :
    verdict FAIL selection 'UCX_NET_DEVICES=eth9 leaves out rdmap0s6'
    inside UCX_NET_DEVICES=rdmap0s6:2 :
    verdict FAIL selection 'UCX_NET_DEVICES=rdmap0s6:2: an EFA has one port'
    inside UCX_NET_DEVICES=eth9,rdmap0s6:1 :
    ! grep -E '^(warn|FAIL|skip)' "$OUT" || fail "the device is in the list"
}

# The effect of a security group: sends get no answer.
message() {
    clean_environment
    SIM=(--inject send:15:1000)
    inside :
    verdict FAIL message 'through the device to itself, over srd, failed'
    grep -A 1 '^FAIL  message' "$OUT" | grep -q 'security group' ||
        fail "no security group in the remedy"
    SIM=(--loss 1) # UD is not told of what is lost
    inside UCX_TLS=ud :
    verdict FAIL message 'through the device to itself, over ud, failed'
    grep -A 1 '^FAIL  message' "$OUT" | grep -q 'security group.*UCX_TLS=srd' ||
        fail "no security group in ud's remedy"
}

open_mpi() {
    clean_environment
    mkdir -p "$DIR/bin" "$DIR/root/etc/openmpi" "$DIR/root/proc" "$DIR/home"
    cp /proc/meminfo "$DIR/root/proc/"
    printf '#!/bin/sh\necho "                 MCA pml: %s (MCA v2.1.0)"\n' ob1 \
        >"$DIR/bin/ompi_info"
    chmod +x "$DIR/bin/ompi_info"
    local path=$DIR/bin:$PATH
    local mpi=("${INFO_MPI[@]}")
    INFO_MPI=(HOME="$DIR/home" PATH="$path")
    inside : --sysroot="$DIR/root"
    verdict FAIL 'Open MPI' 'has no pml ucx'
    sed -i 's/ob1/ucx/' "$DIR/bin/ompi_info"
    inside : --sysroot="$DIR/root"
    ! grep -E '^(warn|FAIL)' "$OUT" || fail "nothing is set, and that is no fault"
    grep -Eq '^ok +Open MPI +takes the EFA with srdrun .* --mca pml ucx' "$OUT" || fail "no note"
    inside OMPI_MCA_pml_ucx_tls=rc_verbs OMPI_MCA_pml_ucx_devices=any : \
        --sysroot="$DIR/root"
    verdict warn 'Open MPI' 'pml_ucx_tls=rc_verbs'
    # it compares whole names
    inside UCX_TLS=ud OMPI_MCA_pml_ucx_tls=rc_verbs,ud_verbs \
        OMPI_MCA_pml_ucx_devices=any : --sysroot="$DIR/root"
    verdict warn 'Open MPI' 'pml_ucx_tls=rc_verbs,ud_verbs'
    inside UCX_TLS=ud OMPI_MCA_pml_ucx_tls=rc_verbs,ud \
        OMPI_MCA_pml_ucx_devices=any : --sysroot="$DIR/root"
    ! grep -E '^(warn|FAIL)' "$OUT" || fail "ud is in the list"
    inside "${mpi[@]}" OMPI_MCA_pml=ob1 : --sysroot="$DIR/root"
    verdict warn 'Open MPI' 'pml=ob1'
    printf '# a comment\npml_ucx_tls = any\npml_ucx_devices=any\n' \
        >"$DIR/root/etc/openmpi/openmpi-mca-params.conf"
    inside : --sysroot="$DIR/root"
    ! grep -E '^(warn|FAIL)' "$OUT" || fail "the system's file was not read"
    mkdir -p "$DIR/home/.openmpi"
    echo 'pml_ucx_devices = mlx5_0:1' >"$DIR/home/.openmpi/mca-params.conf"
    inside : --sysroot="$DIR/root"
    verdict warn 'Open MPI' 'pml_ucx_devices=mlx5_0:1'
    echo $'pml = ob1\e[2J' >"$DIR/home/.openmpi/mca-params.conf" # a terminal's command
    inside : --sysroot="$DIR/root"
    verdict warn 'Open MPI' 'pml=ob1\?\[2J'
    ln -sf /dev/zero "$DIR/home/.openmpi/mca-params.conf"
    inside : --sysroot="$DIR/root"
    ! grep -E '^(warn|FAIL)' "$OUT" || fail "what never ends is no file"
}

# json OPTION... : KEY...: with --json - nothing but JSON, which has these keys.
json() {
    local options=()
    while [ "$1" != : ]; do options+=("$1"); shift; done
    shift
    "$EFASIM" run --fabric "t$$" -- env "${INFO_MPI[@]}" "$BUILD/bin/srd_info" \
        "${options[@]}" --json - >"$OUT" || fail "${options[*]}: status $?"
    python3 -c 'import json, sys
told = json.load(open(sys.argv[1]))
missing = set(sys.argv[2:]) - set(told)
sys.exit(f"{missing} not in {sorted(told)}" if missing else 0)' "$OUT" "$@" ||
        fail "${options[*]}"
}

all_json() {
    clean_environment
    need python3
    json : devices ucx module transports to_other_hosts gpu_memory
    json --check : checks ok warn fail skip
    json --plan --ranks 2 --hosts 2 : ranks needs fits short
    json --selftest --only latency : differ same facts measured
    UCX_TLS=srd "$EFASIM" run --fabric "t$$" -- "$BUILD/bin/srd_info" \
        --json "$OUT.json" >"$OUT" || fail "to a file: status $?"
    grep -q '^device rdmap0s6' "$OUT" || fail "to a file: no text"
    python3 -c 'import json, sys
told = json.load(open(sys.argv[1]))
sys.exit(told["to_other_hosts"]["takes"] != ["srd on rdmap0s6"] or
         told["devices"][0]["message_bytes"] != 8928 or
         told["transports"][0] != {"name": "srd", "usable": True, "error": None})
' "$OUT.json" || fail "$(cat "$OUT.json")"
    "$BUILD/bin/srd_info" --check --json "$DIR/none/x" >"$OUT" 2>&1
    [ $? = 2 ] && grep -q 'json=.*: No such file.*name a file' "$OUT" ||
        fail "a file that cannot be made"
    "$BUILD/bin/srd_info" --json /dev/full >/dev/null 2>"$OUT" && fail "full: status 0"
    grep -q 'not all could be written' "$OUT" || fail "full: not said"
}

# README's lines for a device, to the letter, at a terminal.
page_readme() {
    need ucx_perftest script
    clean_environment
    page_block README.md '^On this machine, without an EFA' >"$OUT.lines"
    at_least "lines" "$(grep -c . "$OUT.lines")" 4
    sed -i "s,\$PWD/build,$BUILD," "$OUT.lines"
    echo 'wait $!' >>"$OUT.lines"
    script -qec "bash -eum '$OUT.lines'" /dev/null >"$OUT" 2>&1 || fail "status $?"
    cat "$OUT"
    grep -Eq '^ok +message ' "$OUT" || fail "no message"
    grep -Eq '^Final: +10000 ' "$OUT" || fail "no result of ucx_perftest"
}

suite_run() {
    check info_all_ok 30 all_ok
    check info_map 30 map_of
    check info_counters 30 counters
    check info_prometheus 30 prometheus
    check info_habits 30 habits
    check info_page_variables 30 page_variables
    check info_shows 30 shows
    check info_places 30 places
    check info_gpus_near 30 gpus_near
    check info_device 30 device
    check info_device_share 30 device_share
    check info_libraries 30 libraries
    check info_provider 30 provider
    check info_locked_memory 30 locked_memory
    check info_open 30 open_device
    check info_no_rdma 30 no_rdma
    check info_system 30 system
    check info_ucx 30 ucx
    check info_loading 30 loading
    check info_transport 30 transport
    check info_transport_ud 30 transport_ud
    check info_python 60 python
    at_once 2 # the next one waits for a Python that hangs
    ci && check info_python_odd 60 python_odd
    check info_selection 60 selection
    check info_message 60 message
    check info_open_mpi 30 open_mpi
    check info_json 60 all_json
    at_once 3 # they wait, mostly
    check top_shows 60 top_shows
    ci && check top_hostile 90 top_hostile
    ci && check top_many 45 top_many
    ci && check top_network 60 top_network
    check top_rnr 30 top_rnr
    check top_again 60 top_again
    ci && check top_rma 30 top_rma
    ci && check top_off 30 top_off
    ci && check top_keys 60 top_keys
    check top_python 60 top_python
    ci && check top_limit 30 top_limit
    ci && check top_ud 30 top_ud
    at_once 1
    alone_begin
    ci && alone top_worst 120 top_worst
    alone_end
    check info_page_readme 60 page_readme
}

suite_main info "$@"

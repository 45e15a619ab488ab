#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Linux's own efa driver as the judge: it runs in a virtual machine (QEMU, Debian
# sid's kernel) over efapci, the emulated device as a PCI function. Any warning
# of the kernel fails a check.
# usage: suite_kernel.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
set -u

# in_guest SCRIPT [OPTION of vm.sh...]: runs test/kernel/SCRIPT there. Its lines
# come to standard output, the machine's logs beside the check's.
in_guest() {
    local script=$1 status=0
    shift
    mkdir -p "$CHECK_LOG.guest"
    echo "$BUILD" >"$CHECK_LOG.guest/build"
    "$TEST_DIR/kernel/vm.sh" --build "$BUILD" --keep "$CHECK_LOG.guest" \
        --file "$TEST_DIR/kernel/guest_lib.sh" \
        --file "$TEST_DIR/kernel/$script" --file "$CHECK_LOG.guest/build" \
        "$@" -- "bash /srd/$script" || status=$?
    [ "$status" != "$SKIPPED" ] || skip_here "no virtual machine can be had"
    [ "$status" = 0 ] || fail "the guest: status $status"
}

# The guest's parts, which the other checks share: downloads, where none is cached.
parts() {
    local status=0
    "$TEST_DIR/kernel/vm.sh" --build "$BUILD" --make || status=$?
    [ "$status" != "$SKIPPED" ] || skip_here "no virtual machine can be had"
    [ "$status" = 0 ] || fail "status $status"
}

# guest_checks SCRIPT LEAST [OPTION...]: each line "FAIL ..." is a fault; so many
# lines "ok ..." there must be.
guest_checks() {
    local script=$1 least=$2
    shift 2
    in_guest "$script" "$@" | tee "$CHECK_LOG.out"
    [ "${PIPESTATUS[0]}" != "$SKIPPED" ] || exit "$SKIPPED"
    [ "${PIPESTATUS[0]}" = 0 ] || exit 1
    ! grep '^FAIL' "$CHECK_LOG.out" || fail "see above"
    at_least "checks in the guest" "$(grep -c '^ok ' "$CHECK_LOG.out")" "$least"
    note "$(grep '^ok ' "$CHECK_LOG.out" | sed 's/^ok //' | xargs)"
}

# answers LAST FILE [OPTION of vm.sh]: the probe under the kernel and under efasim,
# on efa0 to efaLAST: the answers are equal, but for a short list. FILE keeps the
# kernel's.
answers() {
    local last=$1 file=$BUILD/kernel/$2 i functions=()
    for i in $(seq 0 "$last"); do
        functions+=(--function "efa$i")
    done
    rm -f "$file"
    in_guest guest_answers.sh "${functions[@]}" "${@:3}" >"$CHECK_LOG.raw" ||
        { local status=$?; cat "$CHECK_LOG.raw"; exit "$status"; }
    [ "$(grep -c '^probe status 0' "$CHECK_LOG.raw")" = $((last + 1)) ] ||
        fail "the probe did not end well in the guest"
    answers_of "$CHECK_LOG.raw" >"$file"
    for i in $(seq 0 "$last"); do
        echo "probe efa$i"
        probe_here "efa$i" || fail "the probe under efasim: status $?"
    done | answers_of - >"$CHECK_LOG.efasim"
    case " $* " in
    *' --next '*) ;;
    *) sed -i '/ completion counter/d' "$file" "$CHECK_LOG.efasim" ;; # since 7.3
    esac
    compare rest "$file" "$CHECK_LOG.efasim" || exit 1
}

# compare PART KERNEL EFASIM: huge pages are asked about by a check of their own.
compare() {
    local range='/ huge pages, one: /,/ huge read-only, to be written: /' file
    for file in "$2" "$3"; do
        if [ "$1" = huge ]; then
            sed -n "${range}p" "$file"
        else
            sed "${range}d" "$file"
        fi >"$file.$1"
    done
    "$TEST_DIR/kernel/probe_compare.py" --part "$1" "$2.$1" "$3.$1" \
        "$TEST_DIR/kernel/allowed.txt"
}

# The same of huge pages, which this machine lends for it.
huge() {
    local pages=/proc/sys/vm/nr_hugepages before i
    [ -s "$BUILD/kernel/answers" ] || skip_here \
        "no virtual machine can be had: no answers of the kernel"
    before=$(<"$pages")
    # shellcheck disable=SC2064 # of now
    trap "echo $before >$pages" EXIT
    { echo $((before + 16)) >"$pages"; } 2>/dev/null
    [ "$(awk '/HugePages_Free/ { print $2 }' /proc/meminfo)" -ge 8 ] ||
        skip_here "this kernel gives no huge pages"
    for i in 0 1 2 3; do
        echo "probe efa$i"
        probe_here "efa$i" huge || fail "the probe: status $?"
    done | answers_of - >"$CHECK_LOG.efasim"
    compare huge "$BUILD/kernel/answers" "$CHECK_LOG.efasim" || exit 1
}

# probe_here GENERATION [GROUP]: under efasim, with the programs that the guest has
probe_here() {
    "$TEST_DIR/../contrib/ci/chroot.sh" --bind "$BUILD" sid -- \
        "$BUILD/bin/efasim" run --comp-vectors 2 --memlock 1 --device "$1" -- \
        "$BUILD/test/kernel/probe" rdmap0s6 "${@:2}" 2>/dev/null
}

# answers_of FILE: with the generation before each question
answers_of() {
    awk '/^probe efa/ { name = $2; next } /^probe status/ { next }
        { print name " " $0 }' "$1"
}

faults() {
    guest_checks guest_faults.sh 6 --function efa2 --function efa2 \
        --efapci --loss=0.2
}

# Two guests on one fabric. In the middle their device stands still for 6 s, so
# that each waits for an answer of its, and then one guest for 10 s: all messages
# arrive, once, at both.
guests() {
    local work served first second machine status=0 messages=4000
    ! full || messages=30000
    [ -x "$BUILD/test/kernel/far" ] || fail "test/kernel/far is not built"
    work=$(mktemp -d "$BUILD/kernel/guests.XXXXXX") || exit 1
    mkdir "$work/a" "$work/b"
    "$BUILD/bin/efapci" --counters "efa1:$work/a/0" "efa1:$work/b/0" \
        >"$CHECK_LOG.efapci" 2>&1 &
    served=$!
    # shellcheck disable=SC2064 # now
    trap "kill $served; wait $served; rm -rf '$work'" EXIT
    wait_until "$served" test -S "$work/b/0" || fail "efapci did not start"
    guests_one "$work/a" 1 $messages >"$CHECK_LOG.a" 2>&1 &
    first=$!
    guests_one "$work/b" 0 $messages >"$CHECK_LOG.b" 2>&1 &
    second=$!
    if wait_until "$first" grep -q 'far under way' "$CHECK_LOG.a" &&
        wait_until "$second" grep -q 'far under way' "$CHECK_LOG.b"; then
        machine=$(guests_machine "$work/b/0") || fail "no machine to be stopped"
        guests_stop "$served" 6
        guests_stop "$machine" 10
        ! grep 'far sent' "$CHECK_LOG.a" "$CHECK_LOG.b" ||
            fail "it was over before the machine was stopped"
    fi
    wait "$first" || status=$?
    wait "$second" || status=$?
    cat "$CHECK_LOG.a" "$CHECK_LOG.b"
    [ "$status" != "$SKIPPED" ] || exit "$SKIPPED"
    [ "$status" = 0 ] || fail "a guest: status $status"
    [ "$(cat "$CHECK_LOG.a" "$CHECK_LOG.b" |
        grep -c "far sent $messages arrived $messages wrong 0")" = 2 ] ||
        fail "messages are missing"
}

# guests_stop PID SECONDS
guests_stop() {
    kill -STOP "$1"
    sleep "$2"
    kill -CONT "$1"
}

# guests_one FOLDER PEER MESSAGES: a machine with the one function there
guests_one() {
    "$TEST_DIR/kernel/vm.sh" --build "$BUILD" --sockets "$1" --function efa1 \
        --keep "$CHECK_LOG.guest-$(basename "$1")" -- \
        "$BUILD/test/kernel/far" efa_0 "$2" "$3"
}

# guests_machine SOCKET: the process of the machine that has it
guests_machine() {
    local pid
    for pid in /proc/[0-9]*; do
        if [ -O "$pid" ] && [ "$(cat "$pid/comm" 2>/dev/null)" = qemu-system-x86 ] &&
            tr '\0' ' ' <"$pid/cmdline" | grep -qF "$1"; then
            echo "${pid#/proc/}"
            return
        fi
    done
    return 1
}

suite_run() {
    local long=150
    ! full || long=400
    CHECKS='' check parts 420 parts
    check answers 240 answers 3 answers
    # efa4 has no driver before Linux 7.3
    check answers_next 300 answers 4 answers.next --next
    alone huge 60 huge
    check tools 300 guest_checks guest_tools.sh 21 --function efa2 \
        --function efa0 --function efa1 --function efa3 --function efa2
    check faults 150 faults
    check guests $long guests
}

suite_main kernel "$@"

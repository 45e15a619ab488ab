# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
#
# Which checks run beside which: of one suite, and of the suites that test.sh runs
# at the same time, which share the folder $SRD_TURNS. Sourced by lib.sh.

# alone NAME SECONDS COMMAND [ARG...]: a check that measures time or shares, or
# changes the machine for others (huge pages): no other check runs beside it.
alone() {
    local suite_alone=yes
    checks_wait 0
    check "$@"
    checks_wait 0
}

# alone_begin, alone_end: checks between them are alone, and the other suite is waited
# for once, not for each.
alone_begin() {
    checks_wait 0
    suite_turns=${SRD_TURNS-}
    [ -n "$suite_turns" ] || return 0
    suite_alone=yes turn_take 9>>"$SRD_TURNS/gate" || exit 1
    unset SRD_TURNS
}

alone_end() {
    checks_wait 0
    [ -n "$suite_turns" ] || return 0
    exec 8>&-
    export SRD_TURNS=$suite_turns
}

# turn_take: waits until this check may run beside those of other suites, or, if
# it is to be alone, until none of them runs. The turn, a lock on descriptor 8,
# ends with this process. Descriptor 9 is the gate to it: nobody starts while a
# check waits to be alone.
turn_take() {
    exec 8>>"$SRD_TURNS/turn"
    flock 9 && if [ -n "${suite_alone-}" ]; then flock 8; else flock -s 8; fi
}

# slot_take: waits until this check has one of the places that the checks of all
# suites share, a lock on descriptor 7 that ends with this process.
slot_take() {
    local i
    while :; do
        for ((i = 0; i < SRD_SLOTS; i++)); do
            exec 7>>"$SRD_TURNS/slot$i"
            ! flock -n 7 || return 0
        done
        limit_sleep 0.1
    done
}

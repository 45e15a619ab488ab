# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Checks inside another release of Debian. Sourced, after lib.sh.

CHROOT=$TEST_DIR/../contrib/ci/chroot.sh

# system_made RELEASE: makes it where it is not yet; prints what it has.
system_made() {
    "$CHROOT" "$1" || exit
    "$CHROOT" "$1" -- dpkg-query -W libucx0 libibverbs1 libfabric1 \
        openmpi-bin perftest
}

# in_system RELEASE SUITE FUNCTION [ARG...]: a function of suite SUITE, as one
# of its checks would call it, there, with what SYSTEM_BINDS asks for.
SYSTEM_BINDS=()
in_system() {
    local release=$1 suite=$2
    shift 2
    exec "$CHROOT" --bind "$BUILD" "${SYSTEM_BINDS[@]}" "$release" -- \
        "$TEST_DIR/suite_$suite.sh" --call "$suite" "$BUILD" "$PROFILE" \
        "$CHECK_LOG" "$@"
}

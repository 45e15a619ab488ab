# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Checks inside another release of Debian. Sourced, after lib.sh.

CHROOT=$TEST_DIR/../contrib/ci/chroot.sh

# system_made RELEASE: makes it where it is not yet; prints what it has. Its users, too, reach
# what is in it, and this tree, whatever the umask of who called.
system_made() {
    "$CHROOT" "$1" || exit
    "$CHROOT" "$1" -- dpkg-query -W libucx0 libibverbs1 libfabric1 \
        openmpi-bin perftest || exit
    (umask 077 && "$CHROOT" "$1" -- setpriv --reuid 65534 --clear-groups \
        cat /etc/hosts "$TEST_DIR/../README.md") >"$CHECK_LOG.users" 2>&1 ||
        fail "a user there: $(tail -n 2 "$CHECK_LOG.users")"
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

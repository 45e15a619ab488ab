#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The README's commands as others meet them: on a machine where nothing was
# installed by hand, as a user with sudo who may not make namespaces, on one CPU,
# and on the CPU of another maker. See usage().

set -u
program=anyone.sh
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"

usage() {
    cat <<END
Usage: contrib/ci/anyone.sh bare 12|13|sid
       contrib/ci/anyone.sh user 12|13|sid
       contrib/ci/anyone.sh one-cpu [SUITE...]
       contrib/ci/anyone.sh other-cpu [SUITE...]

  bare       a clone of what is committed here, in Debian's smallest system of
             that release (contrib/ci/chroot.sh --bare): quickstart.sh, test.sh
  user       the same as a user who has sudo; user namespaces are refused there
  one-cpu    the quick suites, all or those named, on one CPU
  other-cpu  the quick suites, ucp, mpi and load or those named, with this CPU
             taken for one of another maker, and with other speeds of copying

Status 0 if all passed.
END
}

# in_clone RELEASE COMMAND...: in a bare system, in a clone of this tree, which is mounted
# there: in this machine nobody else enters the folder that it is in.
in_clone() {
    local release=$1 clone
    shift
    clone=$(mktemp -d "${TMPDIR:-/var/tmp}/srd-anyone.XXXXXX") || exit 1
    # shellcheck disable=SC2064 # now, not then
    trap "rm -rf '$clone' 2>/dev/null || sudo -n rm -rf '$clone'" EXIT
    trap 'exit 130' INT TERM
    git clone -q "$top" "$clone/tree" || die "no clone of $top"
    "$clone/tree/contrib/ci/chroot.sh" --bare "$release" -- "$@"
}

# quick SUITE...: the suites on what is built.
quick() {
    "$top/contrib/test.sh" --quick "$@"
}

one_cpu() {
    local first
    first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
    "$top/contrib/test.sh" --build && taskset -c "$first" \
        "$top/contrib/test.sh" --quick --no-install "$@"
}

other_cpu() {
    local other=$top/build/other_cpu.so speed status=0
    [ $# -gt 0 ] || set -- uct ucp mpi load
    "$top/contrib/test.sh" --build || exit 1
    "${CC:-cc}" -shared -fPIC -o "$other" "$top/test/apps/other_cpu.c" -ldl ||
        exit 1
    say "UCX takes the CPU for another maker's"
    LD_PRELOAD=$other ucx_info -s | grep -i 'cpu vendor' || exit 1
    LD_PRELOAD=$other quick "$@" || status=1
    # AMD's, Intel's, and one that UCX could measure
    for speed in 5008 5800 12000; do
        say "UCX_BCOPY_BW=${speed}MBs"
        UCX_BCOPY_BW=${speed}MBs quick "$@" || status=1
    done
    exit $status
}

case ${1-} in
bare)
    in_clone "${2:?which release?}" sh -c \
        './contrib/quickstart.sh && ./contrib/test.sh'
    ;;
user)
    # A process in a chroot may not make user namespaces. The user's number is one that
    # systemd says nobody uses: who has it in this machine could write to the clone.
    # shellcheck disable=SC2016 # for the shell in there
    in_clone "${2:?which release?}" sh -c '
        apt-get -q update && apt-get -q -y install sudo || exit
        useradd -l -m -u 2100000000 anyone && chown -R anyone . &&
            echo "anyone ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/anyone || exit
        exec su anyone -c "./contrib/quickstart.sh && ./contrib/test.sh"'
    ;;
one-cpu) shift && one_cpu "$@" ;;
other-cpu) shift && other_cpu "$@" ;;
-h | --help)
    usage
    ;;
*)
    usage >&2
    exit 2
    ;;
esac

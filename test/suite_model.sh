#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Exhaustive exploration of the protocol core: two peers, small windows (P8).
# A run that does not reach every state within its bounds has failed. Two run at
# the same time; the largest need 4 GiB together.
# usage: test/suite_model.sh BUILD_DIR [quick|ci|full]
profile=${2:-ci}

# One line of the list below, as a check of its own.
if [ "$profile" = one ]; then
    model=$1/test/flow_model
    limit=$3
    shift 3
    start=$(date +%s)
    # of CPU: other programs may have the machine, too
    # shellcheck disable=SC3045 # Debian's sh has it
    out=$(ulimit -t "$limit" && exec "$model" "$@" 2>&1)
    status=$?
    case $status$out in
    0*", all of them") echo "ok $out, $(($(date +%s) - start)) s" ;;
    *) echo "FAIL flow_model $*: exit status $status; $out" ;;
    esac
    exit
fi

# SECONDS [--eager] [--prove] [--recalls N] [--buffers N]
# PROFILE WINDOW MESSAGES MESSAGES LOSSES REPEATS;
# first, that states which count as one have one future
list() {
    cat <<END
60 --prove srd 2 2 0 1 1
60 --prove srd 1 1 1 1 0
60 --prove --eager srd 2 2 2 1 0
60 --prove ud 2 2 0 1 1
60 --prove ud 1 1 1 1 0
60 --prove --eager ud 1 1 1 1 1
60 --prove --eager ud 4 4 0 0 1
60 --recalls 3 --prove srd 2 3 0 0 0
60 --recalls 2 --buffers 1 --prove srd 4 5 0 0 0
60 --recalls 2 --buffers 1 --prove srd 4 3 0 1 0
60 --recalls 1 --buffers 1 --prove ud 4 3 0 1 0
60 --recalls 2 srd 4 6 0 1 0
60 --recalls 2 --buffers 1 srd 4 6 0 1 0
60 --recalls 1 --buffers 2 --eager srd 4 3 3 0 0
60 --recalls 1 --buffers 1 --eager ud 4 3 1 1 0
60 srd 4 6 0 1 1
60 srd 2 2 2 0 0
60 --eager srd 4 3 3 1 0
60 --eager srd 2 2 2 1 1
60 ud 4 6 0 1 0
60 ud 2 2 0 2 2
60 ud 2 1 1 1 1
60 --eager ud 1 1 1 2 2
60 --eager ud 4 3 3 1 0
60 --eager ud 2 2 2 1 1
END
    if [ "$profile" = full ]; then
        cat <<END
3400 --eager ud 4 6 0 2 2
3400 --eager ud 4 3 3 2 2
3400 --eager srd 4 3 3 2 2
3400 srd 4 6 0 2 2
3400 srd 4 3 3 0 0
3400 --eager srd 4 6 6 0 0
3400 --prove srd 1 1 1 1 1
3400 --prove --eager ud 2 2 2 1 1
3400 --prove ud 2 2 0 2 2
3400 --recalls 2 --eager srd 4 6 2 0 0
3400 --recalls 3 --buffers 1 srd 4 6 0 1 1
3400 --recalls 2 --buffers 1 ud 4 5 0 1 1
END
    fi
}

work=$(mktemp -d) || exit 1
list | xargs -P 2 -L 1 sh "$0" "$1" one | tee "$work/lines"
passed=$(grep -c '^ok ' "$work/lines")
failed=$(($(list | wc -l) - passed))
rm -rf "$work"
echo "suite model: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Exhaustive exploration of the protocol core: two or three peers, one flow or
# two each way, small windows (P8).
# A run that does not reach every state within its bounds has failed. Two run at
# the same time; the largest need 4 GiB together.
# usage: test/suite_model.sh BUILD_DIR [quick|ci|full]

# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"

explore() {
    "$BUILD/test/flow_model" "$@" || exit 1
    case $(tail -n 1 "$CHECK_LOG") in
    *", all of them") note "$(tail -n 1 "$CHECK_LOG")" ;;
    *) fail "it did not reach every state" ;;
    esac
}

# SECONDS [--eager] [--prove] [--recalls N] [--buffers N] [--lap N] [--errors N]
# [--pings N] [--held N] [--twin A B | --third A B | [--key 1] --reborn A B]
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
60 --recalls 2 --buffers 1 srd 4 6 0 1 0
60 --recalls 1 --buffers 2 --eager srd 4 3 3 0 0
60 --recalls 1 --buffers 1 --eager ud 4 3 1 1 0
60 --lap 2 --prove srd 1 3 1 0 0
60 --lap 2 srd 1 6 0 0 0
60 --lap 2 --eager srd 1 5 2 1 0
60 --lap 4 --recalls 1 --eager srd 4 4 2 0 0
60 --errors 1 --prove --eager srd 1 1 1 0 0
60 --errors 1 --prove --eager ud 1 1 1 1 0
60 --errors 2 --eager ud 1 1 1 1 0
60 --twin 1 0 --prove --eager srd 1 1 0 1 0
60 --third 0 1 --prove --eager srd 1 0 1 1 0
60 --reborn 0 1 --prove --eager srd 1 0 1 1 0
60 --reborn 0 1 --prove --eager ud 1 0 1 1 0
60 --key 1 --reborn 0 1 --prove srd 1 0 2 0 0
60 --pings 2 --prove srd 1 1 1 0 0
60 --pings 2 --eager ud 1 2 1 1 0
60 --held 3 --prove ud 2 2 0 1 0
60 srd 4 6 0 1 1
60 srd 2 2 2 0 0
60 --eager srd 4 3 3 1 0
60 ud 2 2 0 2 2
60 ud 2 1 1 1 1
60 --eager ud 1 1 1 2 2
60 --eager ud 4 3 3 1 0
60 --eager ud 2 2 2 1 1
END
    ! ci || cat <<END
60 --held 2 --eager ud 2 3 2 1 0
60 ud 4 6 0 1 0
60 --recalls 2 srd 4 6 0 1 0
60 --eager srd 2 2 2 1 1
60 --errors 1 srd 1 1 1 0 0
60 --errors 2 --eager srd 1 1 1 0 0
60 --twin 1 0 --prove --eager ud 1 1 0 1 0
60 --twin 1 0 --buffers 2 --eager srd 1 1 1 0 0
60 --twin 2 0 --buffers 2 --eager srd 2 2 0 0 0
60 --twin 1 0 --recalls 1 --buffers 1 --eager srd 4 2 0 0 0
60 --twin 1 0 --errors 1 --prove --eager srd 1 1 0 0 0
60 --twin 1 1 --errors 1 --eager ud 1 1 0 0 0
60 --twin 1 0 --pings 1 --eager srd 1 1 0 1 0
60 --twin 1 0 --held 2 --prove --eager ud 1 1 0 1 0
60 --twin 1 1 --eager ud 1 1 1 1 0
60 --third 0 2 --buffers 2 --prove --eager ud 2 0 2 0 0
60 --third 0 1 --recalls 1 --buffers 1 --eager srd 4 0 2 0 0
60 --third 0 1 --errors 1 --eager srd 1 0 1 0 0
60 --reborn 1 0 --errors 1 --prove --eager srd 1 1 0 0 0
60 --reborn 0 1 --errors 1 --eager srd 1 0 1 0 0
60 --reborn 1 1 --eager srd 1 0 1 0 0
60 --reborn 1 1 --eager ud 1 0 1 1 0
60 --reborn 0 1 --pings 1 --eager srd 1 1 1 0 0
60 --key 1 --reborn 1 1 --eager srd 1 0 1 0 0
60 --key 1 --reborn 1 1 --eager ud 1 0 1 1 0
END
    ! full || cat <<END
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
3400 --lap 2 srd 1 4 3 0 0
3400 --errors 1 --eager srd 2 2 2 0 0
3400 --twin 1 1 --eager srd 1 1 1 0 0
3400 --twin 2 0 --recalls 1 --buffers 1 --eager srd 4 2 0 0 0
3400 --twin 1 0 --errors 1 --eager srd 1 1 1 0 0
3400 --twin 1 1 --errors 1 --eager ud 1 1 1 1 0
3400 --third 0 3 --buffers 2 --eager srd 4 0 3 0 0
3400 --third 0 2 --recalls 1 --buffers 2 --eager srd 2 0 2 0 0
3400 --third 0 2 --buffers 2 srd 2 0 2 0 0
3400 --reborn 1 1 --eager srd 1 1 1 0 0
3400 --reborn 1 1 --errors 1 --eager srd 1 0 1 0 0
3400 --key 1 --reborn 1 1 --eager srd 1 1 1 0 0
3400 --errors 2 --eager srd 1 2 1 0 0
3400 --errors 2 srd 1 1 1 0 0
3400 --pings 1 srd 2 2 1 1 0
3400 --held 2 ud 2 2 1 1 0
END
}

suite_run() {
    local limit arguments name
    at_once 2
    while read -r limit arguments; do
        name=${arguments//--/}
        # shellcheck disable=SC2086 # several words
        check "${name// /_}" "$limit" explore $arguments
    done <<<"$(list)"
}

suite_main model "$@"

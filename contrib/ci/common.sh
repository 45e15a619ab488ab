# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# The common part of quickstart.sh and test.sh: messages, and steps that show how long
# they take. Sourced; the caller sets program=NAME and top=TREE first. They call Python
# with -I: it would run modules of the folder that it is called in, which may be others'.

umask go-w # what is built is executed

say() {
    printf '== %s\n' "$*"
}

warn() {
    printf '%s: %s\n' "$program" "$*" >&2
}

die() {
    warn "$*"
    exit 1
}

# step_line NAME SECONDS LOG: how far a step is: of make a bar, where step_total says
# how many things there are to make, and the last line that the command printed.
step_line() {
    local name=$1 seconds=$2 log=$3 made bar='' last
    last=$(tail -n 1 "$log" | tr -d '\r')
    if [ "${step_total:-0}" -gt 0 ]; then
        made=$(grep -cE '^  [A-Z]+ ' "$log")
        bar=$(printf '%*s' $((made * 20 / step_total)) '')
        bar=$(printf '[%-20.20s] %d of %d ' "${bar// /#}" "$made" "$step_total")
        last=${last##*[ /]}
    fi
    printf '   %-14s %4d s  %s%.*s' "$name" "$seconds" "$bar" \
        $((58 - ${#bar})) "$last"
}

# step NAME COMMAND...: runs COMMAND with its output in a log and says how long it
# took; meanwhile how far it is, on a terminal all the time, else every 15 s. A
# failure shows the log's end.
step() {
    local name=$1 start=$SECONDS log pid status=0 waited=0 every=75 ends='\n'
    shift
    log=$(mktemp "${TMPDIR:-/tmp}/srd-step.XXXXXX") || return 1
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    [ ! -t 1 ] || every=5 ends='\033[K\r'
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.2
        waited=$((waited + 1))
        if [ $((waited % every)) = 0 ]; then
            # shellcheck disable=SC2059  # escapes are meant
            printf "%s$ends" "$(step_line "$name" $((SECONDS - start)) "$log")"
        fi
    done
    wait "$pid" || status=$?
    [ ! -t 1 ] || printf '\033[K'
    if [ "$status" = 0 ]; then
        printf '   %-28s %d s\n' "$name" $((SECONDS - start))
    else
        printf '   %-28s failed with status %d after %d s; its last lines:\n' \
            "$name" "$status" $((SECONDS - start))
        tail -n 40 "$log" | sed 's/^/   | /'
    fi
    rm -f "$log"
    return "$status"
}

# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# How test.sh runs the suites: their budgets, one suite, all of them side by
# side. Sourced by test.sh after common.sh and limit.sh; it reads test.sh's
# variables (top, build, profile, strict, sanitize).
#
# A suite S is test/suite_S.sh BUILD_DIR PROFILE. It prints a line per check
# and last "suite S: P passed, F failed, S skipped"; if that line is missing,
# if the status is not 0, or if its budget of time is used up, S has failed.

suites_last_line='^suite ([a-z-]+): ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$'

# Suites that compute and start no program over the emulated device. One of them
# runs beside each suite that does.
suites_computing=' flow sim model fuzz mutants proof package tidy portable '

# Seconds a suite may take: about twice what it takes on two quiet cores, as one
# machine is half as fast as another. Where others take the CPUs it has as much
# more (contrib/ci/limit.sh).
suite_budget() {
    local budget
    case $profile:$1 in
    quick:flow | quick:package | quick:model | quick:selftest) budget=40 ;;
    quick:ucp) budget=180 ;;
    quick:uct | quick:efasim) budget=140 ;;
    quick:mutants) budget=120 ;;
    quick:*) budget=80 ;;
    ci:info) budget=180 ;;
    ci:package) budget=60 ;;
    ci:flow | ci:model | ci:load) budget=120 ;;
    ci:selftest | ci:uct) budget=300 ;;
    ci:kernel) budget=600 ;;
    ci:proof) budget=300 ;;
    ci:gpu) budget=420 ;;
    ci:mutants) budget=300 ;;
    ci:python) budget=900 ;;
    ci:efasim | ci:fuzz) budget=180 ;;
    ci:sim | ci:mpi) budget=240 ;;
    ci:ucp) budget=540 ;;
    ci:portable) budget=900 ;;
    ci:tidy | ci:matrix | ci:efasim-clients) budget=420 ;;
    ci:*) budget=600 ;;
    full:sim | full:matrix | full:efasim-clients | full:python) budget=5400 ;;
    *) budget=3600 ;;
    esac
    # Sanitized runs are two to four times slower.
    [ "$sanitize" = no ] || budget=$((budget * 3))
    echo $budget
}

# suite_untouched SUITE: succeeds, and says so in a line, if touched.txt lets a whole
# --ci leave it out.
suite_untouched() {
    local commit paths
    read -r commit paths < <(awk -v suite="$1" '$1 == suite { $1 = ""; print }' \
        "$top/contrib/ci/touched.txt")
    # shellcheck disable=SC2086 # several paths
    [ -n "$commit" ] && git -C "$top" diff --quiet "$commit" -- $paths 2>/dev/null ||
        return
    say "suite $1 is left out: its paths in contrib/ci/touched.txt are as at $commit"
}

# suite_skips_unknown SUITE LOG: the number of skips whose suite, check and
# reason test/skips.txt does not name; a line on standard error for each.
suite_skips_unknown() {
    local name reason suite check text count=0
    while IFS=: read -r name reason; do
        while read -r suite check text; do
            text=${text%%[[:space:]]*#*}
            # shellcheck disable=SC2053 # patterns
            if [[ $1 == $suite && $name == $check && $reason == *"$text"* ]]; then
                continue 2
            fi
        done < <(grep -v '^#' "$top/test/skips.txt")
        suite_failure "suite $1: the skip of $name is not in test/skips.txt:$reason"
        count=$((count + 1))
    done < <(sed -n 's/^skip //p' "$2")
    echo $count
}

# suite_failure TEXT...: said now and at the end of the run.
suite_failure() {
    warn "$*"
    echo "$*" >>"$failures"
}

# suite_failures_keep SUITE LOG: for the end of the run, where a reader of its
# last lines finds it: the last words of each check that failed.
suite_failures_keep() {
    awk -v suite="$1" '
        function tell(  i) {
            for (i = (count > 12) ? count - 12 : 0; i < count; i++)
                print lines[i]
            count = 0
        }
        /^FAIL / { tell(); print suite ": " $0; inside = 1; next }
        /^    \| / { if (inside) lines[count++] = $0; next }
        { tell(); inside = 0 }
        END { tell() }' "$2" >>"$failures"
}

# suite_run NAME LIVE: runs it and judges it; its numbers go to
# $build/suite_NAME.sum. LIVE: its lines are shown as they come, else at the end.
suite_run() {
    local suite=$1 live=$2 script=$top/test/suite_$1.sh budget start status=0
    local log=$build/suite_$1.log tail_pid='' watch_pid own=$BASHPID cpu
    if [ ! -x "$script" ]; then
        suite_failure "suite $suite: there is no test/suite_$suite.sh"
        echo 0 1 0 >"$build/suite_$suite.sum"
        return
    fi
    if [ "$sanitize" = yes ]; then
        case $suite in
        flow | uct) export ASAN_OPTIONS=$asan_base:detect_leaks=1 ;;
        *) export ASAN_OPTIONS=$asan_base:detect_leaks=0 ;;
        esac
    fi
    budget=$(suite_budget "$suite")
    say "suite $suite ($profile, at most $budget s)"
    : >"$log"
    start=$SECONDS cpu=$(limit_past "$own")
    # Not through a pipe: a process that a check left behind would hold it.
    timeout -k 10 $((budget * LIMIT_STRETCH)) "$script" "$build" "$profile" \
        >"$log" 2>&1 </dev/null &
    suite_pid=$!
    # timeout passes a signal on to everything that the suite started.
    trap 'kill "$suite_pid" 2>/dev/null; exit 130' INT TERM
    limit_watch "$suite_pid" "$budget" &
    watch_pid=$!
    if [ "$live" = yes ]; then
        tail -n +1 -s 0.2 -f --pid="$suite_pid" "$log" &
        tail_pid=$!
    fi
    wait "$suite_pid" || status=$?
    { kill "$watch_pid" && wait "$watch_pid"; } 2>/dev/null
    if [ "$live" = yes ]; then wait "$tail_pid" 2>/dev/null; else cat "$log"; fi
    # timeout made a process group: nothing of it may disturb the next suite.
    if group_end "$suite_pid"; then
        warn "suite $suite left processes behind; they were ended"
    fi
    suite_judge "$suite" "$log" "$status" "$budget" $((SECONDS - start)) \
        $((($(limit_past "$own") - cpu) / 100))
}

# suite_judge NAME LOG STATUS BUDGET SECONDS CPU-SECONDS: what its last line says
# counts only if all else agrees.
suite_judge() {
    local suite=$1 log=$2 status=$3 budget=$4 line p f s
    line=$(grep -v '^[[:space:]]*$' "$log" | tail -n 1)
    if [[ $line =~ $suites_last_line && ${BASH_REMATCH[1]} = "$suite" ]]; then
        p=${BASH_REMATCH[2]} f=${BASH_REMATCH[3]} s=${BASH_REMATCH[4]}
    else
        p=$(grep -c '^ok ' "$log") f=$(grep -c '^FAIL ' "$log")
        s=$(grep -c '^skip ' "$log")
        status=${status/#0/1}
        suite_failure "suite $suite ended without its last line, \"suite $suite: ...\""
    fi
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        suite_failure "suite $suite was ended at its budget of $budget s"
    fi
    if [ "$status" != 0 ] && [ "$f" = 0 ]; then
        suite_failure "suite $suite: exit status $status"
        f=1
    fi
    [ "$strict" = no ] || f=$((f + $(suite_skips_unknown "$suite" "$log")))
    [ "$f" = 0 ] || suite_failures_keep "$suite" "$log"
    printf '== suite %s: %d s of %d s (CPU %d s), %d passed, %d failed, %d skipped\n' \
        "$suite" "$5" "$budget" "$6" "$p" "$f" "$s"
    echo "$p $f $s" >"$build/suite_$suite.sum"
}

# suites_run NAME...: three at a time, whose checks share one place more than there
# are CPUs, as many wait more than they compute. Sets passed, failed and skipped.
suites_run() {
    local at_once=3 left=("$@") suite pid line=$SECONDS
    local -A running=()
    passed=0 failed=0 skipped=0
    [ $# -gt 1 ] || at_once=1
    SRD_SLOTS=$(($(nproc) + 1))
    export SRD_SLOTS
    mkdir -p "$build/turns" && chmod 700 "$build/turns" # no other user takes a turn
    [ $at_once = 1 ] || export SRD_TURNS=$build/turns
    trap 'kill "${!running[@]}" 2>/dev/null; wait; exit 130' INT TERM
    while [ ${#left[@]} -gt 0 ] || [ ${#running[@]} -gt 0 ]; do
        while [ ${#left[@]} -gt 0 ] && [ ${#running[@]} -lt $at_once ]; do
            suites_next "${running[@]}"
            suites_start "$suite"
        done
        sleep 0.2
        for pid in "${!running[@]}"; do
            ! kill -0 "$pid" 2>/dev/null || continue
            suites_ended "$pid"
        done
        if [ $at_once -gt 1 ] && [ $((SECONDS - line)) -ge 30 ]; then
            line=$SECONDS
            printf '   %4d s: running %s\n' "$SECONDS" "${running[*]}"
        fi
    done
}

# suites_next RUNNING...: takes a suite out of `left` into `suite`: the first that
# computes while none does, else the first that does not.
suites_next() {
    local i chosen=0 want=no name
    for name; do
        [[ $suites_computing != *" $name "* ]] || want=yes
    done
    for i in "${!left[@]}"; do
        case $want:$suites_computing in
        no:*" ${left[i]} "*) ;;
        yes:*" ${left[i]} "* | no:*) continue ;;
        esac
        chosen=$i
        break
    done
    suite=${left[chosen]}
    unset "left[chosen]"
    left=("${left[@]}")
}

# suites_start NAME: in the background, if there is such a suite. Side by side,
# its output comes in one piece at its end.
suites_start() {
    rm -f "$build/suite_$1.sum"
    if [ $at_once = 1 ]; then
        suite_run "$1" yes &
    else
        suite_run "$1" no >"$build/suite_$1.out" 2>&1 &
    fi
    running[$!]=$1
}

# suites_ended PID: adds up what the suite of this process passed and failed.
suites_ended() {
    local suite=${running[$1]} p=0 f=1 s=0
    unset "running[$1]"
    wait "$1"
    [ $at_once = 1 ] || cat "$build/suite_$suite.out"
    if [ -s "$build/suite_$suite.sum" ]; then
        read -r p f s <"$build/suite_$suite.sum"
    else
        suite_failure "suite $suite was not judged"
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

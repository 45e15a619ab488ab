#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds everything and runs the test suites. See usage() below.
#
# A suite S is test/suite_S.sh BUILD_DIR PROFILE. It prints a line per check
# and last "suite S: P passed, F failed, S skipped"; if that line is missing,
# if the status is not 0, or if its budget of time is used up, S has failed.

set -u
program=test.sh
top=$(cd "$(dirname "$0")/.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"
# shellcheck source=contrib/ci/packages.sh
. "$top/contrib/ci/packages.sh"
# shellcheck source=contrib/ci/build.sh
. "$top/contrib/ci/build.sh"
# shellcheck source=contrib/ci/limit.sh
. "$top/contrib/ci/limit.sh"

last_line='^suite ([a-z-]+): ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$'
# matrix tells what the other Debian releases have that later suites borrow from.
default_suites='flow sim model fuzz mutants matrix proof efasim efasim-clients'
default_suites="$default_suites uct ucp mpi load info selftest python gpu package"
default_suites="$default_suites portable tidy"
# What takes other systems: not for the quick profile.
not_quick='matrix proof python gpu portable'

usage() {
    cat <<END
Usage: contrib/test.sh [--ci | --full] [--build] [--sanitize] [--no-install]
                       [--in DIR] [SUITE...]

Builds in build/ (warnings are errors) and runs the test suites, all if none
is named: $default_suites.
The last line is "N passed, N failed, N skipped"; the status is 0 if none
failed. Missing packages are named and then installed (apt-get, sudo). A user
who has sudo without a password has the suites run by root.

Without SUITE or profile: the quick profile, the heart of every suite, at most
10 minutes on two cores, build included. Suites that are named run in the
profile of CI, as far as what they need is here.

  --ci          what CI runs, at most 45 minutes on two quiet cores: makes
                systems of Debian 13 and sid (contrib/ci/chroot.sh); a skip that
                test/skips.txt does not name is a failure
  --full        the same with many seeds, long runs, all releases (hours)
  --quick       the quick profile of the suites that are named
  --build       build only
  --sanitize    build in build/sanitize with AddressSanitizer and
                UndefinedBehaviorSanitizer and run the suites there
                (tidy, which looks at the release build, is left out)
  --no-install  install nothing; what is missing is named and skipped
  --in DIR      run the suites on the build in DIR as it is
END
}

# Seconds a suite may take: about twice what it takes on two quiet cores, as one
# machine is half as fast as another. Where others take the CPUs it has as much
# more (contrib/ci/limit.sh).
budget_of() {
    case $profile:$1 in
    quick:flow | quick:package | quick:info | quick:model | quick:selftest) echo 40 ;;
    quick:ucp) echo 180 ;;
    quick:uct | quick:efasim) echo 140 ;;
    quick:mutants) echo 120 ;;
    quick:*) echo 80 ;;
    ci:info) echo 60 ;;
    ci:package) echo 60 ;;
    ci:flow | ci:model | ci:load) echo 120 ;;
    ci:selftest) echo 300 ;;
    ci:proof) echo 300 ;;
    ci:gpu) echo 420 ;;
    ci:mutants) echo 300 ;;
    ci:uct | ci:python) echo 900 ;;
    ci:efasim | ci:fuzz) echo 180 ;;
    ci:sim | ci:mpi) echo 240 ;;
    ci:efasim-clients) echo 300 ;;
    ci:ucp) echo 540 ;;
    ci:portable) echo 900 ;;
    ci:tidy | ci:matrix) echo 420 ;;
    ci:*) echo 600 ;;
    full:sim | full:matrix | full:efasim-clients | full:python) echo 5400 ;;
    *) echo 3600 ;;
    esac
}

# Sanitized runs are two to four times slower.
budget_with_sanitizers() {
    local budget
    budget=$(budget_of "$1")
    [ "$sanitize" = no ] || budget=$((budget * 3))
    echo "$budget"
}

# Leaks are looked for where the program is ours (flow, uct); the other suites
# run programs that leak on purpose (bash, python3, mpirun, UCX's own). See
# contrib/ci/lsan.supp for the libraries we do not blame.
set_sanitizer_options() {
    local asan='halt_on_error=1:detect_stack_use_after_return=1'
    export SRD_SANITIZE=1
    asan_base="${ASAN_OPTIONS:+$ASAN_OPTIONS:}$asan"
    export UBSAN_OPTIONS="${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}print_stacktrace=1"
    export LSAN_OPTIONS="${LSAN_OPTIONS:+$LSAN_OPTIONS:}print_suppressions=0"
    LSAN_OPTIONS="$LSAN_OPTIONS:suppressions=$top/contrib/ci/lsan.supp"
}

# skips_unknown SUITE LOG: how many skips there are whose suite, check and reason
# test/skips.txt does not name; a line on standard error for each.
skips_unknown() {
    local name reason suite check text count=0
    while IFS=: read -r name reason; do
        while read -r suite check text; do
            text=${text%%[[:space:]]*#*}
            # shellcheck disable=SC2053 # patterns
            if [[ $1 == $suite && $name == $check && $reason == *"$text"* ]]; then
                continue 2
            fi
        done < <(grep -v '^#' "$top/test/skips.txt")
        failure "suite $1: the skip of $name is not in test/skips.txt:$reason"
        count=$((count + 1))
    done < <(sed -n 's/^skip //p' "$2")
    echo $count
}

# failure TEXT...: what is said now and at the end.
failure() {
    warn "$*"
    echo "$*" >>"$failures"
}

# failures_keep SUITE LOG: for the end, where who reads a long run's last lines
# finds it: what each check that failed said last.
failures_keep() {
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

# run_suite NAME: adds to passed, failed and skipped.
run_suite() {
    local suite=$1 script=$top/test/suite_$1.sh budget start status=0 took
    local log tail_pid watch_pid line p f s cpu
    budget=$(budget_with_sanitizers "$suite")
    say "suite $suite ($profile, at most $budget s)"
    if [ ! -x "$script" ]; then
        failure "suite $suite: there is no test/suite_$suite.sh"
        failed=$((failed + 1))
        return
    fi

    if [ "$sanitize" = yes ]; then
        case $suite in
        flow | uct) export ASAN_OPTIONS=$asan_base:detect_leaks=1 ;;
        *) export ASAN_OPTIONS=$asan_base:detect_leaks=0 ;;
        esac
    fi
    log=$build/suite_$suite.log
    : >"$log"
    start=$SECONDS cpu=$(limit_past)
    # Not through a pipe: a process that a check left behind would hold it.
    timeout -k 10 $((budget * LIMIT_STRETCH)) "$script" "$build" "$profile" \
        >"$log" 2>&1 </dev/null &
    suite_pid=$!
    limit_watch "$suite_pid" "$budget" &
    watch_pid=$!
    tail -n +1 -s 0.2 -f --pid="$suite_pid" "$log" &
    tail_pid=$!
    wait "$suite_pid" || status=$?
    { kill "$watch_pid" && wait "$watch_pid"; } 2>/dev/null
    wait "$tail_pid" 2>/dev/null
    # timeout made a process group: nothing of it may disturb the next suite.
    if group_end "$suite_pid"; then
        warn "suite $suite left processes behind; they were ended"
    fi
    suite_pid=
    took=$((SECONDS - start)) cpu=$((($(limit_past) - cpu) / 100))

    line=$(grep -v '^[[:space:]]*$' "$log" | tail -n 1)
    if [[ $line =~ $last_line && ${BASH_REMATCH[1]} = "$suite" ]]; then
        p=${BASH_REMATCH[2]} f=${BASH_REMATCH[3]} s=${BASH_REMATCH[4]}
    else
        p=$(grep -c '^ok ' "$log") f=$(grep -c '^FAIL ' "$log")
        s=$(grep -c '^skip ' "$log")
        status=${status/#0/1}
        failure "suite $suite ended without its last line, \"suite $suite: ...\""
    fi
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        failure "suite $suite was ended at its budget of $budget s"
    fi
    if [ "$status" != 0 ] && [ "$f" = 0 ]; then
        failure "suite $suite: exit status $status"
        f=1
    fi
    [ "$strict" = no ] || f=$((f + $(skips_unknown "$suite" "$log")))
    [ "$f" = 0 ] || failures_keep "$suite" "$log"
    printf '== suite %s: %d s of %d s (CPU %d s), %d passed, %d failed, %d skipped\n' \
        "$suite" "$took" "$budget" "$cpu" "$p" "$f" "$s"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

profile='' build=$top/build install=yes sanitize=no build_only=no existing=no
strict=no
suites=()
while [ $# -gt 0 ]; do
    case $1 in
    --ci | --full) profile=${1#--} strict=yes ;;
    --quick) profile=quick ;;
    --build) build_only=yes ;;
    --sanitize) sanitize=yes ;;
    --no-install) install=no ;;
    --in)
        [ -d "${2-}" ] || die "--in wants the folder of a build, not '${2-}'"
        existing=yes
        build=$(cd "$2" && pwd -P)
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    -*)
        usage >&2
        die "unknown option $1"
        ;;
    *)
        [ -x "$top/test/suite_$1.sh" ] || die "unknown suite $1;" \
            "there are:$(cd "$top/test" && printf ' %s' suite_*.sh |
                sed 's/suite_//g; s/\.sh//g')"
        suites+=("$1")
        ;;
    esac
    shift
done
if [ ${#suites[@]} = 0 ]; then
    profile=${profile:-quick}
    [ "$profile" != ci ] || export SRD_WHOLE_CI=y # where time is short
    for suite in $default_suites; do
        case $profile:$sanitize:" $not_quick ":$suite in
        quick:*" $suite "* | *:yes:*:tidy) ;;
        *) suites+=("$suite") ;;
        esac
    done
fi
profile=${profile:-ci}

configure_args=(--enable-werror)
if [ "$sanitize" = yes ]; then
    [ "$existing" = yes ] || build=$top/build/sanitize
    configure_args+=(--enable-sanitizers)
    set_sanitizer_options
fi

# What the profile needs beside what is built and run.
packages=$PACKAGES_BUILD$PACKAGES_RUN$PACKAGES_TEST
[ "$profile" = quick ] || packages=$packages$PACKAGES_CI

if [ "$existing" = no ]; then
    if [ "$build_only" = yes ] || [ "$install" = no ]; then
        packages_require "$PACKAGES_BUILD" "$install" "to build" || exit 1
    fi
    # Without installing, a suite skips what it cannot do.
    if [ "$build_only" = no ]; then
        packages_require "$packages" "$install" "to build and test" ||
            [ "$install" = no ] || exit 1
    fi
    say "building in ${build#"$top"/}"
    build_targets='all test-programs'
    build_tree "$build" "${configure_args[@]}" || die "the build failed"
    # Suites borrow from those; what cannot be made, they say.
    if [ "$build_only" = no ] && [ "$strict" = yes ]; then
        for release in 13 sid; do
            "$top/contrib/ci/chroot.sh" --made "$release" ||
                step "Debian $release" "$top/contrib/ci/chroot.sh" "$release"
        done
        case "${SRD_WHOLE_CI-} ${suites[*]} " in
        ' '*' portable '*)
            "$top/contrib/ci/chroot.sh" --arch arm64 --made 12 ||
                step "Debian 12, arm64" "$top/contrib/ci/chroot.sh" --arch arm64 12
            ;;
        esac
    fi
fi
[ "$build_only" = no ] || exit 0

# Namespaces, locked memory: a user with sudo has the suites run by root, and
# gets what they wrote.
if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then
    if [ "$strict" = yes ] || [ "$profile" = quick ]; then
        suites=("--$profile" "${suites[@]}")
    fi
    [ "$sanitize" = no ] || suites=(--sanitize "${suites[@]}")
    names='PATH|HOME|TMPDIR|CHECKS|SLOWNESS|[A-Z]*SAN_OPTIONS'
    names="$names|(XDG|UCX|EFASIM|SRD|OMPI|FI|SOAK)_[A-Z0-9_]*"
    mapfile -d '' -t variables < <(env -0 | grep -zE "^($names)=")
    status=0
    sudo -n env "${variables[@]}" "$0" --in "$build" "${suites[@]}" || status=$?
    sudo -n chown -R "$(id -u):$(id -g)" "$build"
    exit "$status"
elif [ "$(id -u)" != 0 ]; then
    warn "neither root nor sudo without a password: what needs namespaces or" \
        "more locked memory than $(ulimit -l) KiB cannot pass; run" \
        "'sudo $0' instead"
fi

suite_pid=
# timeout passes a signal on to everything that the suite started.
trap '[ -z "$suite_pid" ] || kill "$suite_pid" 2>/dev/null; exit 130' INT TERM

passed=0 failed=0 skipped=0 failures=$build/failures.log
: >"$failures"
for suite in "${suites[@]}"; do
    [ -n "$suite" ] || continue
    run_suite "$suite"
done
say "the whole run: $SECONDS s"
if [ -s "$failures" ]; then
    say "what failed:"
    cat "$failures"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]

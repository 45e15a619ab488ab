#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds everything and runs the test suites. See usage() below.

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
# shellcheck source=contrib/ci/suites.sh
. "$top/contrib/ci/suites.sh"

# matrix tells what the other Debian releases have that later suites borrow from.
default_suites='flow sim mutants model fuzz matrix proof efasim efasim-clients'
default_suites="$default_suites uct ucp python kernel gpu selftest mpi load info"
default_suites="$default_suites package portable tidy" # short ones last
# Suites that take other systems, or build all anew: not for the quick profile.
not_quick='fuzz matrix proof python gpu kernel portable'

usage() {
    cat <<END
Usage: contrib/test.sh [--ci | --full] [--build] [--sanitize] [--no-install]
                       [--in DIR] [SUITE...]

Builds in build/ (warnings are errors), of the tests' programs those that the
suites need, and runs the test suites, all if none is named:
$(fold -s -w 76 <<<"$default_suites" | sed 's/^/  /; s/ *$//')
The last line is "N passed, N failed, N skipped"; the status is 0 if none
failed. Missing packages are named and then installed (apt-get, sudo). A user
who has sudo without a password has the suites run by root.

Without SUITE or profile: the quick profile, the heart of every suite, at most
4 minutes on two cores, build included. Suites that are named run in the
profile of CI, as far as what they need is here.

  --ci          what CI runs, about 25 minutes on two quiet cores: makes
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

Three suites run at a time, those that compute beside those that drive the emulated
device; what a suite says comes at its end.
END
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

# make_systems: other releases of Debian that suites run programs in.
make_systems() {
    local release releases='13 sid'
    [ "${suites[*]}" != kernel ] || releases=sid
    for release in $releases; do
        "$top/contrib/ci/chroot.sh" --made "$release" ||
            step "Debian $release" "$top/contrib/ci/chroot.sh" "$release"
    done
    case "${SRD_WHOLE_CI-} ${suites[*]} " in
    ' '*' portable '*)
        "$top/contrib/ci/chroot.sh" --arch arm64 --made 12 ||
            step "Debian 12, arm64" "$top/contrib/ci/chroot.sh" --arch arm64 12
        ;;
    esac
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
        # two of one name would share their logs
        [[ " ${suites[*]} " == *" $1 "* ]] || suites+=("$1")
        ;;
    esac
    shift
done
build_suites=("${suites[@]}")
if [ ${#suites[@]} = 0 ]; then
    profile=${profile:-quick}
    [ "$profile" != ci ] || export SRD_WHOLE_CI=y # where time is short
    for suite in $default_suites; do
        case $profile:$sanitize:" $not_quick ":$suite in
        quick:*" $suite "* | *:yes:*:tidy) ;;
        ci:*) suite_untouched "$suite" || suites+=("$suite") ;;
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

# Packages of the profile, beside those that are built and run.
to_build=$PACKAGES_BUILD$PACKAGES_BUILD_TESTS
packages=$to_build$PACKAGES_RUN$PACKAGES_TEST
[ "$profile" = quick ] || packages=$packages$PACKAGES_CI

if [ "$existing" = no ]; then
    if [ "$build_only" = yes ] || [ "$install" = no ]; then
        packages_require "$to_build" "$install" "to build" || exit 1
    fi
    # Without installing, a suite skips what it cannot do.
    if [ "$build_only" = no ]; then
        packages_require "$packages" "$install" "to build and test" ||
            [ "$install" = no ] || exit 1
    fi
    # Suites borrow from those; what cannot be made, they say.
    systems=''
    if [ "$build_only" = no ] && [ "$strict" = yes ]; then
        mkdir -p "$build" && make_systems >"$build/systems.log" 2>&1 &
        systems=$!
    fi
    say "building in ${build#"$top"/}"
    build_targets=(test-programs)
    build_tree "$build" "${configure_args[@]}" || die "the build failed"
    if [ -n "$systems" ]; then
        step "other systems" tail --pid="$systems" -n 0 -f "$build/systems.log"
        cat "$build/systems.log"
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

failures=$build/failures.log
: >"$failures"
suites_run "${suites[@]}"
say "the whole run: $SECONDS s"
if [ -s "$failures" ]; then
    say "what failed:"
    cat "$failures"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]

# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# How quickstart.sh and test.sh build. Sourced, after common.sh.

# build_tree makes the programs of these suites, if there are any, else these targets.
build_suites=()
build_targets=(all)

# build_stamp ARGUMENT...: what a configured build folder depends on beside the
# sources: the arguments, and the optional things that configure looks for.
build_stamp() {
    printf '%s\n' "$top" "$@" "CC=${CC-} CXX=${CXX-} CFLAGS=${CFLAGS-}" \
        "UCX_CFLAGS=${UCX_CFLAGS-}"
    command -v mpicc.openmpi || command -v mpicc || echo 'no mpicc'
    command -v g++ || echo 'no g++'
    if header_present gtest/gtest.h; then echo gtest; else echo 'no gtest'; fi
}

# build_cxx ARGUMENT...: the arguments of configure, and where nobody chose a
# compiler of C++ clang's, which takes half of gcc's time for the tests; of a
# release that nobody tried, a new warning is no error. (Sanitizers want one
# compiler for all.)
build_cxx() {
    local version
    printf '%s\n' "$@"
    case ${CXX-}:${CXXFLAGS-}:" $* " in
    ::*' --enable-sanitizers '*) return ;;
    ::*) ;;
    *) return ;;
    esac
    version=$(clang++ -dumpversion 2>/dev/null) || return 0
    echo CXX=clang++
    case $version in
    14.*) ;;
    *) echo CXXFLAGS=-Wno-error ;;
    esac
}

# build_files_changed: make would call automake again by itself, but that fails
# when a change needs a helper script that is not there yet.
build_files_changed() {
    [ -x "$top/configure" ] && [ -e "$top/Makefile.in" ] || return 0
    [ -n "$(find "$top/configure.ac" "$top/Makefile.am" "$top/m4" "$top/src" \
        "$top/test" "$top/contrib" \( -name '*.mk' -o -name '*.m4' \
        -o -name 'configure.ac' -o -name Makefile.am \) \
        \( -newer "$top/configure" -o -newer "$top/Makefile.in" \) -print)" ]
}

# build_tree DIR CONFIGURE-ARGUMENT...: configures DIR if need be, and makes what
# build_suites and build_targets say.
build_tree() {
    local dir=$1 stamp jobs arguments
    shift
    if [ -e "$top/config.status" ]; then
        warn "the source tree itself is configured: run 'make distclean' in it," \
            "then again (builds live in folders of their own)"
        return 1
    fi
    mkdir -p "$dir" || return 1
    mapfile -t arguments < <(build_cxx "$@")
    stamp=$(build_stamp "${arguments[@]}")
    if build_files_changed; then
        step "autogen" "$top/autogen.sh" || return 1
    fi
    if [ ! -e "$dir/Makefile" ] || [ "$top/configure" -nt "$dir/config.status" ] ||
        [ "$stamp" != "$(cat "$dir/configured-for" 2>/dev/null)" ]; then
        step "configure" in_folder "$dir" "$top/configure" "${arguments[@]}" || return 1
        printf '%s\n' "$stamp" >"$dir/configured-for"
    fi
    jobs=$(nproc 2>/dev/null || echo 1)
    [ ${#build_suites[@]} = 0 ] || suites_targets "$dir" "${build_suites[@]}"
    build_make "$dir" "$jobs" "${build_targets[@]}"
}

# suites_text SUITE...: their scripts, and those that these name, beside themselves or
# below test/.
suites_text() (
    cd "$top/test" && set -- "${@/#/suite_}" && left=("${@/%/.sh}") || return
    declare -A seen
    while [ ${#left[@]} -gt 0 ]; do
        file=$(realpath -q "${left[0]}") left=("${left[@]:1}")
        [ -f "$file" ] && [ -z "${seen[$file]-}" ] || continue
        seen[$file]=y
        text=$(grep -E '^ *[^ #]|make test-programs' "$file")
        for name in $(grep -oE '[a-z0-9_./-]+\.(sh|py)' <<<"$text" | sort -u); do
            left+=("./$name" "${file%/*}/$name")
        done
        printf '%s\n' "$text"
    done
)

# suites_targets DIR SUITE...: sets build_targets to what make has to make in DIR for
# them: "all" and those programs of tests whose path, or whose folder two levels down,
# stands in their text; all programs where that says "make test-programs".
suites_targets() {
    local program folder programs='' text
    text=$(suites_text "${@:2}")
    for program in $(make -s -C "$1" list-programs); do
        folder=${program%/*}
        [[ $folder == */* ]] || folder=$program
        case $text in
        *"make test-programs"* | *"$program"[!a-z_]* | */"$folder"[!a-z_/]*)
            programs+=" $program"
            ;;
        esac
    done
    build_targets=(test-programs "programs=$programs")
}

# build_make DIR JOBS TARGET...: make, which tells how far it is: each thing that is
# made is one line of its dry run.
build_make() {
    local dir=$1 jobs=$2 step_total
    shift 2
    # shellcheck disable=SC2034  # for step_line
    step_total=$(make -n -C "$dir" "$@" 2>/dev/null | grep -cE '^echo "  [A-Z]+ ')
    step "make -j$jobs" make -C "$dir" -j"$jobs" "$@"
}

in_folder() {
    cd "$1" && shift && "$@"
}

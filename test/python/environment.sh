# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Virtual environments with wheels of PyPI, kept in the cache of the build, as
# contrib/ci/chroot.sh keeps systems. Sourced after lib.sh. test/python/NAME.txt says
# what is in the environment NAME.

# shellcheck source=contrib/ci/cache.sh
. "$TEST_DIR/../contrib/ci/cache.sh"
PYTHON_CACHE=$srd_cache/python
PYTHON_DIR=$TEST_DIR/python
PYTHON_EXAMPLES=$TEST_DIR/../contrib/examples

# environment_recipe NAME: changes when what is in it would.
environment_recipe() {
    echo "1 $(python3 -c 'import sys; print(sys.version, sys.base_prefix)')"
    cat "$PYTHON_DIR/$1.txt"
}

environment_is_made() {
    [ "$(cat "$PYTHON_CACHE/$1.made" 2>/dev/null)" = "$(environment_recipe "$1")" ]
}

# environment_make NAME: a check of its own, so that its time is nobody else's.
environment_make() {
    local name=$1 dir=$PYTHON_CACHE/$1 log=$CHECK_LOG.pip options=()
    need python3
    mkdir -p "$PYTHON_CACHE" || skip_here "cannot write to $PYTHON_CACHE"
    exec 9>"$dir.lock"
    flock 9
    environment_is_made "$name" && return
    rm -rf "$dir" "$dir.made"
    python3 -m venv "$dir" >"$log" 2>&1 ||
        skip_here "python3 makes no virtual environment (python3-venv is missing?)"
    ! grep -qx -- --no-deps "$PYTHON_DIR/$name.txt" || options=(--no-deps)
    grep -v '^[-#]' "$PYTHON_DIR/$name.txt" >"$dir/wanted.txt"
    "$dir/bin/python" -m pip install -q "${options[@]}" --only-binary=:all: \
        --retries 1 -r "$dir/wanted.txt" >"$log" 2>&1 || {
        cat "$log"
        skip_here "pip cannot get $name: $(grep . "$log" | tail -n 1)"
    }
    environment_recipe "$name" >"$dir.made"
}

# environment NAME: sets PYTHON, for a check that runs in it.
environment() {
    environment_is_made "$1" || skip_here "the environment $1 is not made here"
    PYTHON=$PYTHON_CACHE/$1/bin/python ENVIRONMENT=$1
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers want their runtime first"
    export PYTHONPATH=$PYTHON_EXAMPLES PYTHONDONTWRITEBYTECODE=1
    export PATH=$BUILD/bin:$PATH
    unset LD_PRELOAD
}

# over_tcp FILE WORD... : COMMAND...: what COMMAND, a run over tcp that is to be
# compared with one over srd, wrote to FILE. That is not about this module: it is
# kept in the cache, for this environment, the WORDs and the contents of those
# that are files or folders. With --full it runs each time.
over_tcp() {
    local file=$1 word key words=()
    shift
    while [ "$1" != : ]; do words+=("$1"); shift; done
    shift
    key=$({
        environment_recipe "$ENVIRONMENT"
        for word in "${words[@]}"; do
            if [ -e "$word" ]; then
                find "$word" -type f -name '*.*[!c]' | LC_ALL=C sort | xargs cat
            else
                echo "$word"
            fi
        done
    } | sha256sum | cut -c 1-16)
    key=$PYTHON_CACHE/tcp-$ENVIRONMENT-$key
    if ! full && [ -s "$key" ]; then
        cp "$key" "$file" && echo "note: the run over tcp is an earlier one"
        return
    fi
    "$@" || return
    # a test that fails now and then would not be compared any more
    grep -qE '<(failure|error)\b|^(FAIL|ERROR) ' "$file" ||
        { cp "$file" "$key.new" && mv "$key.new" "$key"; }
}

# source_of NAME VERSION: unpacks its sources beside the environment mpi, and sets
# SOURCE. For tests that no wheel has.
source_of() {
    SOURCE=$PYTHON_CACHE/$1-$2
    [ ! -d "$SOURCE" ] || return 0
    local new=$SOURCE.new
    rm -rf "$new"
    "$PYTHON" -m pip download -q --no-deps --no-binary="$1" --retries 1 \
        -d "$new" "$1==$2" >"$CHECK_LOG.pip" 2>&1 || {
        cat "$CHECK_LOG.pip"
        skip_here "pip cannot get the sources of $1"
    }
    tar -xf "$new/$1-$2.tar.gz" -C "$new" && mv "$new/$1-$2" "$SOURCE" ||
        fail "the sources of $1 cannot be unpacked"
    rm -rf "$new"
}

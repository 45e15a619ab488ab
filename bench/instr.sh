#!/usr/bin/env bash
# Instructions per message, by callgrind, on the emulated device.
# usage: bench/instr.sh [BUILD_DIR] [ROUNDS]
#
# "transport" is libuct_srd.so.0 alone, "verbs" is libibverbs and libefa under
# it. The emulated device, UCT's dispatch and libc are not counted.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$here/build}" && pwd)
rounds=${2:-200}
batch=16
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

command -v valgrind >/dev/null || {
    echo "instr.sh: valgrind is missing (Debian: apt-get install valgrind)" >&2
    exit 1
}

# Instructions under function $1, summed over objects that match $2. From the
# data itself, as callgrind_annotate names no object for what was inlined.
sum_objects() {
    awk -v want="$2" '
        /^c?ob=/ { # a number stands for a name once that was given
            id = $1
            sub(/^c?ob=/, "", id)
            if (NF > 1) name[id] = $2
            if (/^ob=/) object = name[id]
            next
        }
        /^calls=/ { called = 1; next } # the next line is the callee
        /^[0-9+*-]/ {
            if (!called && object ~ want) sum += $NF
            called = 0
        }
        END { print sum + 0 }' "$out/$1"
}

measure() { # function, messages, label
    "$build/bin/efasim" run -- env LD_PRELOAD_KEEP=1 "$build/bin/srdrun" \
        valgrind --tool=callgrind --callgrind-out-file="$out/$1" \
        --toggle-collect="$1" "$build/bench/instr" "$rounds" \
        >"$out/$1.log" 2>&1 || { tail -5 "$out/$1.log" >&2; exit 1; }
    awk -v transport="$(sum_objects "$1" 'libuct_srd')" \
        -v verbs="$(sum_objects "$1" 'libefa\\.so|libibverbs')" -v n="$2" \
        -v label="$3" 'BEGIN {
            printf "%-34s transport %7.1f   verbs %7.1f\n", label,
                   transport / n, verbs / n }'
}

messages=$((rounds * batch))
echo "instructions per operation, $rounds rounds of $batch messages"
measure bench_post_short "$messages" "post am_short 8 B"
measure bench_post_bcopy "$messages" "post am_bcopy 1 KB"
measure bench_receive $((2 * messages)) "receive one message"
measure bench_complete $((2 * messages)) "complete one send"
measure bench_empty "$rounds" "empty progress"

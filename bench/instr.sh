#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Instructions per message, by callgrind, on the emulated device.
# usage: bench/instr.sh [--check] [--direct | --sid | --recorded]
#                       [BUILD_DIR [ROUNDS [ENDPOINTS]]]
#
# --direct: of the direct data path, which takes the rdma-core of Debian sid
# (contrib/ci/chroot.sh sid makes it); --sid: over the libefa of sid.
# --recorded: only of a message of 8 B, with UCX_EFA_RECORD and without; with
# --check it fails when the one is more than 1.6 of the other.
#
# "transport" is libuct_srd.so.0 alone, "verbs" is libibverbs and libefa under
# it. The emulated device, UCT's dispatch and libc are not counted. Counts
# repeat exactly. Each has a bound, a little above what it was last: --check
# fails when one is exceeded by more than INSTR_MARGIN per cent (default: 0; the
# bounds are those of gcc 12 at -O2 on x86-64).
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
check=
direct=
sid=
recorded=
while [[ ${1:-} == --* ]]; do
    case $1 in
    --check) check=1 ;;
    --direct) direct=y sid=1 ;;
    --sid) sid=1 ;;
    --recorded) recorded=1 ;;
    *)
        echo "instr.sh: no option $1: --check, --direct, --sid, --recorded" >&2
        exit 2
        ;;
    esac
    shift
done
build=$(cd "${1:-$here/build}" && pwd)
rounds=${2:-16}
batch=16
endpoints=${3:-10000}
out=$(mktemp -d "$build/instr.XXXXXX")
inside=()
device=(--device efa1)
if [ -n "$sid" ]; then
    device=(--device efa2)
    inside=("$here/contrib/ci/chroot.sh" --bind "$build" sid --
        env LD_LIBRARY_PATH=/opt/ucx-1.13/lib UCX_EFA_DIRECT="${direct:-n}")
fi
[ -z "$direct" ] || device+=(--no-strict-batch)
[ -n "${INSTR_KEEP-}" ] || trap 'wait; rm -rf "$out"' EXIT

for tool in valgrind python3; do
    command -v "$tool" >/dev/null || {
        echo "instr.sh: $tool is missing (Debian: apt-get install $tool)" >&2
        exit 1
    }
done
# Longer, and the queue's reserve opens within the run, which is another way.
if [ $((rounds % 4)) -ne 0 ] || [ "$rounds" -gt 32 ]; then
    echo "instr.sh: $rounds rounds: a multiple of 4 up to 32, please" >&2
    exit 1
fi

failed() { # log
    tail -25 "$1" >&2
    echo "instr.sh: the run failed" >&2
    exit 1
}

# collect OUT PHASES ARGUMENT...: one run that collects in these functions. Writes
# OUT and, as OUT.counts, of each its name, transport, verbs and the emulated
# device's own polls.
collect() {
    local file=$1 phases=$2 phase
    local toggles=()
    shift 2
    # sorted: callgrind forgets names whose beginning it is told behind them
    for phase in $(tr ' ' '\n' <<<"$phases" | sort); do
        toggles+=("--toggle-collect=$phase")
    done
    "${inside[@]}" "$build/bin/efasim" run --fabric "${file##*/}.$$" \
        "${device[@]}" --max-ah $((endpoints * 2)) -- \
        env UCX_SRD_MAX_AH=$((endpoints * 2)) "$build/bin/srdrun" \
        valgrind --tool=callgrind --dump-instr=yes --separate-callers=60 \
        --callgrind-out-file="$file" "${toggles[@]}" \
        "$build/bench/instr" "$@" >"$file.log" 2>&1 || failed "$file.log"
    python3 "$here/bench/instr_where.py" "$file" "$phases" >"$file.counts" ||
        failed "$file.counts"
}

# Instructions of a message of 8 B, without those of the device's polls; OUT as above.
message() {
    collect "$1" "bench_empty bench_post_short bench_receive bench_complete" \
        "$rounds"
    awk -v rounds="$rounds" -v batch="$batch" '
        $1 == "bench_empty" { poll = $3 / 2 / rounds; next }
        {
            each = ($1 == "bench_post_short") ? 3 : 1.5
            sum += ($2 + $3 - $4 * poll) / rounds / batch / each
        }
        END { print sum }' "$1.counts"
}

if [ -n "$recorded" ]; then
    mkdir "$out/recordings"
    plain=$(message "$out/plain")
    with=$(UCX_EFA_RECORD="$out/recordings:4M" message "$out/with")
    awk -v plain="$plain" -v with="$with" -v check="$check" 'BEGIN {
        printf "a message of 8 B %.1f   recorded %.1f   %.2f times as much\n", plain, with,
               with / plain
        if (with > 1.6 * plain) {
            print (check ? "FAIL" : "NOTE") ": it should be at most 1.6"
            exit check != ""
        }
    }'
    exit
fi

# phase, operations in the whole run, bounds for the transport over libefa and
# directly, label: of the run to come, which collects in all of its phases.
phases=()
in_run=
measure() {
    local bound=$3
    [ -z "$direct" ] || bound=$4
    phases+=("$run|$1|$2|$bound|$5")
    in_run="$in_run $1"
}

# measured OUT ARGUMENT...: that run, beside those that run.
running=()
measured() {
    collect "$1" "$in_run" "${@:2}" &
    running+=($!)
    in_run=
}

messages=$((rounds * batch))
run=$out/data_path
measure bench_empty "$rounds" 36 20 "empty progress"
measure bench_post_short $((messages * 3)) 69 66 "post am_short 8 B"
measure bench_post_payload "$messages" 72 92 "post am_short 8 B + 8 B"
measure bench_post_iov "$messages" 101 119 "post am_short_iov 8 B"
measure bench_post_iov_two "$messages" 121 142 "post am_short_iov 8 B + 8 B"
measure bench_post_bcopy "$messages" 81 100 "post am_bcopy 1 KB"
measure bench_post_zcopy "$messages" 164 220 "post am_zcopy 1 KB"
measure bench_post_get_bcopy "$messages" 109 113 "post get_bcopy 1 KB"
measure bench_post_get_zcopy "$messages" 119 124 "post get_zcopy 1 KB"
measure bench_complete_get "$messages" 61 80 "completion of get_zcopy, 16"
measure bench_complete_copy "$messages" 69 113 "completion of get_bcopy, 16"
full="get_zcopy"
if [ -n "$sid" ]; then
    full="put_short"
    measure bench_post_put_short "$messages" 122 127 "post put_short 8 B"
    measure bench_complete_put "$messages" 55 49 "completion of put_short, 16"
fi
measure bench_refuse "$batch" 172 172 "$full, full queue: refused"
measure bench_queue "$messages" 87 87 "$full, full queue: and waits"
measure bench_serve "$messages" 315 314 "$full, full queue: served"
lists=1 # 64 pieces each
measure bench_post_get_list $((rounds * 64)) 140 84 "post a piece of a list, get"
if [ -n "$sid" ]; then
    lists=2
    measure bench_post_put_list $((rounds * 64)) 142 84 \
        "post a piece of a list, put"
fi
measure bench_complete_list $((rounds * 64 * lists)) 58 51 \
    "completion of a piece, 16 in a poll"
# half of the polls have a limit packet, which is counted with those
measure bench_receive $((messages * 3 / 2)) 78 82 "receive, 16 in a poll"
measure bench_receive_reversed $((messages / 2)) 154 172 "receive, 16 reversed"
measure bench_receive_alone $((messages * 31 / 32)) 160 180 "receive, alone"
measure bench_complete $((messages * 3 / 2)) 30 33 "completion, 16 in a poll"
measure bench_complete_alone $((messages * 31 / 32)) 104 168 "completion, alone"
# of their own polls, without which the rest is what a limit packet costs
measure bench_receive_limit $((rounds * 3 / 2)) 1834 1946 \
    "16 received, limit sent"
measure bench_complete_limit $((rounds * 3 / 2)) 820 832 \
    "16 complete, limit taken"
measure bench_limit_done $((rounds * 7 / 2)) 255 350 "completion of a limit"
# limits included: more flows may not mean more limits
measure bench_turn_one $((64 * batch)) 96 103 "receive and limits, one flow"
measure bench_turn_sixteen $((64 * batch)) 95 102 \
    "receive and limits, 16 flows"
measured "$run" "$rounds"
run=$out/create_100
measure bench_create 100 1950 2020 "endpoint, 100 GIDs"
measured "$run" "$rounds" 100
run=$out/create
measure bench_flush "$rounds" 15 15 "iface_flush, $endpoints endpoints"
measure bench_create "$endpoints" 1750 1750 "endpoint, $endpoints GIDs"
measured "$run" "$rounds" "$endpoints"
for pid in "${running[@]}"; do
    wait "$pid"
done
for line in "${phases[@]}"; do
    IFS='|' read -r run phase operations bound label <<<"$line"
    read -r transport verbs again < <(sed -n "s/^$phase //p" "$run.counts")
    echo "$phase|$operations|$bound|$transport|$verbs|$again|$label"
done >"$out/table"

# Counts that the fast paths state in their comments: phase, count, file.
way=libefa
[ -z "$direct" ] || way=direct
grep -rnoE "[0-9]+ instructions \(bench_[a-z_]+, $way\)" "$here/src/uct/ib" |
    sed -E 's/^([^:]*):[0-9]+:([0-9]+) .*\((.*), .*/\3|\2|\1/' >"$out/said"
[ "$(wc -l <"$out/said")" -ge 3 ] || {
    echo "instr.sh: the comments of the fast paths are gone" >&2
    exit 1
}

echo "instructions per operation, $rounds rounds of $batch messages"
awk -F '|' -v check="$check" -v direct="$direct" -v batch="$batch" -v margin="${INSTR_MARGIN:-0}" '
    FNR == NR { said[$1] = $2; where[$1] = $3; next }
    $1 == "bench_empty" { poll = $5 / 2 / $2 } # it polls twice: see again
    {
        transport = $4 / $2
        verbs     = ($5 - $6 * poll) / $2
        t[$1] = transport
        v[$1] = verbs
        printf "%-34s transport %7.1f   verbs %7.1f\n", $7, transport, verbs
        bound = $3 * (1 + margin / 100)
        if (transport > bound) {
            printf "%s: %s takes %.1f instructions, %d are its bound\n",
                   check ? "FAIL" : "NOTE", $7, transport, bound
            bad = 1
        }
    }
    transport <= 0 {
        printf "FAIL: %s was never entered\n", $1
        bad = 1
    }
    ($1 in said) && !margin && (transport - said[$1]) ^ 2 > 1 {
        printf "%s: %s takes %.1f instructions, the comment in %s says %d\n",
               check ? "FAIL" : "NOTE", $1, transport, where[$1], said[$1]
        bad = 1
    }
    function limit(c, both) { # what a limit packet costs, its polls apart
        both = c["bench_receive_limit"] + c["bench_complete_limit"]
        both -= batch * (c["bench_receive"] + c["bench_complete"])
        return both + c["bench_limit_done"]
    }
    function message(c) {
        return c["bench_post_short"] + c["bench_receive"] + c["bench_complete"]
    }
    END {
        printf "%-34s transport %7.1f   verbs %7.1f\n",
               "a limit packet, both ends", limit(t), limit(v)
        # each second batch brings one, or the program says so and fails
        printf "%-34s transport %7.1f   verbs %7.1f\n",
               "messages to each limit packet", 2 * batch, 0
        printf "%-34s transport %7.1f   verbs %7.1f   whole %7.1f\n",
               "a message of 8 B", message(t), message(v),
               message(t) + message(v)
        share = (limit(t) + limit(v)) / (2 * batch)
        printf "%-34s %55.1f\n", "with its share of a limit packet",
               message(t) + message(v) + share
        for (phase in said) {
            if (!(phase in t)) {
                printf "FAIL: the comment in %s names no phase\n", where[phase]
                bad = 1
            }
        }
        if (direct && !margin && message(t) + message(v) > 180) {
            print (check ? "FAIL" : "NOTE") ": a message takes more than 180"
            bad = 1
        }
        turns = t["bench_turn_sixteen"] / t["bench_turn_one"]
        printf "%-34s %.2f of one\n", "receiving from 16 flows", turns
        if (turns > 1.2) {
            printf "%s: it should be at most 1.2\n", check ? "FAIL" : "NOTE"
            bad = 1
        }
        exit check && bad
    }' "$out/said" "$out/table"
grep -h "^memory of" "$out/create.log"

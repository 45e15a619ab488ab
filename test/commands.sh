# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Checks of suite info, which sources this file: the habit of all programs, and
# srd_info's reports for a job's start and for its traffic.

# An EFA for each rank, two for each of two; for the GPUs of a machine that hwloc reads
# from a file the one EFA that it has, for each; and the lines of one rank.
map_of() {
    clean_environment
    local said
    on_four() { "$EFASIM" run --fabric "t$$" --devices 4 -- "$@"; }
    on_four "$BUILD/bin/srd_info" --map >"$OUT" || fail "status $?"
    cat "$OUT"
    grep -Eq '^rank 3 +UCX_NET_DEVICES=rdmap48s6:1 UCX_MAX_RNDV_RAILS=1$' "$OUT" ||
        fail "rank 3"
    on_four "$BUILD/bin/srd_info" --map --map-ranks 2 --json - | python3 -c '
import json, sys
a, b = json.load(sys.stdin)["map"]
assert b["rank"] == 1 and b["UCX_MAX_RNDV_RAILS"] == 2, b
assert b["UCX_NET_DEVICES"] == "rdmap32s6:1,rdmap48s6:1", b' || fail "the JSON"
    said=$(OMPI_COMM_WORLD_LOCAL_RANK=2 on_four "$BUILD/bin/srd_info" --map=export)
    [ "$(eval "$said" && echo "$UCX_NET_DEVICES $UCX_MAX_RNDV_RAILS")" = 'rdmap32s6:1 1' ] ||
        fail "export: $said"
    OMPI_COMM_WORLD_LOCAL_RANK=9 on_four "$BUILD/bin/srd_info" --map=export --map-ranks 8 \
        >"$OUT" 2>&1 || fail "rank 9 of 8: status $?"
    grep -q 'local rank 9, .*OMPI_COMM_WORLD_LOCAL_RANK, is none of 8.* shares those of rank 1' \
        "$OUT" && grep -qx 'export UCX_NET_DEVICES=rdmap0s6:1' "$OUT" ||
        fail "rank 9 of 8: $(cat "$OUT")"
    ldd "$BUILD/bin/srd_info" | grep -q libhwloc || return 0
    HWLOC_XMLFILE=$TEST_DIR/gpus.xml on_four "$BUILD/bin/srd_info" --map >"$OUT"
    [ "$(grep -cE '^GPU [01] +0000:(00:1c|10:1d).0 +UCX_NET_DEVICES=rdmap0s6:1 ' "$OUT")" = 2 ] ||
        fail "GPUs: $(cat "$OUT")"
}

# The bytes that ucx_perftest sends are those of the device, within the time and since
# the start; the unit for Prometheus makes its file of them.
counters() {
    need_perftest
    clean_environment
    local line
    export OUT
    # shellcheck disable=SC2016 # for the inner shell
    UCX_TLS=srd two_nodes -- "${PERFTEST[@]}" -p @PORT@ -- bash -c '
        srd_info=$0
        "$@" >/dev/null && "$srd_info" --counters=0 --all --json "$OUT.json" >"$OUT" &&
        "$srd_info" --counters 1 --all >"$OUT.idle"' "$BUILD/bin/srd_info" "${PERFTEST[@]}" \
        127.0.0.1 -p @PORT@ -t tag_bw -s 65536 -n 200 -w 5 || exit 1
    cat "$OUT" "$OUT.idle"
    line=$(sed -nE 's/^rdmap0s6 +sent ([0-9]+) bytes, received [0-9]+ bytes; .*/\1/p' "$OUT")
    at_least "bytes sent" "${line:-0}" $((200 * 65536))
    grep -Eq '^rdmap0s6 +sent 0 bytes \(0\.000 MB/s\), received 0 ' "$OUT.idle" ||
        fail "it moved nothing in a second of silence"
    grep -Eq '^ +send_bytes +0$' "$OUT.idle" || fail "--all leaves out what is 0"
    mkdir -p "$OUT.sys/class/infiniband/rdmap0s6/ports/1/hw_counters" # an older driver's
    echo 7 >"$OUT.sys/class/infiniband/rdmap0s6/ports/1/hw_counters/send_bytes"
    cp -rT "$OUT.sys/class/infiniband/rdmap0s6" "$OUT.sys/class/infiniband/"$'\e[2J' # no driver's
    [ "$(SYSFS_PATH=$OUT.sys "$BUILD/bin/srd_info" --counters=0)" = \
        'rdmap0s6     sent 7 bytes, received 0 bytes' ] || fail "an older driver's"
    line=$OUT.sys/bus/pci/devices/$'\e[2J'
    mkdir -p "$line" && echo pci:v00001D0Fd0000EFA1 >"$line/modalias" || fail "mkdir"
    ! SYSFS_PATH=$OUT.sys "$BUILD/bin/srd_info" | grep $'\e' || fail "a name goes out as it is"
    ln -sf "$OUT.idle" "$OUT.prom.new" # the collector's user may have put it there
    while read -r line; do
        line=${line//\/run\/efa-metrics\/counters.json/$OUT.json}
        line=${line//\/var\/lib\/prometheus\/node-exporter\/efa.prom/$OUT.prom}
        [[ $line != *python3* ]] ||
            bash -c "${line//\/usr\/share\/doc\/ucx-efa-srd/$TEST_DIR\/..}" || fail "$line"
    done < <(sed -e ':a; /\\$/ { N; s/\\\n//; ba }' -ne 's/^ExecStart=//p' \
        "$TEST_DIR/../contrib/deploy/efa-metrics.service")
    grep -Eq '^efa_device_rx_pkts_total\{device="rdmap0s6"\} [1-9]' "$OUT.prom" &&
        grep -q '^efa_device_retrans_pkts_total{device="rdmap0s6"} 0$' "$OUT.prom" ||
        fail "nothing for Prometheus"
    [ ! -L "$OUT.prom" ] || fail "a link was followed"
    rm -rf "$OUT.led" "$OUT.to" && mkdir -p "$OUT.to/in" && ln -s "$OUT.to" "$OUT.led" ||
        fail "ln: status $?"
    for line in 0 in/0 4242 in/4242; do
        chown -h ${line#in/} "$OUT.led" 2>/dev/null || continue # needs root
        python3 -B "$TEST_DIR/../contrib/examples/efa_top_prom.py" "$OUT.json" \
            "$OUT.led/$line"
        [ -e "$OUT.to/$line" ] || [ ${line#in/} = 4242 ] || fail "a link of root's is none"
    done
    for line in 4242 in/4242; do
        [ ! -e "$OUT.to/$line" ] || fail "a folder that is another user's link was followed"
    done
}

# efa_top_prom.py does not believe a JSON that another user may have put there; of this
# user's, values are numbers, and names and labels such as Prometheus reads.
prometheus() {
    local json=$CHECK_LOG.json to=$CHECK_LOG.prom kind out plants=(pipe link text open hard)
    local prom=(python3 -B "$TEST_DIR/../contrib/examples/efa_top_prom.py")
    rm -f "$json"* "$to"*
    echo '{"devices": [{"name": "a\"\\\n\u001b\u00e9\ud800", "counters":
        {"rx_bytes": 7, "x 1\ny": 1}}]}' >"$json"
    "${prom[@]}" "$json" "$to" || fail "status $?"
    diff "$to" - <<<$'# TYPE efa_device_rx_bytes_total counter\n'"$(
        )efa_device_rx_bytes_total{device=\"a\\\"\\\\\\n"$'\e'"é?\"} 7" || fail "names or labels"
    mkfifo "$json.pipe" && ln -s "$json" "$json.link" && cp "$json" "$json.other" &&
        sed 's/7/"0\\nplanted 1"/' "$json" >"$json.text" || fail "they are not planted"
    cp "$json" "$json.open" && chmod 664 "$json.open" && cp "$json" "$json.hard" &&
        ln "$json.hard" "$json.too" || fail "they are not planted"
    ! chown 4242 "$json.other" 2>/dev/null || plants+=(other) # needs root
    for kind in "${plants[@]}"; do
        out=$("${prom[@]}" "$json.$kind" "$to.$kind" 2>&1)
        [ $? = 1 ] && [ "$(grep -c . <<<"$out")" = 1 ] && [ ! -e "$to.$kind" ] &&
            grep -F "efa_top_prom.py: cannot read $json.$kind (" <<<"$out" || fail "$kind: $out"
    done
}

# habit PROGRAM WRONG NEAR: -h and --help, -V and --version, and one line with the
# nearest for a word that is none.
habit() {
    local program=$1 name=${1##*/} said
    "$program" -h >"$OUT.h" && "$program" --help >"$OUT" || fail "$name -h, --help: status $?"
    cmp "$OUT.h" "$OUT" || fail "$name -h and --help differ"
    head -n 1 "$OUT" | grep "^Usage: $name " || fail "$name --help: its usage"
    grep -Eq '^  -h, --help' "$OUT" && grep -Eq '^  -V, --version ' "$OUT" ||
        fail "$name --help lists not all"
    [ "$("$program" -V)" = "$("$program" --version)" ] && "$program" -V |
        grep -E "^$name [0-9]+\.[0-9]+" || fail "$name -V"
    said=$("$program" "$2" 2>&1 >/dev/null)
    [ $? = 2 ] || fail "$name $2: not status 2"
    grep -E "^$name: unknown [a-z]+ '$2': is $3 meant\?.*$name.* --help" <<<"$said" &&
        [ "$(grep -c . <<<"$said")" = 1 ] || fail "$name $2: $said"
}

# One habit of all programs.
habits() {
    local OUT=$CHECK_LOG.out
    habit "$BUILD/bin/srd_info" --chekc --check
    habit "$BUILD/bin/srd_replay" --utnil --until
    habit "$BUILD/bin/efasim" rnu run
    habit "$BUILD/bin/efapci" --lss --loss
    habit "$BUILD/bin/srdrun" --print --print-path
    habit "$BUILD/sbin/srd_systemwide" on enable
    habit "$BUILD/sbin/srd_systemwide" --vers --version
}

# ucx-efa-srd(7) has each variable that UCX knows of the module.
page_variables() {
    need ucx_info
    local name count=0
    "$EFASIM" run --fabric "t$$" -- "$SRDRUN" ucx_info -c >"$CHECK_LOG.out" || fail "ucx_info"
    for name in $(grep -oE '^UCX_(SRD|EFA)_[A-Z_]+' "$CHECK_LOG.out"); do
        case $name in
        *_UD_TX_QUEUE_LEN | *_UD_RX_* | *_UD_WINDOW | *_UD_MAX_AH) continue ;; # as srd's
        *_MAX_NUM_EPS | *_ALLOC | *_FAILURE) continue ;; # UCX's own
        esac
        grep -qx "\.B $name" "$BUILD/ucx-efa-srd.7" || fail "$name is not in the page"
        count=$((count + 1))
    done
    at_least variables $count 20
    ! command -v groff >/dev/null ||
        [ -z "$(groff -man -ww -Tutf8 "$BUILD/ucx-efa-srd.7" 2>&1 >/dev/null)" ] ||
        fail "the page is malformed"
}

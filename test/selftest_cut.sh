# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Hosts that do not reach each other: checks of suite selftest, which sources this
# file.

# A cut way between the hosts, as by a forgotten security group, is told of in one
# line, in JSON too; no probe waits for it, none is blamed.
cut_link() {
    local action
    for action in partition clog; do
        echo "at 0ms $action 0 1" >"$CHECK_LOG.plan"
        peers --plan "$CHECK_LOG.plan" : --facts
        cat "$OUT.progress"
        [ "$STATUS" = 1 ] || fail "$action: status $STATUS"
        [ ! -s "$OUT" ] || fail "$action: a report all the same"
        [ "$(wc -l <"$OUT.progress")" = 1 ] &&
            grep -E '^srd_info: no packet reaches localhost:[0-9]+, .*: the security group' \
                "$OUT.progress" | grep 'from and to itself.* same subnet; no probe was run$' ||
            fail "$action: not one line"
        grep -E '^  "error": "no packet reaches .* security group ' "$OUT.json" ||
            fail "$action: JSON"
    done
    tcp_dropped
}

# Where TCP packets are dropped, too, that is told before the kernel gives up those
# who knocked earlier: here by a listener whose queue is full. A process that is stopped
# meanwhile, as by ^Z, goes on to wait.
tcp_dropped() {
    need python3
    OUT=$CHECK_LOG.out
    # shellcheck disable=SC2016  # for the inner shell
    "$EFASIM" run -- python3 -c '
import signal, socket, subprocess, sys, time
full = socket.create_server(("127.0.0.1", 0), backlog=0)
port = full.getsockname()[1]
waiting = [socket.socket() for _ in range(4)]
for peer in waiting:
    peer.setblocking(False)
    peer.connect_ex(("127.0.0.1", port))
asks = subprocess.Popen([*sys.argv[1:], "--peer", f"127.0.0.1:{port}"])
for _ in range(20):
    time.sleep(0.05)
    asks.send_signal(signal.SIGSTOP)
    asks.send_signal(signal.SIGCONT)
status = asks.wait()
if waiting[-1].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
    print("the kernel gave up first")
sys.exit(status)
' "$BUILD/bin/srd_info" --selftest >"$OUT" 2>&1 && fail "TCP is dropped: status 0"
    cat "$OUT"
    grep -E '^srd_info: --peer=127.0.0.1:[0-9]+: Connection timed out; start .* through$' \
        "$OUT" && [ "$(wc -l <"$OUT")" = 1 ] || fail "TCP is dropped: not one line"
}

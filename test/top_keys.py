#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""top_keys.py SRD_INFO: srd_info --top on a terminal. Its peers are those of a
page that this program shows, in which each column has an order of its own.
top_keys.py SRD_INFO states: the causes and the waits of --top --once, of
processes that sleep, do not answer or are stopped while this one waits; of one that
another keeps off its processor.
top_keys.py SRD_INFO early: the first line where a wait has no cause yet."""

import contextlib
import faulthandler
import fcntl
import hashlib
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

from top_pages import show, whole

CLEAR = b'\033[H\033[J'
PEERS = 7
LINES = 200
WIDE = 200
# Ours, whatever else runs on this host.
PREFIX = b'\xfd\x5e' + bytes(12)
LINE = re.compile(r'^fd5e::\S+ +-? *\d+ .*', re.M)
# Each column's largest value is another peer's; key: its place in a line.
KEYS = {'m': 3, 'b': 5, 's': 6, 'r': 7, 'l': 8, 'd': 9, 'o': 10}
UNITS = {'K': 1e3, 'M': 1e6}


def row(peer):
    """A row of the page, of peer fd5e::100 + peer."""
    def turned(by):
        return (peer + by) % PEERS
    return struct.pack('<16sIIIIQHHHBBII',
                       PREFIX + bytes([1, peer]), peer + 1,
                       1000 + 100 * turned(0), 100 + 10 * turned(1), 0,
                       10000 + 1000 * turned(2), 100 + 50 * turned(3),
                       100 + 50 * turned(4), 6554 * (1 + turned(5)),
                       3 + 7 * turned(6), 0, 0, 0)


def page(rows, rank=3, quiet=0):
    """As base_top_page.h has it; without traffic for `quiet` seconds."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    count = len(rows) // 56
    head = struct.pack('<IIiIQQQIIII16s64s32s32s8s', 0, os.getpid(), rank, 77,
                       now, now - quiet * 10**9, now, count, 0, 1, count, gid(rank),
                       b'here', b'program', b'rdmap0s6', b'srd') + bytes(8 * 24)
    size = 16 + len(head) + 64 * 56
    head = struct.pack('<I', size) + head[4:]
    return whole(b'EFATOP 2' + bytes(8) + head + rows.ljust(64 * 56, b'\0'))


def gid(rank):
    return b'\xfe\x80' + bytes([rank]) * 14


def keep(fd, *what):
    """A page that is not old."""
    while True:
        os.pwrite(fd, page(*what), 0)
        time.sleep(0.3)


def other(rank, quiet, keeps=True):
    """A process without traffic for so long; its page gets old if not kept."""
    pid = os.fork()
    if pid == 0:
        fd = show(page(b'', rank, quiet))
        if keeps:
            keep(fd, b'', rank, quiet)
        time.sleep(60)
        os._exit(0)
    return pid


def busy(rank=None, rows=b''):
    """A process that computes on one processor; it has a page if it is a rank."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        if rank is not None:
            threading.Thread(target=keep, args=(show(page(rows, rank, 9)), rows, rank, 9),
                             daemon=True).start()
        hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)  # without Python's lock
        os._exit(0)
    return pid


def starves(program):
    """A rank that polls when it gets a processor, and hardly ever gets one."""
    def does(pid):
        top = json.loads(subprocess.run([program, '--top', '--json', '-'], check=False,
                                        stdout=subprocess.PIPE).stdout)  # 1: no page yet
        return [one['does'] for one in top['interfaces'] if one['pid'] == pid]

    with processes(busy(8), busy()) as (rank, _):
        while not does(rank):
            time.sleep(0.1)
        os.sched_setscheduler(rank, os.SCHED_IDLE, os.sched_param(0))
        time.sleep(1)
        expect(does(rank) == ['polls'], f'without a processor: {does(rank)}')


def wait(peer, age, qpn=77, sent=False, refused=0):
    """A row: a message has waited `age` ms for that peer's buffers, or for a completion."""
    return struct.pack('<16sIIIIQHHHBBII', peer, qpn, age, 0, 0, 0, 0, refused, 0, 0,
                       4 if sent else 3, 0, 0)


def top_once(program):
    """Its text, without the states of others' processes, which have no rank."""
    return re.sub('^process .*\n', '', subprocess.run(
        [program, '--top', '--once'], check=True, text=True,
        stdout=subprocess.PIPE).stdout, flags=re.M)


def becomes(program, want, what):
    """The text of --top --once, in a while: who lost his processor seems awake."""
    print(what, flush=True)
    while not re.match(want, text := top_once(program)):
        print(text, flush=True)
    return text


@contextlib.contextmanager
def processes(*pids):
    """A list of processes that end with the block."""
    others = list(pids)
    try:
        yield others
    finally:
        for pid in others:
            os.kill(pid, signal.SIGKILL)


def states(program):
    """Processes in worse and worse states, each of which another waits for."""
    def first(pid, rank, does):
        becomes(program, rf'rank {rank} \(process {pid}, program\) {does}; '
                r'1 rank waits; last traffic 3[6-9][0-9]\.[0-9] s ago\n', f'rank {rank} {does}')

    # nobody waits for rank 7: others come first
    with processes(other(4, 360), other(7, 720)) as others:
        time.sleep(2)
        os.kill(others[1], signal.SIGSTOP)
        rows = b''.join(wait(gid(4), 3600000 + 10 * each) for each in range(40)) + \
            wait(gid(5), 200) + wait(gid(6), 300) + \
            b''.join(wait(PREFIX + bytes([2, peer]), 3000000 + peer) for peer in range(22))
        threading.Thread(target=keep, args=(show(page(rows)), rows), daemon=True).start()
        first(others[0], 4, 'sleeps')
        others += [other(5, 360, False), other(6, 360)]
        time.sleep(3)
        first(others[2], 5, 'does not answer')
        os.kill(others[0], signal.SIGSTOP)
        first(others[0], 4, 'is stopped')
        text = becomes(program, ''.join(
            rf'rank {rank} .process {others[at]}, program. {does};?.*\n' for rank, at, does in
            ((4, 0, 'is stopped'), (5, 2, 'does not answer'), (6, 3, 'sleeps'),
             (7, 1, 'is stopped'))) + '[0-9]+ interfaces, ', 'a line for each cause')
        lines = [line for line in text.splitlines() if 'has waited' in line]
        expect(len(lines) == 16 and lines[0].endswith(
            'has waited 3600.4 s for rank 4 on here: for its receiver\'s buffers '
            '(40 endpoints)') and re.search('\n([5-9]|[1-9][0-9]+) more waits\n', text),
            f'25 waits, and those of others on this host: {text}')


def cut(program):
    """One that gets no answer from three hosts, beside another that waits for two,
    for one that sleeps, and is refused by a third: what is cut does not heal by itself,
    and comes first."""
    rows = b''.join(wait(PREFIX + bytes([2, peer]), 5000 + peer, sent=True)
                    for peer in range(3))
    with processes(busy(3, rows), busy(4, wait(PREFIX + bytes([2, 2]), 6000, sent=True) +
                                       wait(PREFIX + bytes([2, 5]), 5500, sent=True) +
                                       wait(PREFIX + bytes([2, 6]), 5200, refused=900) +
                                       wait(gid(9), 9000)), other(9, 360)) as others:
        who = [f'rank {rank} .process {pid}, program. ' for rank, pid in
               zip((3, 4, 9), others)]
        becomes(program, rf'the network of {who[0]}on here is cut, .*: it has waited up to '
                r'5.0 s for completions of 3 endpoints\nthe network to fd5e::202 does not '
                rf'answer: {who[1]}has waited, up to 6.0 s.*\nthe network to fd5e::205 does '
                rf'not answer: .*\n{who[2]}sleeps; 1 rank waits; .*\n'
                "fd5e::206 stalls 1 rank, waiting for its receiver's buffers",
                'one whose network is cut')


def awaited(program):
    """The first of two that are stopped is that for which more wait, not the more silent."""
    both = wait(gid(5), 5000) + wait(gid(4), 5000)
    with processes(other(4, 360), other(5, 720), busy(1, both),
                   busy(2, wait(gid(4), 5000))) as others:
        time.sleep(1)
        for pid in others[:2]:
            os.kill(pid, signal.SIGSTOP)
        becomes(program,
                rf'rank 4 \(process {others[0]}, program\) is stopped; 2 ranks wait; .*\n'
                rf'rank 5 \(process {others[1]}, program\) is stopped; 1 rank waits; ',
                'more wait for rank 4')


def early(program):
    """A wait too short to have a cause: the first line does not deny it."""
    rows = wait(PREFIX + bytes([2, 1]), 500)
    threading.Thread(target=keep, args=(show(page(rows)), rows), daemon=True).start()
    text = top_once(program)
    expect(re.search(rf'process {os.getpid()}\) has waited 0.5 s', text) and
           'no process is stalled' not in text, f'a wait of half a second: {text}')


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, *arguments):
        self.text = b''
        self.fd, self.slave = pty.openpty()
        self.size(LINES)
        self.before = termios.tcgetattr(self.slave)
        self.program = subprocess.Popen(
            arguments, stdin=self.slave, stdout=self.slave,
            stderr=self.slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def size(self, lines):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack('HHHH', lines, WIDE, 0, 0))

    def pages(self, count, seconds=None):
        """Reads until there are that many new pages or more, or so long; returns them.
        A page ends with the processes, its first line may end as theirs do."""
        self.text = b''
        while self.text.count(CLEAR) < count or \
                b' PROGRAM ' not in self.text.rpartition(CLEAR)[2] or \
                not self.text.endswith(b'ago\r\n'):
            if not select.select([self.fd], [], [], seconds)[0]:
                break
            self.text += os.read(self.fd, 65536)
        found = self.text.replace(b'\r\n', b'\n').split(CLEAR)[1:]
        return [each.decode() for each in found]

    def key(self, key):
        """The page that follows a key."""
        os.write(self.fd, key.encode())
        return self.pages(1)[-1]

    def end(self):
        """How it ended; the terminal is as it was."""
        status = self.program.wait()
        if termios.tcgetattr(self.slave) != self.before:
            sys.exit('the terminal is not as it was')
        return status


def number(word):
    """A number of a column: 1.23K, 45%."""
    word = word.rstrip('%')
    return float(word.rstrip('KM')) * UNITS.get(word[-1], 1)


def column(text, place):
    """A column of our peers, as they are sorted."""
    return [number(line.split()[place]) for line in LINE.findall(text)]


def expect(truth, what):
    if not truth:
        sys.exit('not so: ' + what)


def keys(program):
    """A key sorts at once; one without meaning draws nothing; q quits."""
    top = Terminal(program, '--top', '--interval', '3600')
    expect(len(top.pages(1)) == 1, 'a first page')
    raw = termios.tcgetattr(top.slave)[3]
    expect(not raw & (termios.ICANON | termios.ECHO), 'keys without a new line')
    firsts = set()
    for key, place in KEYS.items():
        text = top.key(key)
        values = column(text, place)
        expect(len(values) == PEERS and len(set(values)) == PEERS and
               values == sorted(values, reverse=True),
               f'key {key} sorts column {place}: {text}')
        firsts.add(LINE.search(text).group(0).split()[0])
    expect(len(firsts) == PEERS, f'another peer first by each key: {firsts}')
    os.write(top.fd, b'x')
    expect(top.pages(1, 1) == [], 'a key without meaning draws nothing')
    expect(column(top.key(' '), 10) == values, 'a space draws anew')
    top.size(12)
    text = top.key(' ')
    expect(text.count('\n') <= 12, f'a terminal of 12 lines: {text}')
    os.write(top.fd, b'q')
    expect(top.end() == 0, 'q quits')


def interval(program):
    """Pages come by themselves, and not sooner than that."""
    began = time.monotonic()
    top = Terminal(program, '--top', '--interval', '0.5')
    found, took = len(top.pages(5)), time.monotonic() - began
    expect(found <= 1 + took / 0.5, f'{found} pages in {took} s')
    os.write(top.fd, b'q')
    expect(top.end() == 0, 'q quits')


def signals(program):
    for name in 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT':
        top = Terminal(program, '--top')
        top.pages(1)
        top.program.send_signal(signal.Signals[name])
        expect(top.end() == -signal.Signals[name], f'{name} ends it')


def main(program):
    rows = b''.join(row(peer) for peer in range(PEERS))
    threading.Thread(target=keep, args=(show(page(rows)), rows), daemon=True).start()
    keys(program)
    interval(program)
    signals(program)
    print(f'{len(KEYS)} keys, two intervals, four signals')


faulthandler.register(signal.SIGTERM, chain=True)  # where the check's limit ended it
if sys.argv[2:] == ['states']:
    starves(sys.argv[1])
    cut(sys.argv[1])
    awaited(sys.argv[1])
    states(sys.argv[1])
elif sys.argv[2:] == ['early']:
    early(sys.argv[1])
else:
    main(sys.argv[1])

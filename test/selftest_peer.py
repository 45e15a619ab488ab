#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""selftest_peer.py PORT MODE: a bad peer of srd_info --selftest --listen (early,
garbage, long, numbers, vanish), a bad listener for its --peer (nonsense, endless,
newer), or between both who hangs up in the middle (between, to PORT + 1)."""

import random
import socket
import sys
import time


def connect(port):
    for _ in range(600):
        try:
            return socket.create_connection(('localhost', port), 20)
        except OSError:
            time.sleep(0.1)
    sys.exit('nobody listens')


def ask(file, line):
    file.write(line.encode() + b'\n')
    file.flush()
    return file.readline().decode()


def numbers(port):
    """Commands with numbers that no honest peer says, beside many callers who say nothing."""
    random.seed(1)
    silent = [connect(port) for _ in range(100)]
    file = connect(port).makefile('rwb')
    if not ask(file, 'hello').startswith('ok 1 '):
        sys.exit('no hello')
    values = ['0', '1', '-1', '64', '4096', '65536', '4294967295', '99999999999',
              '18446744073709551616', 'x', '', 'fe80' * 8, 'f' * 32, '%s%n']
    verbs = ['open', 'post', 'again', 'know', 'echo', 'forget', 'fill', 'look',
             'arrived', 'close', 'die', 'nosuch', '']
    for _ in range(3000):
        line = ' '.join([random.choice(verbs)] +
                        random.choices(values, k=random.randrange(7)))
        answer = ask(file, line)
        if not answer.startswith(('ok', 'error')):
            sys.exit(f'{line!r}: {answer!r}')
    if not ask(file, 'hello').startswith('ok 1 '):
        sys.exit('no hello after all that')
    file.write(b'bye\n')
    file.flush()
    for peer in silent:
        peer.close()


def early(port):
    connect(port).close()


def garbage(port):
    peer = connect(port)
    try:
        peer.sendall(b'\x00\xff\x80binary\n' * 100)
        if peer.recv(10) not in (b'', b'error hell'):
            sys.exit('garbage was answered')
    except ConnectionError:
        pass # it hung up


def long(port):
    peer = connect(port)
    try:
        peer.sendall(b'hello ' + b'1' * 100000)
        peer.recv(10)
    except ConnectionError:
        pass # the same


def vanish(port):
    file = connect(port).makefile('rwb')
    ask(file, 'hello')
    if not ask(file, 'open 64 64 64 1 7').startswith('ok '):
        sys.exit('no queue pair')


def served(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('', port))
    listener.listen()
    return listener.accept()[0]


def answered(port, text):
    peer = served(port)
    peer.recv(100)
    try:
        peer.sendall(text)
    except ConnectionError:
        pass
    peer.close()


def nonsense(port):
    answered(port, b'ok 1 nonsense -5 99999999999999999999999\n')


def endless(port):
    answered(port, b'ok 1 ' + b'f' * 10000000)


def newer(port):
    answered(port, b'ok 2 something new\n')


def between(port):
    """Passes forty lines on, and the answers."""
    peer = served(port).makefile('rwb')
    far = connect(port + 1).makefile('rwb')
    for _ in range(40):
        answer = ask(far, peer.readline().decode().rstrip('\n'))
        peer.write(answer.encode())
        peer.flush()


MODES = {mode.__name__: mode for mode in (
    early, garbage, long, numbers, vanish, nonsense, endless, newer, between)}
MODES[sys.argv[2]](int(sys.argv[1]))

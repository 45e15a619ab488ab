#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""selftest_peer.py PORT MODE: a bad peer of srd_info --selftest --listen (garbage,
long, numbers), or a bad listener (serve) for its --peer."""

import random
import socket
import sys
import time


def connect(port):
    for _ in range(100):
        try:
            return socket.create_connection(('localhost', port), 10)
        except OSError:
            time.sleep(0.1)
    sys.exit('nobody listens')


def ask(file, line):
    file.write(line.encode() + b'\n')
    file.flush()
    return file.readline().decode()


def numbers(port):
    """Commands with numbers that no honest peer says."""
    random.seed(1)
    file = connect(port).makefile('rwb')
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


def garbage(port):
    peer = connect(port)
    try:
        peer.sendall(b'\x00\xff\x80binary\n' * 100)
        if peer.recv(10) != b'':
            sys.exit('garbage was answered')
    except ConnectionError:
        pass # it hung up


def long(port):
    peer = connect(port)
    try:
        peer.sendall(b'open ' + b'1' * 100000)
        peer.recv(10)
    except ConnectionError:
        pass # the same


def serve(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('', port))
    listener.listen()
    peer, _ = listener.accept()
    peer.recv(100)
    peer.sendall(b'ok 1 nonsense -5 99999999999999999999999\n')
    peer.close()


{'garbage': garbage, 'long': long, 'numbers': numbers,
 'serve': serve}[sys.argv[2]](int(sys.argv[1]))

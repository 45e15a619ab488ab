#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""top_pages.py find PID          prints the page of a process, and its mode
top_pages.py hostile PID SEED      shows pages that are none: of random bytes,
                                   too short, and like that process's with each
                                   member changed but for the hash, or while they
                                   are read; says so, then waits to be killed.
top_pages.py many PID COUNT        shows COUNT pages like that process's.
top_pages.py forged PID COUNT      shows COUNT whose hash is never right.
top_pages.py foreign PID UID       shows one that user UID has made, as a setuid
                                   program may that was started with it.
top_pages.py setuid PID UID        shows one as a setuid program that UID has started.
top_pages.py fifo PID FOLDER       holds a FIFO that bears a page's name, by O_PATH,
                                   and says who opens it. Its mounts are its own."""

import os
import random
import resource
import struct
import subprocess
import sys
import threading

NAME = 'ucx-efa-srd-top'
HASHED = 16   # magic and hash stand before what is hashed
PID_AT = 20
FIRST, PRIME, MASK = 0xcbf29ce484222325, 0x100000001b3, (1 << 64) - 1


def paths(pid):
    """The pages of a process."""
    folder = f'/proc/{pid}/fd'
    for entry in sorted(os.listdir(folder)):
        path = f'{folder}/{entry}'
        try:
            if os.readlink(path).startswith(f'/memfd:{NAME}'):
                yield path
        except FileNotFoundError:
            pass


def whole(page):
    """The page with its hash."""
    value = FIRST
    for (word,) in struct.iter_unpack('<Q', page[HASHED:]):
        value = ((value ^ word) * PRIME) & MASK
    return page[:8] + struct.pack('<Q', value) + page[HASHED:]


def show(page):
    """A page of ours, of any bytes."""
    fd = os.memfd_create(NAME)
    os.write(fd, page)
    return fd


def mutant(page, dice):
    """A page that is whole and of this process; what else it says is not so."""
    page = bytearray(page)
    page[PID_AT:PID_AT + 4] = struct.pack('<I', os.getpid())
    kind = dice.randrange(4)
    for _ in range(dice.choice([1, 10, 1000])):
        at = dice.randrange(24, len(page))
        page[at] = dice.choice([0, 0x1b, 0x7f, 0xff, dice.randrange(256)])
    if kind == 0:     # all that may be a number is as large as it can be
        page[64:] = b'\xff' * (len(page) - 64)
    elif kind == 1:
        page[32:] = dice.randbytes(len(page) - 32)
    page[16:20] = struct.pack('<I', len(page))
    return whole(bytes(page))


def rewrite(fd, page, dice):
    """Changes while it is read, and is never whole for long."""
    while True:
        at = dice.randrange(24, len(page) - 8)
        os.pwrite(fd, dice.randbytes(8), at)
        os.pwrite(fd, page, 0)


def ready():
    print('ready', flush=True)
    sys.stdin.read()


def hostile(pid, seed):
    dice = random.Random(seed)
    with open(next(paths(pid)), 'rb') as file:
        page = file.read()
    show(b'')
    show(page[:100])
    show(page + b'\0')
    show(dice.randbytes(len(page)))
    show(page)    # another process's
    reader, writer = os.pipe()
    os.write(writer, b'x')
    for _ in range(50):
        show(mutant(page, dice))
    mine = mutant(page, dice)
    threading.Thread(target=rewrite, args=(show(mine), mine, dice),
                     daemon=True).start()
    ready()
    os.close(reader)


def own(pid):
    """The page of a process, as one of ours."""
    with open(next(paths(pid)), 'rb') as file:
        page = bytearray(file.read())
    page[PID_AT:PID_AT + 4] = struct.pack('<I', os.getpid())
    return whole(bytes(page))


def many(pid, count):
    for _ in range(count):
        show(own(pid))
    ready()


def forged(pid, count):
    resource.setrlimit(resource.RLIMIT_NOFILE,
                       (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    page = own(pid)
    fd = show(page[:8] + bytes(8) + page[HASHED:])
    for _ in range(count - 1):
        os.dup(fd)
    ready()


def setuid(pid, uid):
    page = own(pid)
    os.setresuid(uid, 0, 0)
    show(page)
    ready()


def foreign(pid, uid):
    page = own(pid)
    os.seteuid(uid)
    show(page)
    os.seteuid(0)
    ready()


def fifo(_, folder):
    path = f'/memfd:{NAME}'
    subprocess.run(f'mount -t tmpfs page {folder} && cd {folder} && mkdir old && '
                   f'mkfifo .{path} && pivot_root . old', shell=True, check=True)
    os.open(path, os.O_PATH)
    threading.Thread(target=lambda: print('opened', os.open(path, os.O_WRONLY), flush=True),
                     daemon=True).start()
    ready()


def find(pid):
    """0600, and not to be written by others of this user (Linux 5.1)."""
    for path in paths(pid):
        print(path, oct(os.stat(path).st_mode & 0o777))
        try:
            os.pwrite(os.open(path, os.O_RDWR), b'x', 0)
            print('written')
        except PermissionError:
            print('sealed')


if __name__ == '__main__':
    {'find': find, 'hostile': hostile, 'many': many, 'forged': forged, 'setuid': setuid,
     'foreign': foreign, 'fifo': fifo}[sys.argv[1]](*(
         int(word) if word.isdigit() else word for word in sys.argv[2:]))

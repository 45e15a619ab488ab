# SPDX-License-Identifier: BSD-3-Clause
"""A started efapci, a client of vfio-user that sends what it likes, and a guest: its
memory, an admin queue, and the commands of a driver that may be any. The protocol is
written down here once more: the program's own headers are not used."""

import collections
import mmap
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

VERSION, DMA_MAP, DMA_UNMAP, INFO, REGION_INFO = 1, 2, 3, 4, 5
IRQ_INFO, SET_IRQS, READ, WRITE, RESET = 7, 8, 9, 10, 13
BAR0, BAR2, BAR4, CONFIG = 0, 2, 4, 7
MSIX = 2
CLOSED, SILENT = -1, -2  # in place of an errno that was answered

# Operations of the admin queue, and a status of its answers
CREATE_QP, MODIFY_QP, REG_MR, CREATE_CQ, DESTROY_CQ = 1, 2, 7, 9, 10
ALLOC_PD, ALLOC_UAR = 14, 16
CREATE_CNTR, DESTROY_CNTR, ATTACH_CNTR, MODIFY_CNTR, DETACH_CNTR = 25, 26, 27, 28, 29
ILLEGAL, BUSY = 5, 7

# Registers of BAR 0
AQ_BASE, AQ_CAPS, ACQ_BASE, ACQ_CAPS, AQ_PROD = 0x10, 0x18, 0x20, 0x28, 0x2c
MASK, CONTROL, STATUS = 0x4c, 0x54, 0x58

PATIENCE = 60  # seconds: what is not there then does not come

Reply = collections.namedtuple('Reply', 'error body fds')


def until(is_so):
    """Looks until it is so; whether it came to be."""
    end = time.monotonic() + PATIENCE
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(is_so())


def memory_file(size, flags=0):
    fd = os.memfd_create('guest', os.MFD_CLOEXEC | flags)
    os.ftruncate(fd, size)
    return fd


def fields(size, *parts):
    """`size` bytes with these values, each (offset, kind of struct, value)."""
    data = bytearray(size)
    for at, kind, value in parts:
        struct.pack_into('<' + kind, data, at, value)
    return bytes(data)


def at(data, kind, offset):
    return struct.unpack_from('<' + kind, data, offset)[0]


class Server:
    """efapci with two functions; its output goes into its log, or to `out`."""

    program = None

    def __init__(self, out=None, options=()):
        self.folder = tempfile.mkdtemp(prefix='efapci.')
        self.paths = [f'{self.folder}/{number}' for number in range(2)]
        with open(f'{self.folder}/log', 'wb') as log:
            self.process = subprocess.Popen(
                [self.program, *options, *[f'efa3:{path}' for path in self.paths]],
                stdout=out or log, stderr=out or log)
        until(lambda: os.path.exists(self.paths[-1]))

    def close(self):
        self.process.terminate()
        status, log = self.process.wait(), self.log()
        shutil.rmtree(self.folder)
        assert status == 0, f'efapci ended with {status}: {log}'

    def is_alive(self):
        return self.process.poll() is None

    def stop(self, stopped):
        self.process.send_signal(signal.SIGSTOP if stopped else signal.SIGCONT)

    def fds(self):
        """How many descriptors it has open; it closes some later."""
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def log(self):
        with open(f'{self.folder}/log', encoding='utf-8') as file:
            return file.read()


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        until(lambda: self.socket.connect_ex(path) == 0)  # it may not listen yet

    @staticmethod
    def head(command, size, flags=0):
        return struct.pack('<HHIII', 7, command, size, flags, 0)

    def send(self, data, fds=(), can_wait=True):
        """All of it, or as much as goes without waiting: bytes that went."""
        self.socket.settimeout(None)
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                    struct.pack(f'{len(fds)}i', *fds))] if fds else []
        try:
            return self.socket.sendmsg([data], control, socket.MSG_NOSIGNAL |
                                       (0 if can_wait else socket.MSG_DONTWAIT))
        except OSError:
            return 0

    def receive(self):
        data, fds, size, end = b'', [], 16, time.monotonic() + PATIENCE
        while len(data) < size:
            self.socket.settimeout(max(end - time.monotonic(), 0.001))
            try:
                more, control, *_ = self.socket.recvmsg(size - len(data),
                                                        socket.CMSG_SPACE(64))
            except TimeoutError:
                return Reply(SILENT, b'', [])
            except OSError:
                more = b''
            if not more:
                return Reply(CLOSED, b'', [])
            for _, _, numbers in control:
                fds += struct.unpack(f'{len(numbers) // 4}i', numbers)
            data += more
            if len(data) == 16:
                size = at(data, 'I', 4)
        return Reply(at(data, 'I', 12) if at(data, 'I', 8) & 0x20 else 0,
                     data[16:], fds)

    def ask(self, command, body=b'', fds=()):
        self.send(self.head(command, 16 + len(body)) + body, fds)
        return self.receive()

    @staticmethod
    def map_of(iova, size, offset=0, flags=3):
        return struct.pack('<IIQQQ', 32, flags, offset, iova, size)

    def map(self, iova, size, fd, offset=0, flags=3):
        return self.ask(DMA_MAP, self.map_of(iova, size, offset, flags), [fd]).error

    def unmap(self, iova, size):
        return self.ask(DMA_UNMAP, struct.pack('<QQQ', 24, iova, size)).error

    def access(self, command, region, offset, count, value=0):
        body = struct.pack('<QII', offset, region, count)
        return self.ask(command, body + (struct.pack('<I', value)
                                         if command == WRITE else b''))

    def write(self, region, offset, value):
        assert self.access(WRITE, region, offset, 4, value).error == 0

    def read(self, region, offset):
        reply = self.access(READ, region, offset, 4)
        assert reply.error == 0
        return at(reply.body, 'I', 16)

    def is_served(self):
        """Whether it is answered as ever."""
        reply = self.access(READ, CONFIG, 0, 4)
        return reply.error == 0 and at(reply.body, 'H', 16) == 0x1d0f


class Guest(Client):
    """`size` bytes of memory at BASE, of this file or a new one, of which the guest
    itself sees the first SIZE; a vector for the admin's interrupt."""

    BASE, SIZE = 0x100000, 4 << 20
    AQ, ACQ, FREE = 0, 0x40000, 0x80000  # offsets in it
    DEPTH = 64

    def __init__(self, path, size=SIZE, file=None):
        super().__init__(path)
        self.file = memory_file(size) if file is None else file
        self.memory = mmap.mmap(self.file, self.SIZE)
        self.irq = os.eventfd(0)
        self.handle = self.send_db = self.written = self.answered = 0
        assert self.ask(VERSION, bytes(4)).error == 0
        assert self.map(self.BASE, size, self.file) == 0
        assert self.ask(SET_IRQS, struct.pack( # eventfd, trigger
            '<5I', 20, 1 << 2 | 1 << 5, MSIX, 0, 1), [self.irq]).error == 0
        self.set_up()

    def __del__(self):
        os.close(self.irq)
        os.close(self.file)

    def set_up(self):
        """The admin queue, as after a reset."""
        for base, place, caps in ((AQ_BASE, self.AQ, AQ_CAPS),
                                  (ACQ_BASE, self.ACQ, ACQ_CAPS)):
            self.write(BAR0, base, self.BASE + place)
            self.write(BAR0, base + 4, 0)
            self.write(BAR0, caps, self.DEPTH | 64 << 16)
        self.written = self.answered = 0

    def reset(self):
        self.write(BAR0, CONTROL, 1)
        self.write(BAR0, CONTROL, 0)

    def write_command(self, op, flags, told):
        place = self.AQ + self.written % self.DEPTH * 64
        phase = int(not self.written & self.DEPTH)
        self.memory[place:place + 64] = struct.pack(
            '<BxBB60s', self.written & 0xff, op, flags | phase, told)
        self.written += 1

    def ring(self):
        self.write(BAR0, AQ_PROD, self.written)

    def answer(self, seconds=PATIENCE):
        """The answer to the next command: its 64 bytes; empty: none came."""
        place = self.ACQ + self.answered % self.DEPTH * 64
        phase = int(not self.answered & self.DEPTH)
        end = time.monotonic() + seconds
        while self.memory[place + 3] & 1 != phase:
            if time.monotonic() > end:
                return b''
            time.sleep(0.0001)
        self.answered += 1
        return self.memory[place:place + 64]

    def command(self, op, told=b'', flags=0):
        """One command: its status, and the answer's fields."""
        self.write_command(op, flags, told)
        self.ring()
        answer = self.answer()
        return (answer[2], answer[8:]) if answer else (-1, b'')

    def endless_list(self, pages, page):
        """A registration of this many pages, whose list is a ring of chunks that all
        name the memory's page `page`."""
        chunk = self.BASE + self.FREE + 4096
        self.memory[self.FREE:self.FREE + 8192] = struct.pack(
            '<512Q510Q4I', *[page] * 512, *[self.BASE + self.FREE] * 510, 4092, chunk,
            0, 0)
        return fields(60, (4, 'I', 4092), (8, 'I', chunk), (36, 'Q', pages * 4096),
                      (44, 'B', 12), (45, 'B', 1))

    def make_qp(self):
        """A queue pair that can send."""
        for op, told in (
                (ALLOC_PD, b''), (ALLOC_UAR, b''),
                (CREATE_CQ, fields(60, (1, 'B', 8), (2, 'H', 64),
                                   (8, 'I', self.BASE + self.FREE), (20, 'H', 1))),
                (CREATE_QP, fields(60, (2, 'B', 2), (36, 'I', 16 * 64),
                                   (40, 'I', 16)))):
            status, result = self.command(op, told)
            assert status == 0, op
        self.handle, self.send_db = at(result, 'I', 0), at(result, 'I', 12)

    def to_rts(self):
        for state in range(4):
            assert self.command(MODIFY_QP, struct.pack(
                '<III', 1, self.handle, state))[0] == 0

    def interrupted(self, seconds=PATIENCE):
        return bool(select.select([self.irq], [], [], seconds)[0] and
                    os.eventfd_read(self.irq))

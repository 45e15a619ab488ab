#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hostile.py EFAPCI [TEST...]: machines and guests that mean harm, one on function 0
of a started efapci; one on function 1 is served as ever."""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from client import (
    ACQ_BASE, ACQ_CAPS, ALLOC_PD, ALLOC_UAR, AQ_BASE, AQ_CAPS, AQ_PROD, ATTACH_CNTR, BAR0,
    BAR2, BAR4, BUSY, CLOSED, CONFIG, CONTROL, CREATE_CNTR, CREATE_CQ, DESTROY_CNTR,
    DESTROY_CQ, DETACH_CNTR, DMA_MAP, DMA_UNMAP, ILLEGAL, INFO, IRQ_INFO, MASK, MODIFY_CNTR,
    MSIX, PATIENCE, READ, REGION_INFO, REG_MR, RESET, SET_IRQS, STATUS, VERSION, WRITE,
    Client, Guest, Server, at, fields, memory_file, until)

ALL = (1 << 64) - 1
FATAL = 0x20  # of STATUS
LIST = 2 | 4  # flags of a registration whose pages are in a list of chunks


def fill(fd):
    """Fills what writes without waiting."""
    os.set_blocking(fd, False)
    try:
        while os.write(fd, bytes(1024)):
            pass
    except BlockingIOError:
        os.set_blocking(fd, True)


class Beside(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.other = Guest(self.server.paths[1])

    def tearDown(self):
        self.assertTrue(self.server.is_alive())
        self.assertTrue(self.other.is_served())
        self.assertEqual(self.other.command(ALLOC_PD)[0], 0)

    def client(self):
        return Client(self.server.paths[0])

    def guest(self, *memory):
        return Guest(self.server.paths[0], *memory)

    def broken(self, guest):
        self.assertTrue(until(lambda: guest.read(BAR0, STATUS) & FATAL))

    def cut(self, guest):
        """A command that is gone breaks that device alone."""
        self.assertEqual(guest.command(ALLOC_PD)[0], 0)
        os.ftruncate(guest.file, 0)
        guest.write(BAR0, AQ_PROD, 2)
        self.broken(guest)

    def refused(self, reply, why=errno.EINVAL):
        self.assertEqual(reply.error, why)


class Message(Beside):
    """Messages that are none, and machines that stop in the middle of one."""

    def tearDown(self):
        super().tearDown()
        self.assertTrue(self.client().is_served())  # after the one before has left

    def test_of_no_possible_size_closes(self):
        for head in Client.head(VERSION, 8), Client.head(WRITE, 0xffffffff):
            bad = self.client()
            bad.send(head)
            self.assertEqual(bad.receive().error, CLOSED)

    def test_that_is_no_command_is_refused(self):
        """Unknown ones, ones that are too short, and an answer."""
        bad = self.client()
        for command in 0, 6, 11, 12, 14, 1000, 65535:
            self.refused(bad.ask(command, bytes(64)), errno.EOPNOTSUPP)
        for command in (VERSION, DMA_MAP, DMA_UNMAP, REGION_INFO, IRQ_INFO, SET_IRQS,
                        READ, WRITE):
            self.refused(bad.ask(command, bytes(3)))
        bad.send(Client.head(INFO, 16, 1))
        self.refused(bad.receive())
        self.assertTrue(bad.is_served())

    def test_that_stops_in_the_middle_stops_nobody(self):
        """In the head, or behind it."""
        slow, message = self.client(), Client.head(REGION_INFO, 16 + 32) + bytes(32)
        for sent in 7, 16 + 20:
            slow.send(message[:sent])
            time.sleep(0.1)
            self.assertTrue(self.other.is_served())
            slow.send(message[sent:])
            self.assertEqual(slow.receive().error, 0)

    def test_who_reads_nothing_stops_nobody(self):
        deaf, message, idle, asked = self.client(), Client.head(INFO, 16), 0, 0
        while idle < 20 and asked < 100000:
            if deaf.send(message, can_wait=False) == len(message):
                idle, asked = 0, asked + 1
            else:
                idle += 1  # the way there is full, as nobody takes more
                time.sleep(0.01)
        self.assertEqual(idle, 20)
        self.assertTrue(self.other.is_served())
        for number in range(asked):
            self.assertEqual(deaf.receive().error, 0, number)

    def test_who_leaves_before_the_answer_ends_nobody(self):
        for _ in range(20):
            self.client().send(50 * Client.head(INFO, 16))

    def test_fds_of_refused_messages_are_closed(self):
        bad, file, body = self.client(), memory_file(4096), Client.map_of(0x10000, 4096)
        self.refused(bad.ask(INFO, bytes(16), [file]))
        before = self.server.fds()
        for _ in range(50):
            self.refused(bad.ask(INFO, bytes(16), [file]))
            self.refused(bad.ask(REGION_INFO, bytes(2), 2 * [file]))
            self.refused(bad.ask(999, bytes(2), [file]))
        for command, number in (DMA_MAP, 2), (DMA_MAP, 20), (SET_IRQS, 200):
            self.refused(bad.ask(command, body, number * [file]))
        self.assertTrue(until(lambda: self.server.fds() <= before))
        self.assertEqual(bad.map(0x10000, 4096, file), 0)
        os.close(file)

    def test_access_beyond_a_region_is_refused(self):
        client = self.client()
        for where in ((CONFIG, 254, 4), (CONFIG, ALL, 4), (CONFIG, 0, 4097),
                      (BAR0, 0x4000, 4), (BAR0, ALL - 1, 4), (BAR4, 1 << 22, 4),
                      (1, 0, 4), (8, 0, 4), (0xffffffff, 0, 4), (BAR0, 0, 0),
                      (BAR0, 0, 0xffffffff), (BAR2, ALL, 8)):
            for command in READ, WRITE:
                with self.subTest(where=where):
                    self.refused(client.access(command, *where))
        self.refused(client.access(WRITE, CONFIG, 0, 64))  # more bytes than came
        self.assertTrue(client.is_served())

    def test_socket_is_not_for_all(self):
        """One is served at a time."""
        mask = os.umask(0)
        self.addCleanup(os.umask, mask)
        server = Server()
        self.addCleanup(server.close)
        self.assertFalse(os.stat(server.paths[0]).st_mode & stat.S_IWOTH)

    def test_path_that_is_not_ours_stays(self):
        """A file, and a socket of another user."""
        def refused(text):
            done = subprocess.run([Server.program, f'efa1:{name}'], text=True, timeout=PATIENCE,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stdout + done.stderr)

        name = self.server.folder + '/precious'
        with open(name, 'w', encoding='ascii') as file:
            file.write('precious')
        refused('no socket')
        with open(name, encoding='ascii') as file:
            self.assertEqual(file.read(), 'precious')
        os.unlink(name)
        if os.geteuid() != 0:
            self.skipTest('needs root to make one')
        with socket.socket(socket.AF_UNIX) as theirs:
            theirs.bind(name)
            os.chown(name, 4242, 4242)
            refused('no socket of this user')
            os.stat(name)


class Hostile(Beside):
    """Commands, interrupts and doorbells of a guest that means harm."""

    def test_registrations_of_millions_of_pages_stop_nobody(self):
        guest, served, answers = self.guest(96 << 30), 0, 0
        told = guest.endless_list((96 << 30) // 4096, Guest.BASE)
        self.assertEqual(guest.command(ALLOC_PD)[0], 0)
        for _ in range(60):
            guest.write_command(REG_MR, LIST, told)
        guest.send(Client.head(WRITE, 16 + 20) +
                   struct.pack('<QIII', AQ_PROD, BAR0, 4, 61))
        while answers < 3:
            self.assertTrue(self.other.is_served())
            served += 1
            answers += guest.answer(0) != b''
        self.assertGreater(served, 10, 'once or twice between two answers')

    def test_registration_of_nothing_is_refused(self):
        """More than the memory, and pages that are not there, or are of 16 TB."""
        guest = self.guest()
        self.assertEqual(guest.command(ALLOC_PD)[0], 0)
        for pages, page, want in ((2048, Guest.BASE, ILLEGAL), (1024, Guest.BASE, 0),
                                  (4, Guest.BASE + Guest.SIZE, ILLEGAL)):
            self.assertEqual(guest.command(REG_MR, guest.endless_list(pages, page),
                                           LIST)[0], want)
        for shift, want in (12, 0), (44, ILLEGAL):
            self.assertEqual(guest.command(REG_MR, fields(
                60, (4, 'Q', Guest.BASE), (36, 'Q', 4096), (44, 'B', shift),
                (45, 'B', 1)))[0], want)

    def test_counters_of_nothing_are_refused(self):
        guest, place = self.guest(), Guest.BASE + Guest.FREE
        guest.make_qp()
        for uar, address, want in ((0, place + 4, ILLEGAL), (9, place, ILLEGAL),
                                   (0, Guest.BASE + Guest.SIZE, ILLEGAL),
                                   (0, place | 1 << 63, ILLEGAL), (0, place, 0)):
            status, told = guest.command(CREATE_CNTR, fields(
                60, (0, 'H', uar), (4, 'Q', address)))
            self.assertEqual(status, want)
        counter, queue = at(told, 'I', 0), guest.handle
        for op, *of, want in (
                (ATTACH_CNTR, counter, 0, queue, 0, ILLEGAL),
                (ATTACH_CNTR, counter, 0, queue, 1 << 8, ILLEGAL),
                (ATTACH_CNTR, counter, 0, 9999, 1, ILLEGAL),
                (ATTACH_CNTR, counter, 1, queue, 1, ILLEGAL),
                (ATTACH_CNTR, 9999, 0, queue, 1, ILLEGAL),
                (ATTACH_CNTR, counter, 0, queue, 1, 0),
                (ATTACH_CNTR, counter, 0, queue, 1, BUSY),
                (MODIFY_CNTR, counter, 0, 0, 0, 0), (MODIFY_CNTR, counter, 9, 0, 0, ILLEGAL),
                (DESTROY_CNTR, counter, 0, 0, 0, BUSY),
                (DETACH_CNTR, counter, 0, queue, 3, ILLEGAL),
                (DETACH_CNTR, counter, 0, queue, 1, 0),
                (DESTROY_CNTR, counter, 0, 0, 0, 0),
                (DESTROY_CNTR, counter, 0, 0, 0, ILLEGAL)):
            told = fields(60, *zip((0, 4, 8, 12), 'IBII', of))
            self.assertEqual(guest.command(op, told)[0], want, (op, of))

    def test_command_that_is_reset_while_it_is_done_ends_nobody(self):
        size = 96 << 30
        guest = self.guest(size)
        for number in range(10):
            self.assertEqual(guest.command(ALLOC_PD)[0], 0)
            guest.write_command(REG_MR, LIST, guest.endless_list(size // 4096,
                                                                 Guest.BASE))
            guest.ring()
            if number % 2:
                self.assertEqual(guest.unmap(Guest.BASE, size), 0)
                self.assertEqual(guest.map(Guest.BASE, size, guest.file), 0)
            guest.reset()
            guest.memory[Guest.ACQ:Guest.ACQ + Guest.DEPTH * 64] = bytes(Guest.DEPTH * 64)
            guest.set_up()

    def test_interrupts_to_other_descriptors_are_refused(self):
        client, pipes, event = self.client(), os.pipe(), os.eventfd(0)

        def ask(start, *fds):
            return client.ask(SET_IRQS, struct.pack(
                '<5I', 0, 1 << 2 | 1 << 5, MSIX, start, 1), fds)

        self.refused(ask(0, pipes[1]))
        before = self.server.fds()
        self.refused(ask(0, pipes[1]))
        self.refused(ask(0, event, event))
        self.refused(ask(65, event))
        self.refused(ask(0xffffffff, event))
        self.assertTrue(until(lambda: self.server.fds() <= before))
        self.assertEqual(ask(64, event).error, 0)
        self.assertTrue(until(lambda: self.server.fds() <= before + 1))
        for fd in *pipes, event:
            os.close(fd)

    def test_full_eventfd_stops_nobody(self):
        guest = self.guest()
        os.eventfd_write(guest.irq, ALL - 1)
        self.assertEqual(guest.command(ALLOC_PD)[0], 0)  # a write to it waits
        self.assertTrue(self.other.is_served())
        os.eventfd_read(guest.irq)
        self.assertTrue(guest.interrupted())  # the one that had no room

    def test_interrupt_that_was_masked_comes_later(self):
        guest = self.guest()
        guest.write(BAR0, MASK, 1)
        self.assertEqual(guest.command(ALLOC_PD)[0], 0)
        self.assertFalse(guest.interrupted(0.3))
        guest.write(BAR0, MASK, 0)
        self.assertTrue(guest.interrupted())

    def test_wild_doorbells_fill_no_log(self):
        guest, wild, left_out = self.guest(), 0, 'more lines within a second'
        guest.make_qp()
        start, log, took = time.monotonic(), '', 0
        while (wild < 200 or left_out not in log) and took < 60:
            guest.to_rts()
            guest.write(BAR4, guest.send_db, 0xffffffff)
            wild, log, took = wild + 1, self.server.log(), time.monotonic() - start
        self.assertLessEqual(log.count('\n'), 11 * (took + 2))
        self.assertIn('wider than 16 bits', log)
        self.assertIn(left_out, log)

    def test_wild_admin_queues_end_nobody(self):
        guest = self.guest()
        for caps in 0, 3, 0xffff, 4096 | 64 << 16, 0x8000:
            for base in 0, 7, 0xffffffc0, Guest.BASE + Guest.SIZE - 64:
                guest.reset()
                for register, value in (
                        (AQ_BASE, base), (AQ_CAPS, caps), (ACQ_BASE, base),
                        (ACQ_CAPS, caps), (AQ_PROD, 0xffff), (AQ_PROD, 1)):
                    guest.write(BAR0, register, value)
                self.assertTrue(guest.is_served())


class Memory(Beside):
    """Memory that a machine gives the function, and that the function gives it."""

    def test_descriptors_of_no_memory_are_refused(self):
        class StatFs(ctypes.Structure):
            _fields_ = [('type', ctypes.c_long), ('more', ctypes.c_long * 32)]

        client, system = self.client(), StatFs()
        fds = [*os.pipe()[:1], os.open('/dev/zero', os.O_RDWR),
               os.open('/dev/shm', os.O_RDONLY | os.O_DIRECTORY),
               os.open('/proc/self/status', os.O_RDONLY)]
        program = os.open(Server.program, os.O_RDONLY)
        ctypes.CDLL(None).fstatfs(program, ctypes.byref(system))
        for fd in fds + [program] * (system.type != 0x01021994):  # tmpfs
            self.assertEqual(client.map(0x10000, 4096, fd, 0, 1), errno.EINVAL)

    def test_ranges_that_are_none_are_refused(self):
        client, fd, last = self.client(), memory_file(0x10000), ALL - 0xfff
        for iova, size, offset, flags, want in (
                (0x10000, 0x20000, 0, 3, errno.EINVAL),  # too long
                (0x10000, 0x10000, 4096, 3, errno.EINVAL),
                (0x10000, 4096, last, 3, errno.EINVAL),
                (last, 0x2000, 0, 3, errno.EINVAL),
                (0x10000, 0, 0, 3, errno.EINVAL),
                (0x10001, 4096, 0, 3, errno.EINVAL),
                (0x10000, last, 0, 3, errno.EINVAL),
                (0x10000, 4096, 0, 0xffff, errno.EINVAL),
                (0x10000, 0x2000, 0, 3, 0),
                (0x11000, 0x2000, 0, 3, errno.EINVAL)):  # overlaps
            self.assertEqual(client.map(iova, size, fd, offset, flags), want, size)
        self.assertEqual(client.unmap(0x10000, 0x2000), 0)

        self.assertEqual(client.map(0x10000, 0x10000, fd), 0)  # parts of one
        for part in ((0x10000, 0), (0x10000, last), (0x10000, 0x1000),
                     (0x18000, 0x1000), (0x1f000, 0x100000)):
            self.assertEqual(client.unmap(*part), errno.EINVAL, part)
        self.assertEqual(client.map(0x10000, 0x1000, fd), errno.EINVAL)  # still there
        self.assertEqual(client.unmap(0, 0x100000), 0)
        self.assertEqual(client.map(0x10000, 0x1000, fd), 0)
        os.close(fd)

    def test_number_of_maps_is_what_is_advertised(self):
        client, fd = self.client(), memory_file(4096)
        self.assertIn(b'"max_dma_maps":256', client.ask(VERSION, bytes(4)).body)
        for number in range(1, 257):
            self.assertEqual(client.map(0x2000 * number, 4096, fd), 0, number)
        self.assertEqual(client.map(0x2000 * 257, 4096, fd), errno.ENOSPC)
        self.assertEqual(client.unmap(0x2000, 4096), 0)
        self.assertEqual(client.map(0x2000 * 257, 4096, fd), 0)
        os.close(fd)

    def test_bytes_of_all_maps_are_bounded(self):
        """Those, too, that are unmapped, and that a queue keeps."""
        guest, fd, half, rest = (self.guest(), memory_file(2 << 40), (1 << 40, 1 << 39),
                                 (1 << 39) - Guest.SIZE)
        self.assertEqual(guest.map(1 << 40, 2 << 40, fd), errno.ENOSPC)
        self.assertEqual(guest.map(*half, fd), 0)
        self.assertEqual(guest.map(1 << 42, rest, fd), 0)
        self.assertEqual(guest.map(1 << 43, 4096, fd), errno.ENOSPC)
        self.assertEqual(guest.unmap(1 << 42, rest), 0)
        self.assertEqual(guest.command(ALLOC_UAR)[0], 0)
        self.assertEqual(guest.command(CREATE_CQ, fields(
            60, (1, 'B', 8), (2, 'H', 64), (12, 'I', 1 << 8),  # at 2^40
            (20, 'H', 1)))[0], 0)
        self.assertEqual(guest.unmap(*half), 0)
        self.assertEqual(guest.map(*half, fd), errno.ENOSPC)
        self.assertEqual(guest.command(DESTROY_CQ)[0], 0)
        self.assertEqual(guest.map(*half, fd), 0)
        os.close(fd)

    def test_truncated_file_breaks_that_device_alone(self):
        self.cut(self.guest())
        self.assertIn('memory is gone', self.server.log())

    def test_truncated_completion_queue_ends_nobody(self):
        guest = self.guest()
        guest.make_qp()
        guest.to_rts()
        os.ftruncate(guest.file, 0)
        guest.write(BAR4, guest.send_db, 1)  # is malformed: it completes there
        self.broken(guest)

    def bar2(self, client):
        """BAR 2's file, which the machine maps."""
        reply = client.ask(REGION_INFO, fields(32, (8, 'I', BAR2)))
        self.assertEqual(reply.error, 0)
        file, = reply.fds
        return file

    def test_send_queues(self):
        """The file cannot be cut, messages write it, too, and a reset leaves zeros."""
        guest, must = self.guest(), fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fd, place = self.bar2(guest), slice(0x50000, 0x50002)
        queues = mmap.mmap(fd, 1 << 20)
        self.assertEqual(fcntl.fcntl(fd, fcntl.F_GET_SEALS) & must, must)
        for size in 0, 1 << 40:
            with self.assertRaises(OSError):
                os.ftruncate(fd, size)
        guest.write(BAR2, 0x50000, 0x7465)
        self.assertEqual(queues[place], b'et')
        self.assertEqual(guest.read(BAR2, 0x50000), 0x7465)
        guest.write(BAR0, CONTROL, 1)
        self.assertEqual(queues[place], bytes(2))
        queues[place] = b'se'
        self.assertEqual(guest.ask(RESET).error, 0)
        self.assertEqual(queues[place], bytes(2))
        os.close(fd)

    def test_next_machine_has_other_send_queues(self):
        kept = self.bar2(self.client())
        time.sleep(0.1)
        os.pwrite(kept, b'x', 0)  # the one before goes on
        fd = self.bar2(self.client())
        self.assertNotEqual(os.fstat(kept).st_ino, os.fstat(fd).st_ino)
        self.assertEqual(os.pread(fd, 1, 0), bytes(1))


class HugeMemory(Beside):
    """Huge pages, where the machine has some free."""

    def huge(self):
        fd = memory_file(Guest.SIZE, os.MFD_HUGETLB | os.MFD_HUGE_2MB)
        try:
            mmap.mmap(fd, Guest.SIZE).close()  # the file keeps them
        except OSError:
            os.close(fd)
            self.skipTest('no huge pages are free')
        return fd

    def test_truncated_file_breaks_that_device_alone(self):
        self.cut(self.guest(Guest.SIZE, self.huge()))

    def test_has_queues_and_registrations(self):
        guest = self.guest(Guest.SIZE, self.huge())
        guest.make_qp()
        guest.to_rts()
        for shift in 12, 21:  # as small pages, and as huge ones
            self.assertEqual(guest.command(REG_MR, fields(
                60, (4, 'Q', 2 << 20), (36, 'Q', 1 << shift), (44, 'B', shift),
                (45, 'B', 1)))[0], 0, shift)
        guest.write(BAR4, guest.send_db, 1)  # is malformed: it completes there
        until(lambda: guest.memory[Guest.FREE + 3])
        self.assertEqual(guest.memory[Guest.FREE + 2], 2)  # status of the completion

    def test_parts_of_pages_are_mapped(self):
        client, file = self.client(), self.huge()
        places = 0, 0x1000, 0x1ff000, 0x201000
        for place in places:
            self.assertEqual(client.map(0x1000000 + 2 * place, 0x2000, file, place), 0)
        self.assertEqual(client.map(0x10000000, 0x2000, file, Guest.SIZE - 0x1000),
                         errno.EINVAL)
        for place in places:
            self.assertEqual(client.unmap(0x1000000 + 2 * place, 0x2000), 0)
        os.close(file)


class Deaf:
    """A file whose file system, this program, answers no more once it is open."""

    INIT, OPEN = 26, 14

    def __init__(self):
        libc, self.fd = ctypes.CDLL(None), -1
        name = tempfile.NamedTemporaryFile(prefix='efapci.')
        try:
            self.device = os.open('/dev/fuse', os.O_RDWR)
        except OSError:
            self.device = -1
            return
        if libc.mount(b'deaf', name.name.encode(), b'fuse', 2 | 4,  # nosuid, nodev
                      f'fd={self.device},rootmode=100644,user_id=0,group_id=0'
                      .encode()) == 0:
            server = threading.Thread(target=self.serve)
            server.start()
            self.fd = os.open(name.name, os.O_RDWR)
            server.join()
            libc.umount2(name.name.encode(), 2)  # MNT_DETACH

    def close(self):
        for fd in self.device, self.fd:  # whoever waits has his answer
            with contextlib.suppress(OSError):
                os.close(fd)

    def serve(self):
        """Until the file is open."""
        op = 0
        while op != self.OPEN:
            request = os.read(self.device, 0x21000)
            op, error, answer = at(request, 'I', 4), 0, b''
            if op == self.INIT:
                answer = fields(64, (0, 'I', 7), (4, 'I', 31), (20, 'I', 4096))
            elif op == self.OPEN:
                answer = bytes(16)
            else:
                error = -errno.ENOSYS
            os.write(self.device, struct.pack('<IiQ', 16 + len(answer), error,
                                              at(request, 'Q', 8)) + answer)


class Descriptor(Beside):
    """Descriptors that make a server wait who looks at them, or closes them."""

    def tearDown(self):
        for _ in range(20):
            self.assertTrue(self.other.is_served())
            time.sleep(0.01)
        super().tearDown()

    def test_sockets_that_linger_stop_nobody(self):
        """TCP connections, whose bytes nobody takes: close() waits for that."""
        bad, listener, sockets = self.client(), socket.socket(), []
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(('127.0.0.1', 0))
        listener.listen(100)
        for _ in range(40):
            sockets.append(socket.create_connection(listener.getsockname()))
            sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack('ii', 1, 30))
            fill(sockets[-1].fileno())
        self.server.stop(True)
        # 16 are taken, and refused; the rest is, too
        bad.send(Client.head(INFO, 16), [each.fileno() for each in sockets])
        for each in sockets:
            each.close()  # the server's is the last
        self.server.stop(False)
        self.assertTrue(self.other.is_served())
        listener.close()

    def test_file_system_that_answers_no_more_stops_nobody(self):
        bad, deaf = self.client(), Deaf()
        self.addCleanup(deaf.close)
        if deaf.fd < 0:
            self.skipTest('no file system of ours: root and /dev/fuse are needed')
        self.assertEqual(bad.map(0x10000, 4096, deaf.fd), errno.EINVAL)
        self.refused(bad.ask(INFO, bytes(16), [deaf.fd]))
        self.assertTrue(self.other.is_served())
        before = self.server.fds()  # who has many to be closed waits
        for _ in range(100):
            bad.send(Client.head(INFO, 16), 16 * [deaf.fd], can_wait=False)
        self.assertLess(self.server.fds(), before + 100)


class Log(unittest.TestCase):
    def test_that_is_full_stops_nobody(self):
        """A pipe that is full stands for a log that nobody reads."""
        ends, took = os.pipe(), [0, 0]
        fill(ends[1])
        server = Server(ends[1])
        self.addCleanup(server.close)
        guest, other = Guest(server.paths[0]), Guest(server.paths[1])
        guest.make_qp()
        for number in range(400):  # the wild ones among others
            wild, start = number % 2, time.monotonic()
            guest.to_rts()
            guest.write(BAR4, guest.send_db, 0xffffffff * wild)
            self.assertTrue(other.is_served())
            took[wild] += time.monotonic() - start
        self.assertLess(took[1], 5 * took[0], 'it waits for who reads the log')

    def test_trace_that_is_cut_off_is_told_of_once(self):
        server = Server(options=['--trace=/dev/full'])
        self.addCleanup(server.close)
        for number, path in enumerate(server.paths):
            guest = Guest(path)
            guest.make_qp()
            guest.to_rts()
            guest.write(BAR4, guest.send_db, 1)  # is malformed: it completes there
            self.assertTrue(until(lambda n=number: f'efapci[{n}]: QP' in server.log()))
        self.assertRegex(server.log(), r'--trace: not all .*No space left.*: make room')
        self.assertEqual(server.log().count('not all'), 1)


if __name__ == '__main__':
    Server.program = sys.argv.pop(1)
    unittest.main(warnings='ignore')

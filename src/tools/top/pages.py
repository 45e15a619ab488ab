# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the interfaces of this user's processes (uct/ib/base/base_top_page.h).

Another program may have forged a page, so each member is checked here."""

import errno
import fcntl
import os
import stat
import struct
import time
from types import SimpleNamespace

PAGES = 4096    # tried in all, of which each may be forged
PROCESS = 64    # pages tried of one process
OLD = 3.0       # s; then even UCX's asynchronous thread, which writes the page, does not run
TRIES = 100     # to read a page that is being written, at once
PAUSES = 100    # of 1 ms, for all pages of a reading: its writer may have lost its processor;
#                 then each page is read once
FIRST, PRIME, MASK = 0xcbf29ce484222325, 0x100000001b3, (1 << 64) - 1  # of the hash
PRINTED = bytes(each if 0x20 < each < 0x7f else ord('?') for each in range(256))


def text(field):
    """Text of another process, safe to print: up to its first 0, and only ASCII."""
    return field[:-1].partition(b'\0')[0].translate(PRINTED).decode('ascii')


def mount_of(fd):
    """The number of the mount that a descriptor is of; None: unknown."""
    with open(f'/proc/self/fdinfo/{fd}', 'rb') as file:
        return next((line for line in file if line.startswith(b'mnt_id:')), None)


def memory():
    """The mount of all anonymous memory."""
    fd = os.memfd_create('')
    try:
        return mount_of(fd)
    finally:
        os.close(fd)


def is_started_by(pid, uid):
    """Not by another user, who gave a setuid program what descriptors he liked."""
    with open(f'/proc/{pid}/status', 'rb') as file:
        return any(int(line.split()[1]) == uid for line in file if line.startswith(b'Uid:'))


def facts_of(pid):
    """PID in its own PID namespace, state as in ps(1), and CPU time of a process."""
    own, state, ticks = 0, '?', 0
    try:
        with open(f'/proc/{pid}/status', 'rb') as file:
            own = [int(line.split()[-1]) for line in file if line.startswith(b'NSpid:')][0]
        with open(f'/proc/{pid}/stat', 'rb') as file:  # a command may have brackets, too
            words = file.read().rpartition(b')')[2].split()
        state, ticks = words[0].decode(), int(words[11]) + int(words[12])
    except (OSError, IndexError):
        pass
    return SimpleNamespace(pid=pid, own=own, state=state, awake=None,
                           ticks=ticks / os.sysconf('SC_CLK_TCK'))


class Reader:
    """All pages of this user, as they were read last: `pages`, those of a process one
    behind the other; `left_out` were too many, had no descriptor, or were being written
    when no time was left for it. A page's times are in seconds: `idle` since traffic, and
    of all pages of its process the least `age`, the least `quiet` (idle), and `away` (before
    the page, since the last call of progress)."""

    def __init__(self, told):
        self.told = told
        self.page = struct.Struct('=' + ''.join(told['page'].values()))
        self.row = struct.Struct('=' + ''.join(told['row'].values()))
        self.hashed = struct.calcsize('=' + told['page']['magic'] + told['page']['hash'])
        self.words = struct.Struct(f'={(self.page.size - self.hashed) // 8}Q')
        self.memory = memory()
        self.pages = []
        self.when = self.left_out = self.pauses = self.tried = 0

    def read(self):
        """Reads them again. The locks of before are kept until the new ones are taken."""
        before, last, then = self.pages, {page.pid: page for page in self.pages}, self.when
        self.pages, self.left_out, self.pauses, self.tried = [], 0, 0, 0
        self.when = time.monotonic()
        with os.scandir('/proc') as entries:
            for entry in entries:
                try:
                    if entry.name.isdigit() and int(entry.name) != os.getpid() and \
                            entry.stat().st_uid == os.geteuid() and \
                            is_started_by(entry.name, os.geteuid()):
                        self.process(int(entry.name), last, then)
                except OSError:
                    pass  # another user's, or gone
        for page in before:
            os.close(page.fd)

    def paths(self, pid):
        """Descriptors that may be pages of a process; those of readers, as this one, cannot be
        written to. Its folder is open meanwhile, so that the next reading has a descriptor
        for it."""
        with os.scandir(f'/proc/{pid}/fd') as entries:
            for entry in entries:
                try:
                    if os.readlink(entry.path).startswith('/memfd:' + self.told['name']) and \
                            entry.stat(follow_symlinks=False).st_mode & stat.S_IWUSR:
                        yield entry.path
                except OSError:
                    pass

    def process(self, pid, before, then):
        facts, found, most = None, [], min(self.tried + PROCESS, PAGES)
        for path in self.paths(pid):
            facts = facts or self.facts(pid, before.get(pid), then)
            if self.tried == most:
                self.left_out += 1
                continue
            self.tried += 1
            page = self.open(path, facts)
            if page:
                found.append(page)
        for name in 'age', 'quiet', 'away':
            least = min((getattr(page, name) for page in found), default=None)
            for page in found:
                setattr(page, name, least)
        self.pages += found

    def facts(self, pid, last, then):
        """Facts of a process. `awake` are processors that it used or waited for; None: unknown."""
        facts = facts_of(pid)
        if last and last.ticks <= facts.ticks and then < self.when:
            # runnable at both: it wants a processor that others have
            facts.awake = (facts.ticks - last.ticks) / (self.when - then) + \
                (facts.state == last.state == 'R')
        return facts

    def open(self, path, facts):
        """The page behind a descriptor with the right name, which any process can forge."""
        place, fd = -1, -1
        page = None
        try:
            # another user's file may have the name, in a setuid program that he started:
            # opening it may hang, or do what that device does
            place = os.open(path, os.O_PATH)
            if mount_of(place) == self.memory and self.is_page(place):
                fd = os.open(f'/proc/self/fd/{place}', os.O_RDONLY | os.O_NONBLOCK)
                page = self.load(fd)
        except OSError as error:
            self.left_out += error.errno in (errno.EMFILE, errno.ENFILE)
        if place >= 0:
            os.close(place)
        if page is None or page.pid != facts.own:  # of another: inherited by a forked child
            if fd >= 0:
                os.close(fd)
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            pass  # at the next reading
        return self.complete(page, fd, facts)

    def is_page(self, place):
        file = os.fstat(place)
        return stat.S_ISREG(file.st_mode) and file.st_size == self.page.size and \
            file.st_uid == os.geteuid()  # who wrote it is who made it

    def complete(self, page, fd, facts):
        page.age = max(0, self.when - page.written / 1e9)
        page.idle = page.quiet = (page.written - page.moved) / 1e9 + page.age
        page.away = (page.written - page.progressed) / 1e9
        if page.age > OLD:
            for row in page.rows:
                row.sent = row.received = row.bytes = 0
        page.fd, page.pid, page.state = fd, facts.pid, facts.state
        page.ticks, page.awake = facts.ticks, facts.awake
        return page

    def whole(self, fd):
        """None: it is none, or was being written at each try."""
        tries = 0
        while True:
            data = os.pread(fd, self.page.size, 0)
            if len(data) != self.page.size:
                return None
            page = SimpleNamespace(**dict(zip(self.told['page'], self.page.unpack(data))))
            if page.size != self.page.size or page.magic != self.told['magic'].encode():
                return None
            value = FIRST
            for word in self.words.unpack(data[self.hashed:]):
                value = (value ^ word) * PRIME & MASK
            if value == page.hash:
                return page
            if self.pauses == PAUSES:
                self.left_out += tries == 0
                return None
            tries += 1
            if tries >= TRIES:
                self.pauses += 1
                time.sleep(0.001)

    def load(self, fd):
        """A checked page; None: it is none, or was being written at each try."""
        page = self.whole(fd)
        if page is None or page.rows > len(page.row) // self.row.size or \
                page.moved > page.written or page.progressed > page.written:
            return None
        for name in 'host', 'program', 'device', 'transport':
            setattr(page, name, text(getattr(page, name)))
        page.rank = max(page.rank, -1)
        page.counters = dict(zip(self.told['counters'], struct.unpack(
            f'={len(page.counters) // 8}Q', page.counters)))
        page.rows = [self.checked(row) for row in
                     self.row.iter_unpack(page.row[:page.rows * self.row.size])]
        return page

    def checked(self, values):
        """A row; shares from 0 to 1, times in seconds."""
        row = SimpleNamespace(**dict(zip(self.told['row'], values)))
        row.blocked = min(row.blocked / self.told['share'], 1)
        row.refused = min(row.refused / self.told['share'], 1)
        row.lost /= 65536
        row.age /= 1000
        row.depth = min(row.depth, self.told['window'])
        waits = self.told['waits']
        row.wait = waits[row.wait if row.wait < len(waits) else 0]
        return row

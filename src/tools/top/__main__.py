# SPDX-License-Identifier: BSD-3-Clause
"""srd_info --top: who waits for whom. srd_info starts it: FD [OPTION VALUE]..., where FD has
what it knows of the pages, as JSON (../top.c)."""

import errno
import json
import os
import resource
import signal
import stat
import sys
from contextlib import suppress

from headline import Headline
from network import Networks
from pages import PAGES, Reader, mount_of
from show import as_json, text
from terminal import Terminal
from view import View

SETTLE = 2.2  # s; an interface notices its reader within a second, and writes its page about
#               the next one (base_top.c)


def say(line):
    """A line that may have the name of another user's file: no words to a terminal."""
    print('srd_info:', ''.join(c if c.isprintable() else '?' for c in line), file=sys.stderr)


def write(fd, page):
    page = page.encode()
    while page:
        page = page[os.write(fd, page):]


def written(fd, page, path):
    """JSON. The status of the program."""
    try:
        write(fd, page)
    except OSError as error:
        say(f'--json={path}: not all could be written: {error.strerror}; make room, or name '
            'another file')
        return 1
    return 0


def create(folder, name):
    """A file of our own, which others only read, whatever stood there: in a folder of several
    users that may be another's link."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)


def is_file(folder, name):
    """Not one that another user has mounted there: his file system may never answer."""
    place = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)
    try:
        return mount_of(place) == mount_of(folder) and stat.S_ISREG(os.fstat(place).st_mode)
    finally:
        os.close(place)


def replace(folder, path, page):
    """Writes it beside the file, in whose place it then is at once: no collector ever sees
    half of it. The status of the program."""
    name = path.rpartition('/')[2]
    new = name + '.new'
    try:
        if not is_file(folder, name):
            say(f'--json={path}: it is no file; name another, or - for standard output')
            return 1
    except OSError:
        pass
    try:
        fd = create(folder, new)
    except OSError as error:
        say(f'--json={path}: {error.strerror}; name a file that can be written, or - for '
            'standard output')
        return 1
    status = written(fd, page, path)
    os.close(fd)
    try:
        if status == 0:
            os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
            return 0
    except OSError as error:
        say(f'--json={path}: {error.strerror}')
    with suppress(OSError):  # another has taken it away
        os.unlink(new, dir_fd=folder)
    return 1


class Top:
    def __init__(self, told, options):
        self.told, self.path = told, options.get('--json')
        self.interval = options.get('--interval')
        self.once = '--once' in options or (self.interval is None and (
            self.path is not None or not os.isatty(1)))

    def show(self, reader, networks, terminal):
        """Reads all pages and shows them. The status of the program."""
        reader.read()
        networks.read()
        view = View(reader.pages, reader.left_out, terminal.order)
        headline = Headline(view)
        if self.path is not None:
            page = json.dumps({'format': self.told['format'], 'srd_info': self.told['srd_info'],
                               **as_json(view, headline, networks)}, indent=2) + '\n'
            return written(1, page, '-') if self.path == '-' else \
                replace(self.told['folder'], self.path, page)
        view.merge()
        try:
            write(1, terminal.page(text(view, headline, networks, terminal.lines())))
        except OSError as error:
            if error.errno != errno.EPIPE:
                say(f'--top: not all was printed: {error.strerror}; make room, or print '
                    'elsewhere')
            return 1
        return 0

    def run(self, interval):
        """Page after page until the end. The status of the program."""
        reader, networks = Reader(self.told), Networks(self.told)
        reader.read()
        found, status = bool(reader.pages), 0
        terminal = Terminal(not self.once and self.path is None)
        if found:
            terminal.wait(SETTLE)
        while not terminal.quit:
            status = self.show(reader, networks, terminal)
            found = found or bool(reader.pages)
            if self.once or status:
                break
            terminal.wait(interval)
        terminal.close()
        return status or int(not found)


def be_named():
    """As ps and pkill know it by, like the program that started it."""
    try:
        with open('/proc/self/comm', 'w', encoding='ascii') as file:
            file.write('srd_info')
    except OSError:
        pass


def more_files():
    """As many descriptors as may be had: each page takes one, and two readings overlap."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 3 * PAGES if hard == resource.RLIM_INFINITY else min(hard, 3 * PAGES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    with open(int(sys.argv[1]), encoding='ascii') as file:
        told = json.load(file)
    options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    try:
        interval = float(options.get('--interval', 1))
    except ValueError:
        interval = 0
    if not 0.1 <= interval <= 86400:
        say(f'--interval={options["--interval"]}: seconds from 0.1 to 86400 are allowed')
        return 2
    be_named()
    more_files()
    try:
        return Top(told, options).run(interval)
    except OSError as error:  # of reading it
        say(f'--top: /proc cannot be read: {error.strerror}; mount it')
        return 1


sys.exit(main())

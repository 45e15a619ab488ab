#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_elf.py ARCH GLIBC FILE...: each ELF file among FILE, also inside wheels,
is for ARCH, needs no symbol version of glibc newer than GLIBC and no library but
the C library's, and names no folder of the machine that built it. Prints the
newest version that each needs. It reads the files itself: readelf of an old
binutils stops at what it does not know."""

import os
import struct
import sys
import zipfile

MACHINES = {'x86_64': 62, 'aarch64': 183}
LIBRARIES = {'libc.so.6', 'libdl.so.2', 'libpthread.so.0',
             'ld-linux-x86-64.so.2', 'ld-linux-aarch64.so.1'}
TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
FOLDERS = [folder.encode() + b'/' for folder in
           (TOP, os.path.expanduser('~'), '/tmp') if folder.strip('/')]
SHT_DYNAMIC, SHT_GNU_VERNEED = 6, 0x6ffffffe
DT_NEEDED, DT_RPATH, DT_RUNPATH = 1, 15, 29


def number(version):
    return tuple(int(part) for part in version.split('.'))


class Elf:
    def __init__(self, data):
        self.data = data
        self.machine = struct.unpack_from('<H', data, 18)[0]
        start, = struct.unpack_from('<Q', data, 0x28)
        size, count = struct.unpack_from('<HH', data, 0x3a)
        self.sections = [struct.unpack_from('<IIQQQQIIQQ', data,
                                            start + i * size)
                         for i in range(count)]

    def text(self, section, at):
        start = self.sections[section[6]][4] + at
        return self.data[start:self.data.index(b'\0', start)].decode()

    def of_type(self, kind):
        return [section for section in self.sections if section[1] == kind]

    def versions(self):
        """Pairs of library and version."""
        for section in self.of_type(SHT_GNU_VERNEED):
            at = section[4]
            for _ in range(section[7]):
                _, count, file, aux, after = struct.unpack_from(
                    '<HHIII', self.data, at)
                entry = at + aux
                for _ in range(count):
                    name, step = struct.unpack_from('<II', self.data,
                                                    entry + 8)
                    yield self.text(section, file), self.text(section, name)
                    entry += step
                at += after

    def dynamic(self, *tags):
        for section in self.of_type(SHT_DYNAMIC):
            for at in range(section[4], section[4] + section[5], 16):
                tag, value = struct.unpack_from('<QQ', self.data, at)
                if tag in tags:
                    yield self.text(section, value)


def problems_of(elf, arch, limit):
    versions = sorted(set(elf.versions()))
    if not versions:
        yield 'needs no symbol version at all: not dynamically linked?'
    if elf.machine != MACHINES[arch]:
        yield f'is for machine {elf.machine}, not {arch}'
    for library, version in versions:
        kind, _, what = version.partition('_')
        if kind != 'GLIBC' or number(what) > number(limit):
            yield f'needs {version} of {library}, newer than {limit}'
    for library in elf.dynamic(DT_NEEDED):
        if library not in LIBRARIES:
            yield f'needs {library}'
    for path in elf.dynamic(DT_RPATH, DT_RUNPATH):
        yield f'searches {path}'
    for folder in FOLDERS:
        if folder in elf.data:
            at = elf.data.index(folder)
            yield f'names {elf.data[at:at + 60].split(bytes(1))[0]!r}'


def objects(paths):
    for path in paths:
        if path.endswith('.whl'):
            with zipfile.ZipFile(path) as wheel:
                for name in wheel.namelist():
                    yield f'{path}:{name}', wheel.read(name)
        else:
            with open(path, 'rb') as file:
                yield path, file.read()


def main(arch, limit, *paths):
    failed = count = 0
    for name, data in objects(paths):
        if data[:4] != b'\x7fELF':
            continue
        count += 1
        elf = Elf(data)
        newest = max((number(version.partition('_')[2])
                      for _, version in elf.versions()), default=(0,))
        print(f'{name.rsplit("/", 1)[-1]}: glibc {".".join(map(str, newest))}')
        for problem in problems_of(elf, arch, limit):
            print(f'{name}: {problem}')
            failed += 1
    if not count:
        print('nothing to check was found')
    return 1 if failed or not count else 0


sys.exit(main(*sys.argv[1:]))

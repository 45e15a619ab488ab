#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes an archive that a kernel unpacks at boot (cpio, "newc").

usage: guest_image.py OUT --system      this system's /usr and /etc, without
                                        what no guest needs
       guest_image.py OUT NAME=FILE...  files and folders under other names
"""
import os
import stat
import sys

# Folders of a system, and large files in them that are of no use here.
FOLDERS = "/usr /etc /opt /var/lib/dpkg /root"
LEFT_OUT = (
    "/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/usr/share/info",
    "/usr/share/i18n", "/usr/lib/valgrind", "/usr/libexec/valgrind",
    "/usr/include", "/usr/lib/gcc", "/var/lib/dpkg/info",
)
LEFT_OUT_NAMES = ("libLLVM", "libamd", "libz3", "libhsa", "librocm", "libze_",
                  "libucm_rocm", "libuct_rocm", "libuct_ze", "libucm_ze")
LEFT_OUT_ENDS = (".o", ".a", ".d", ".gch")
EMPTY = "/proc /sys /dev /tmp /run /var /var/tmp /srd"
LINKS = {"/bin": "usr/bin", "/sbin": "usr/sbin", "/lib": "usr/lib",
         "/lib64": "usr/lib64", "/var/run": "/run"}


class Archive:
    def __init__(self, out):
        self.out = out
        self.ino = 1
        self.names = set()

    def entry(self, name, mode, data=b""):
        name = name.lstrip("/")
        if name in self.names:
            return
        self.names.add(name)
        self.ino += 1
        raw = name.encode() + b"\0"
        fields = (self.ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw),
                  0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + raw
        self.out.write(head + b"\0" * (-len(head) % 4))
        self.out.write(data + b"\0" * (-len(data) % 4))

    def folder(self, name):
        parts = name.strip("/").split("/")
        for end in range(1, len(parts) + 1):
            self.entry("/".join(parts[:end]), 0o40755)

    def link(self, name, target):
        self.folder(os.path.dirname(name) or "/")
        self.entry(name, 0o120777, target.encode())

    def file(self, name, path):
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            self.entry(name, 0o120777, os.readlink(path).encode())
        elif stat.S_ISREG(info.st_mode):
            with open(path, "rb") as file:
                self.entry(name, stat.S_IMODE(info.st_mode) | 0o100000,
                           file.read())

    def tree(self, name, path):
        self.folder(name)
        for here, folders, files in os.walk(path):
            inside = name + here[len(path):]
            folders[:] = [one for one in folders
                          if not (here + "/" + one).startswith(LEFT_OUT)]
            for one in list(folders):
                if os.path.islink(here + "/" + one):
                    self.file(inside + "/" + one, here + "/" + one)
                    folders.remove(one)
            self.folder(inside)
            for one in files:
                if not (one.startswith(LEFT_OUT_NAMES) or
                        one.endswith(LEFT_OUT_ENDS)):
                    self.file(inside + "/" + one, here + "/" + one)

    def end(self):
        self.entry("TRAILER!!!", 0)


def main():
    with open(sys.argv[1] + ".new", "wb") as out:
        archive = Archive(out)
        if sys.argv[2:] == ["--system"]:
            for name in EMPTY.split():
                archive.folder(name)
            for name, target in LINKS.items():
                archive.entry(name, 0o120777, target.encode())
            for name in FOLDERS.split():
                archive.tree(name, name)
        for pair in sys.argv[2:]:
            name, _, path = pair.partition("=")
            if os.path.isdir(path):
                archive.tree(name, path)
            elif path:
                archive.folder(os.path.dirname(name))
                archive.file(name, path)
        archive.end()
    os.rename(sys.argv[1] + ".new", sys.argv[1])


main()

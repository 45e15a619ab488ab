# SPDX-License-Identifier: BSD-3-Clause
"""fuse_link.py FOLDER|FILE UID PATH: root mounts there, as fusermount does for a user, what that
user serves, all of it root's, as he says: names are links to PATH, but for "up", a link to PATH's
folder, files (NAME.so), and FOLDERS; over FILE a file. Its source is called by the number of the
file system that is there, as a user may call it."""

import ctypes
import os
import struct
import sys

INIT, LOOKUP, GETATTR, READLINK, STATFS, NONE = 26, 1, 3, 5, 17, 38  # linux/fuse.h; ENOSYS
FOLDERS = b'', b'lib', b'ucx', b'ucx-efa-srd.d'  # nodes 1 to 4
FILE, UP, LINK = 5, 6, 7
folder, uid, path = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode()
fd = os.open('/dev/fuse', os.O_RDWR)
root = FILE if os.path.isfile(folder) else 1
mode = 100000 if root == FILE else 40000
device = os.stat(folder).st_dev
source = f'{os.major(device)}:{os.minor(device)}'.encode()
options = f'fd={fd},rootmode={mode},user_id={uid},group_id={uid},allow_other'
if ctypes.CDLL(None).mount(source, folder.encode(), b'fuse', 6, options.encode()):
    sys.exit('fuse_link: cannot mount')
os.setgid(uid)
os.setuid(uid)


def named(name):
    node = (FOLDERS.index(name) + 1 if name in FOLDERS else FILE if b'.so' in name else
            UP if name == b'up' else LINK)
    return struct.pack('<4Q2I', node, *[0] * 5) + attributes(node)


def attributes(node):
    kind = 0o100644 if FILE in (node, root) else 0o40755 if node < FILE else 0o120777
    return struct.pack('<6Q10I', node, len(path), *[0] * 7, kind, 1, 0, 0, 0, 4096, 0)


while True:
    request = os.read(fd, 1 << 17)
    _, what, number, node = struct.unpack('<IIQQ', request[:24])
    answer = {INIT: struct.pack('<4I2H2I2HI28x', 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0)[:64],
              LOOKUP: named(request[40:].rstrip(b'\0')), GETATTR: bytes(16) + attributes(node),
              READLINK: os.path.dirname(path) if node == UP else path,
              STATFS: bytes(80)}.get(what)
    os.write(fd, struct.pack('<IiQ', 16 + len(answer or b''), -NONE * (answer is None), number) +
             (answer or b''))

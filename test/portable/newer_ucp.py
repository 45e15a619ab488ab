#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""newer_ucp.py FILE FROM TO: in FILE, a libucp of x86-64, ucp_get_version() says
minor TO from now on, where it said FROM."""

import re
import subprocess
import sys

path, old, new = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path, 'rb') as file:
    data = bytearray(file.read())
symbols = subprocess.run(['readelf', '-W', '--dyn-syms', path], check=True,
                         stdout=subprocess.PIPE).stdout.decode()
at = int(re.search(r'([0-9a-f]{16}) .* ucp_get_version(@@.*)?$', symbols,
                   re.M)[1], 16)
# code lies at its address in the file; movl $minor, (%rsi)
head = b'\xc7\x06' + old.to_bytes(4, 'little')
where = data.find(head, at, at + 64)
if where < 0:
    sys.exit(f'no such instruction: {data[at:at + 64].hex()}')
data[where + 2] = new
with open(path, 'wb') as file:
    file.write(data)

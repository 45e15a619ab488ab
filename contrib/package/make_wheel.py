#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_wheel.py TOP VERSION ARCH ROOT DIR: the wheel of what portable.sh has
installed in ROOT, in DIR; its path is printed. portable.sh calls it.

Programs go to bin/ of the environment and libraries to lib/ucx and lib/efasim, so
that each finds the others as in any other installation."""

import base64
import hashlib
import os
import sys
import time
import zipfile

NAME = 'ucx_efa_srd'
PROGRAMS = ('srdrun', 'srd_info', 'srd_replay', 'efasim', 'efapci')
DATA = ('lib/ucx/libuct_srd.so.0', 'lib/efasim/libefasim.so',
        'share/man/man1/srdrun.1', 'share/man/man1/srd_info.1',
        'share/man/man1/srd_replay.1',
        'share/man/man1/efasim.1', 'share/man/man1/efapci.1',
        'share/man/man7/ucx-efa-srd.7')
FOLDERS = ('lib/ucx/srd_top', 'share/doc/ucx-efa-srd', 'share/bash-completion/completions')
METADATA = """\
Metadata-Version: 2.4
Name: ucx-efa-srd
Version: {version}
Summary: SRD transport for AWS EFA as a module for an installed UCX
License-Expression: BSD-3-Clause
License-File: LICENSE
Author: The ucx-efa-srd authors
Keywords: UCX,EFA,SRD,RDMA,MPI,NIXL,Dask
{home}Platform: manylinux_2_17_{arch}
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: System :: Networking
Requires-Python: >=3.6
Description-Content-Type: text/markdown

A transport module for UCX 1.13 or newer, the system's or one that a wheel brings:
`srd` over AWS's Elastic Fabric Adapter.

    UCX_TLS=srd,tcp,sm,self srdrun python3 script.py   # any program
    import ucx_efa_srd                                 # or first line of a script
    python -m ucx_efa_srd enable                       # or each of this environment
    srd_info --check                                   # what is missing, if anything

`efasim run -- COMMAND` runs a command on an EFA device in software. libibverbs and
libefa are the system's (rdma-core). `python -m ucx_efa_srd.examples.ucxx_pingpong`
is an example; all documents are in `share/doc/ucx-efa-srd` of the environment.
"""


def home_page():
    """The project has none of its own: who publishes the wheel names his."""
    url = os.environ.get('SRD_HOME_PAGE')
    return f'Project-URL: Homepage, {url}\n' if url else ''


def files_below(root, folder):
    """Paths of all files in ROOT/FOLDER, from there on, sorted."""
    return sorted(os.path.relpath(os.path.join(path, name), root)
                  for path, _, names in os.walk(os.path.join(root, folder))
                  for name in names if '__pycache__' not in path)


class Wheel:
    """A zip file whose bytes follow from its files alone."""

    def __init__(self, path):
        self.path = path
        self.zip = zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED)
        self.date = time.gmtime(int(os.environ['SOURCE_DATE_EPOCH']))[:6]
        self.record = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, self.date)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 3
        info.external_attr = (0o100000 | mode) << 16
        self.zip.writestr(info, data, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        self.record.append(f'{name},sha256={digest.decode().rstrip("=")},'
                           f'{len(data)}\n')

    def add_file(self, name, path, mode=0o644):
        with open(path, 'rb') as file:
            self.add(name, file.read(), mode)

    def close(self, info):
        name = f'{info}/RECORD'
        record = ''.join([*self.record, f'{name},,\n'])
        self.add(name, record.encode())
        self.zip.close()


def main(top, version, arch, root, folder):
    tags = [f'manylinux_2_17_{arch}', f'manylinux2014_{arch}']
    path = os.path.join(folder,
                        f'{NAME}-{version}-py3-none-{".".join(tags)}.whl')
    wheel = Wheel(path)
    python = os.path.join(root, 'lib/ucx/python')
    for name in files_below(python, NAME):
        wheel.add_file(name, os.path.join(python, name))
    data = f'{NAME}-{version}.data'
    for name in PROGRAMS:
        wheel.add_file(f'{data}/scripts/{name}',
                       os.path.join(root, 'bin', name), 0o755)
    files = [name for folder in FOLDERS for name in files_below(root, folder)]
    for name in (*DATA, *files):
        wheel.add_file(f'{data}/data/{name}', os.path.join(root, name),
                       0o755 if '.so' in name else 0o644)
    info = f'{NAME}-{version}.dist-info'
    wheel.add_file(f'{info}/licenses/LICENSE', os.path.join(top, 'LICENSE'))
    wheel.add(f'{info}/METADATA',
              METADATA.format(version=version, arch=arch,
                              home=home_page()).encode())
    wheel.add(f'{info}/WHEEL',
              ('Wheel-Version: 1.0\nGenerator: ucx-efa-srd\n'
               'Root-Is-Purelib: false\n' +
               ''.join(f'Tag: py3-none-{tag}\n' for tag in tags)).encode())
    wheel.close(info)
    print(path)


if len(sys.argv) != 6:
    sys.exit('usage: make_wheel.py TOP VERSION ARCH ROOT DIR')
main(*sys.argv[1:])

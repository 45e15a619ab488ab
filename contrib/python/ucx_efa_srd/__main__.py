# SPDX-License-Identifier: BSD-3-Clause
"""python -m ucx_efa_srd enable | disable | status: whether each program of this
Python environment loads the SRD transport by itself, by a .pth file."""

import os
import sys
import sysconfig

_PACKAGE = 'ucx_efa_srd'
_USAGE = f"""Usage: python -m {_PACKAGE} enable | disable | status

enable    each program of this Python environment loads the SRD transport
disable   undo it
status    says which of the two it is; status 0: enabled, 1: not
"""


def _folders():
    """Where this environment reads .pth files; the first is the one to write
    to: that with this package, if it is one of them."""
    import site
    folders = [sysconfig.get_path('purelib'), *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    folders = list(dict.fromkeys(os.path.realpath(f) for f in folders))
    home = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    folders.sort(key=lambda folder: folder != home)
    return folders, home


def _written(folders):
    paths = [os.path.join(folder, f'{_PACKAGE}.pth') for folder in folders]
    return [path for path in paths if os.path.exists(path)]


def _text(folder, home):
    """Without a word where the package is gone: nobody asked for it then."""
    lines = [] if folder == home else [home]
    lines.append('import importlib.util as u; '
                 f'u.find_spec("{_PACKAGE}") and __import__("{_PACKAGE}")')
    return '\n'.join(lines) + '\n'


def _enable():
    folders, home = _folders()
    for path in _written(folders):
        print(f'enabled already: {path}')
        return 0
    path = os.path.join(folders[0], f'{_PACKAGE}.pth')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(_text(folders[0], home))
    print(f'wrote {path}: each program of {sys.prefix} loads the SRD transport '
          f'(undo: python -m {_PACKAGE} disable)')
    return 0


def _disable():
    written = _written(_folders()[0])
    for path in written:
        os.remove(path)
        print(f'removed {path}')
    if not written:
        print(f'not enabled in {sys.prefix}: nothing to remove')
    return 0


def _status():
    import ucx_efa_srd
    written = _written(_folders()[0])
    for path in written:
        print(f'enabled: {path}, module {ucx_efa_srd.MODULE}')
    if not written:
        print(f'not enabled in {sys.prefix}, module {ucx_efa_srd.MODULE}')
    return 0 if written else 1


def main(arguments):
    actions = {'enable': _enable, 'disable': _disable, 'status': _status}
    if arguments in (['--help'], ['-h']):
        print(_USAGE, end='')
        return 0
    if len(arguments) != 1 or arguments[0] not in actions:
        print(_USAGE, end='', file=sys.stderr)
        return 2
    try:
        return actions[arguments[0]]()
    except OSError as error:
        print(f'{_PACKAGE}: {arguments[0]}: {error.filename}: {error.strerror} '
              '(an environment of your own: python3 -m venv)',
              file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

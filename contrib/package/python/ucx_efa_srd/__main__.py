# SPDX-License-Identifier: BSD-3-Clause
"""python -m ucx_efa_srd enable | disable | status: whether each program of this
Python environment loads the SRD transport by itself, by a .pth file."""

import os
import sys
import sysconfig

import ucx_efa_srd

_PACKAGE = 'ucx_efa_srd'
_USAGE = f"""Usage: python -m {_PACKAGE} enable | disable | status

enable    each program of this Python environment loads the SRD transport
disable   undo it
status    says which of the two it is; status 0: enabled, 1: not
"""
# One line of a .pth file: what it cannot load is one line of text, and nothing
# where the package is gone, as nobody asked for it then. (Python runs the .pth
# files of a virtual environment twice.)
_LINE = f'''import sys; exec("""
try:
    from importlib.util import find_spec
    if find_spec('{_PACKAGE}'):
        import {_PACKAGE}
except Exception as error:
    said = f'{_PACKAGE}.pth: {{error}} (or: {{sys.executable}} -m {_PACKAGE} disable)'
    if getattr(sys, '_{_PACKAGE}', '') != said:
        print(said, file=sys.stderr)
    sys._{_PACKAGE} = said
""")'''.replace('\n', '\\n').replace('"""', '"')


def _in_venv():
    return sys.prefix != getattr(sys, 'base_prefix', sys.prefix)


def _folders():
    """Where this environment reads .pth files; the first is the one to write
    to: that with this package, or in a virtual environment, which may see
    packages of others, its own."""
    import site
    own = os.path.realpath(sysconfig.get_path('purelib'))
    folders = [own, *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    folders = list(dict.fromkeys(os.path.realpath(f) for f in folders))
    home = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    if not _in_venv():
        folders.sort(key=lambda folder: folder != home)
    return folders, home


def _is_ours(path):
    """A virtual environment leaves what others wrote for all alone."""
    return not _in_venv() or path.startswith(
        os.path.join(os.path.realpath(sys.prefix), ''))


def _text(folder, home):
    lines = [] if folder == home else [home]
    return '\n'.join([*lines, _LINE, ''])


def _written(folders, home):
    """Pairs of path, and whether the file is as `enable` writes it."""
    for folder in folders:
        path = os.path.join(folder, f'{_PACKAGE}.pth')
        try:
            with open(path, encoding='utf-8',
                      errors='surrogateescape') as file:
                yield path, file.read() == _text(folder, home)
        except FileNotFoundError:
            pass


def _write(path, text):
    """All of it or nothing: each program of the environment runs it, so that no
    other user may write to it, or have it led elsewhere."""
    new = f'{path}.{os.getpid()}.new'
    os.umask(0o022)
    try:
        with open(new, 'x', encoding='utf-8',
                  errors='surrogateescape') as file:
            file.write(text)
        os.replace(new, path)
    except OSError as error:
        if os.path.exists(new):
            os.remove(new)
        error.filename = path
        raise


def _enable():
    if ucx_efa_srd.MODULE is None:
        print(f'{_PACKAGE}: enable: {ucx_efa_srd.WHY_NOT}', file=sys.stderr)
        return 1
    folders, home = _folders()
    for path, is_whole in _written(folders, home):
        if is_whole:
            print(f'enabled already: {path}')
            return 0
    path = os.path.join(folders[0], f'{_PACKAGE}.pth')
    _write(path, _text(folders[0], home))
    print(f'wrote {path}: each program of {sys.prefix} loads the SRD transport '
          f'(undo: python -m {_PACKAGE} disable)')
    return 0


def _disable():
    removed = 0
    for path, _ in list(_written(*_folders())):
        if _is_ours(path):
            os.remove(path)
            removed += 1
            print(f'removed {path}')
        else:
            print(f'enabled still, for more than {sys.prefix}: {path}; the '
                  f'Python there: -m {_PACKAGE} disable')
    if not removed:
        print(f'not enabled in {sys.prefix}: nothing to remove')
    return 0


def _status():
    enabled = False
    module = f'module {ucx_efa_srd.MODULE}'
    if ucx_efa_srd.MODULE is None:
        module = ucx_efa_srd.WHY_NOT
    for path, is_whole in _written(*_folders()):
        if is_whole:
            enabled = True
            print(f'enabled: {path}, {module}')
        else:
            print(f'damaged, or of another version: {path}; python -m '
                  f'{_PACKAGE} enable writes it anew')
    if not enabled:
        print(f'not enabled in {sys.prefix}, {module}')
    return 0 if enabled and ucx_efa_srd.MODULE is not None else 1


def main(arguments):
    actions = {'enable': _enable, 'disable': _disable, 'status': _status}
    if arguments in (['--help'], ['-h']):
        print(_USAGE, end='')
        return 0
    if len(arguments) != 1 or arguments[0] not in actions:
        print(_USAGE, end='', file=sys.stderr)
        return 2
    if hasattr(sys.stdout, 'reconfigure'):
        sys.stdout.reconfigure(errors='backslashreplace')  # paths of any bytes
    try:
        return actions[arguments[0]]()
    except OSError as error:
        print(f'{_PACKAGE}: {arguments[0]}: {error.filename}: {error.strerror} '
              '(an environment of your own: python3 -m venv)',
              file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

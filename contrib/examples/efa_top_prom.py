#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""efa_top_prom.py JSON_FILE PROM_FILE

Turns what `srd_info --top` or `srd_info --counters=0` wrote by --json JSON_FILE into text for
the textfile collector of Prometheus' node_exporter. contrib/deploy has a unit and a timer for
the devices; for the peers of a user's processes, in the job:

    srd_info --top --json /run/efa/top.json &&
        efa_top_prom.py /run/efa/top.json /var/lib/node_exporter/efa_top.prom
"""

import errno
import json
import os
import re
import stat
import sys

PEER = ('messages_out_per_second', 'messages_in_per_second', 'bytes_per_second',
        'blocked', 'receiver_not_ready', 'lost', 'reorder_depth',
        'oldest_seconds', 'stalls')
COUNTERS = ('messages_sent', 'rma_posted', 'messages_received', 'window_stalls',
            'receiver_not_ready', 'messages_resent', 'packets_dropped')
QUOTED = str.maketrans({'\\': r'\\', '"': r'\"', '\n': r'\n'})


def sample(metric, value, item, *names):
    """A line: the value, which is a number, with the labels that have one."""
    words = [f'{name}="{str(item[name]).translate(QUOTED)}"' for name in names
             if item[name] is not None]
    return f'{metric}{{{",".join(words)}}} {value + 0}'


def lines(top):
    """Each metric with its type, then its samples."""
    devices = top.get('devices', ())
    for name in sorted({name for one in devices for name in one['counters']
                        if re.fullmatch('[a-z0-9_]+', name)}):
        yield f'# TYPE efa_device_{name}_total counter'
        for one in devices:
            if name in one['counters']:
                yield sample(f'efa_device_{name}_total', one['counters'][name],
                             {'device': one['name']}, 'device')
    if 'peers' not in top:
        return
    for name in PEER:
        yield f'# TYPE efa_peer_{name} gauge'
        for peer in top['peers']:
            yield sample(f'efa_peer_{name}', peer[name], peer, 'host', 'rank', 'qpn')
    for name in COUNTERS:
        yield f'# TYPE efa_{name}_total counter'
        for one in top['interfaces']:
            yield sample(f'efa_{name}_total', one['counters'][name], one,
                         'rank', 'pid', 'device', 'transport', 'qpn')


def mount_of(fd):
    """The number of the mount that it is in."""
    with open(f'/proc/self/fdinfo/{fd}', encoding='ascii') as info:
        return re.search(r'^mnt_id:\s*(\d+)|\Z', info.read(), re.M)[1]


def lent(fd):
    """Whether another user has mounted it (FUSE), and says of owners what he likes, or has
    unmounted it since. The mount of a changed root is in no list."""
    number = mount_of(fd)
    with open('/proc/self/mountinfo', encoding='ascii', errors='replace') as mounts:
        line = re.search(rf'^{number} .* \S+$', mounts.read(), re.M)
    user = line and re.search(r',user_id=(\d+)\S*$', line[0])
    return (int(user[1]) not in (0, os.geteuid()) if user else
            not line and number != mount_of(os.open('/', os.O_PATH)))


def nobody():
    """The number of all users who have none in this user namespace; None: each has one."""
    with open('/proc/self/uid_map', encoding='ascii') as file:
        known = sum(int(line.split()[2]) for line in file)
    with open('/proc/sys/kernel/overflowuid', encoding='ascii') as file:
        return int(file.read()) if known < (1 << 32) - 1 else None


def trusted(status):
    """Whether it is root's or this user's, whatever number others have, too."""
    return status.st_uid in {0, os.geteuid()} - {nobody()}


def opened(folder):
    """A descriptor of it; on the way there, links of root and one's own are followed, and
    those in "/", where root alone makes names."""
    at, parts, links = os.open('.', os.O_PATH), ['/' * folder.startswith('/')], 0
    parts += folder.split('/')
    while parts:
        part = parts.pop(0)
        place = os.open(part, os.O_PATH | os.O_NOFOLLOW, dir_fd=at) if part else at
        if lent(place): # and perhaps never answers
            raise OSError(errno.EPERM, 'it is in a file system of another user', part)
        status = os.fstat(place)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > 40 or not (trusted(status) or
                                  os.path.samestat(os.fstat(at), os.stat('/'))):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part)
            text = os.readlink('', dir_fd=place)
            parts[:0] = ['/' * text.startswith('/'), *text.split('/')]
        else:
            at = place
    return at


def replace(target, text):
    """All of it at once. The folder may be another user's, who may put links there."""
    folder, name = os.path.split(target)
    folder, new = opened(folder or '.'), name + '.new'
    try:
        os.unlink(new, dir_fd=folder)
    except FileNotFoundError:
        pass
    with open(new, 'xb',
              opener=lambda path, flags: os.open(path, flags, 0o644, dir_fd=folder)) as file:
        file.write(text)
    os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)


def read(path):
    """The JSON in it. Another user may have put his file, or a FIFO, in its place."""
    folder, name = os.path.split(path)
    place = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=opened(folder or '.'))
    status = None if lent(place) else os.fstat(place)
    if (not status or not stat.S_ISREG(status.st_mode) or not trusted(status) or
            status.st_mode & 0o022 or status.st_nlink != 1): # the group's are a list's, too
        raise OSError('it is no file that this user or root alone may write to')
    with open(f'/proc/self/fd/{place}', encoding='ascii') as file:
        return json.load(file)


def main(source, target):
    try:
        text = '\n'.join(lines(read(source))) + '\n'
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        sys.exit(f'efa_top_prom.py: cannot read {source} ({error}): "srd_info '
                 f'--top --json {source}" or "--counters=0" writes it')
    try:
        replace(target, text.encode(errors='replace'))
    except OSError as error:
        sys.exit(f'efa_top_prom.py: cannot write {target} ({error}): name a file in a '
                 'folder that is there, and no link of another user')


if __name__ == '__main__': # bench/run has replace() from here, too
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

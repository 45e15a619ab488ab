# SPDX-License-Identifier: BSD-3-Clause
"""A view as text, and as JSON."""

from pages import PAGES, PROCESS
from view import does, is_stalled, reason

WAITS = 20  # lines of causes and waits, these the oldest first


def number(value):
    """1234567 as "1.23M"."""
    units = ' KMGTP'
    unit = 0
    while value >= 999.5 and unit < len(units) - 1:
        value /= 1000
        unit += 1
    if unit == 0:
        return f'{value:.0f}'
    return f'{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}{units[unit]}'


def rank(value):
    return '-' if value < 0 else str(value)


def room(count, lines, used):
    """How many of `count` rows fit into `lines` lines (0: no limit) of which `used` are
    taken."""
    return count if lines == 0 else min(count, max(lines - used, 0))


def causes(view, headline, lines):
    """Or why there is none; one more than `lines` at most."""
    part = headline.lines[:room(len(headline.lines), lines, 0)]
    more = headline.more + len(headline.lines) - len(part)
    if more:
        part.append(f'at least {more} more causes')
    return part or [
        'no process of yours uses this module now: it has just begun, or ended, or is another '
        "user's; or it runs without srdrun, or with UCX_EFA_TOP=n" if not view.pages else
        'no cause is known yet for the waits below' if view.waits else
        'no process is stalled by a peer']


def wait_line(wait):
    count = f' ({wait.count} endpoints)' if wait.count > 1 else ''
    return f'rank {rank(wait.who.rank)} (process {wait.who.pid}) has waited ' \
        f'{wait.row.age:.1f} s for rank {rank(wait.rank)} on {wait.host}: for ' \
        f'{reason(wait.row)}{count}'


def waits(view, above, lines, used):
    """At most WAITS with the `above` lines of causes."""
    part = view.waits[:room(min(len(view.waits), WAITS - above), lines, used)]
    more = len(view.waits) - len(part)
    return [wait_line(wait) for wait in part] + [f'{more} more waits'] * (more > 0)


def peer_line(peer):
    return f'{peer.host:26.40} {rank(peer.rank):>5} {peer.qpn:7} {number(peer.sent):>6} ' \
        f'{number(peer.received):>6} {number(peer.bytes):>6} {peer.blocked * 100:5.0f}% ' \
        f'{peer.refused * 100:4.0f}% {peer.lost * 100:5.1f}% {peer.depth:5} ' \
        f'{peer.age:8.1f} {peer.stalls:6}'


def process_line(page):
    counters = ' '.join(f'{number(page.counters[name]):>6}' for name in (
        'messages_sent', 'messages_received', 'window_stalls', 'receiver_not_ready'))
    return f'{rank(page.rank):>5} {page.pid:7} {page.program:15.15} {page.transport:4} ' \
        f'{page.device:12.12} {counters}  {does(page)}, last traffic {page.idle:.1f} s ago'


def text(view, headline, networks, lines):
    """The page, on about that many lines (0: no limit)."""
    out = causes(view, headline, lines // 4)
    above = len(out)
    out.append(f'{len(view.pages)} interfaces, {len(view.peers)} peers: {number(view.sent)} '
               f'messages/s out, {number(view.received)} messages/s in, '
               f'{number(view.bytes)}B/s')
    if view.left_out:
        out.append(f'{view.left_out} interfaces more are not read: {PROCESS} of a process and '
                   f'{PAGES} in all are, as far as there are descriptors (ulimit -n), and '
                   'time for those that are being written; the lines above know nothing of them')
    if view.pages:
        out += networks.lines()
        out += waits(view, above, lines // 2, len(out) + 2)  # and two titles
        out.append('PEER                        RANK     QPN  OUT/s   IN/s    B/s  BLOCK   RNR '
                   '  LOST DEPTH OLDEST s STALLS')
        part = room(len(view.peers), lines // 4 * 3, len(out) + 1)
        out += [peer_line(peer) for peer in view.peers[:part]]
        out.append(' RANK     PID PROGRAM              DEVICE          OUT     IN STALLS    RNR'
                   '  DOES')
        out += [process_line(page) for page in
                view.pages[:room(len(view.pages), lines, len(out))]]
    return '\n'.join(out) + '\n'


def known(value):
    return None if value < 0 else value


def as_json(view, headline, networks):
    def rates(one):
        return {'messages_out_per_second': round(one.sent, 3),
                'messages_in_per_second': round(one.received, 3),
                'bytes_per_second': round(one.bytes, 3)}

    return {
        'headline': headline.lines[0] if headline.lines else None,
        'causes': headline.lines,
        **rates(view),
        'interfaces_not_read': view.left_out,
        'waits': [{
            'rank': known(wait.who.rank), 'pid': wait.who.pid, 'for_host': wait.host,
            'for_rank': known(wait.rank), 'for_qpn': wait.row.qpn, 'wants': reason(wait.row),
            'stalled': is_stalled(wait.row), 'seconds': round(wait.row.age, 3),
        } for wait in view.waits],
        'peers': [{
            'host': peer.host, 'rank': known(peer.rank), 'qpn': peer.qpn, **rates(peer),
            'blocked': round(peer.blocked, 3), 'receiver_not_ready': round(peer.refused, 3),
            'lost': round(peer.lost, 3), 'reorder_depth': peer.depth,
            'oldest_seconds': round(peer.age, 3), 'stalls': peer.stalls,
        } for peer in view.peers],
        'interfaces': [{
            'host': page.host, 'rank': known(page.rank), 'pid': page.pid,
            'program': page.program, 'transport': page.transport, 'device': page.device,
            'qpn': page.qpn, 'does': does(page), 'moved_seconds_ago': round(page.idle, 3),
            'endpoints': page.peers, 'endpoints_stalled': page.stuck, 'looks': page.looks,
            'counters': page.counters,
        } for page in view.pages],
        'devices': networks.as_json(),
    }

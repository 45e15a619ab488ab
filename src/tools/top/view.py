# SPDX-License-Identifier: BSD-3-Clause
"""The pages of all processes, merged: which process waits for which peer."""

import socket
from types import SimpleNamespace

from pages import OLD

LONG = 0.1    # shortest wait that is shown, s
QUIET = 3.0   # without traffic, or without progress: longer than two looks, s
NETWORK = 2.0  # a device that answers does so before, s
IDLE = 0.02   # of a processor used or wanted: less "sleeps"

# States of a process, the worst last. AWAY: it runs, and does not call progress.
WORKS, POLLS, AWAY, SLEEPS, SILENT, STOPPED = range(6)
DOES = ('works', 'polls', 'computes, outside of UCX', 'sleeps', 'does not answer',
        'is stopped')

REASONS = {'FREE': 'completions', 'HELLO': 'its first answer',
           'LIMIT': 'its receiver to read', 'RNR': "its receiver's buffers",
           'SENT': 'completions', 'FAILED': 'nothing: it failed'}

# A key sorts the peers by this, the largest first.
ORDERS = {'s': lambda peer: peer.stalls + peer.blocked,
          'o': lambda peer: peer.age,
          'b': lambda peer: peer.bytes,
          'm': lambda peer: peer.sent + peer.received,
          'r': lambda peer: peer.refused,
          'l': lambda peer: peer.lost,
          'd': lambda peer: peer.depth}


def state_of(page):
    if page.state in 'Tt':
        return STOPPED
    if page.age > OLD:
        return SILENT
    if page.awake is not None and page.awake < IDLE:
        return SLEEPS
    if page.away > QUIET:
        return AWAY
    return WORKS if page.quiet < QUIET else POLLS


def does(page):
    return DOES[state_of(page)]


def is_stalled(row):
    """This row's process waited for its peer to read, or for buffers of it, for more than
    half of the last second."""
    return row.blocked > 0.5 or row.refused > 0.5


def reason(row):
    """Follows the word "for"."""
    return REASONS['RNR' if row.refused > 0.5 else row.wait]


def is_unanswered(wait):
    """It waits for what the peer's device does by itself: the network or that device does
    not answer. A refusal is an answer."""
    row = wait.row
    return row.wait in ('SENT', 'FREE', 'HELLO') and \
        row.refused == 0 and row.age > NETWORK and \
        state_of(wait.who) <= POLLS and \
        (wait.local is None or state_of(wait.local) < AWAY)


def peer_of(rows, local):
    """A peer's interface, summed over all processes of this host. `local` is its own page;
    None: it is on another host. Shares are the highest of any row."""
    first = rows[0][1]
    return SimpleNamespace(
        qpn=first.qpn, local=local,
        host=local.host if local else socket.inet_ntop(socket.AF_INET6, first.gid),
        rank=local.rank if local else -1,
        stalls=len({who.pid for who, row in rows if is_stalled(row)}),
        **{name: sum(getattr(row, name) for _, row in rows)
           for name in ('sent', 'received', 'bytes')},
        **{name: max(getattr(row, name) for _, row in rows)
           for name in ('blocked', 'refused', 'lost', 'age', 'depth')})


def sort_key(order):
    """By the order chosen, then by age, then by bytes."""
    return lambda peer: (-ORDERS[order](peer), -peer.age, -peer.bytes)


class View:
    """`waits` are of a process for a peer, the oldest first."""

    def __init__(self, pages, left_out, order):
        self.pages, self.left_out = pages, left_out
        local = {(page.gid, page.qpn): page for page in pages}
        refs = {}
        for page in sorted(pages, key=lambda page: page.pid):
            for row in page.rows:
                refs.setdefault((row.gid, row.qpn), []).append((page, row))
        self.peers, self.waits = [], []
        for each in sorted(refs):
            peer = peer_of(refs[each], local.get(each))
            self.peers.append(peer)
            self.waits += [SimpleNamespace(who=who, row=row, local=peer.local, rank=peer.rank,
                                           host=peer.host, count=1)
                           for who, row in refs[each] if row.age >= LONG or is_stalled(row)]
        self.waits.sort(key=lambda wait: -wait.row.age)
        self.sent, self.received, self.bytes = (
            sum(getattr(peer, name) for peer in self.peers)
            for name in ('sent', 'received', 'bytes'))
        self.peers.sort(key=sort_key(order))

    def merge(self):
        """Makes one of the waits of a process for the same peer and reason."""
        kept = {}
        for wait in self.waits:
            same = wait.who.pid, wait.host, wait.rank, reason(wait.row)
            if same in kept:
                kept[same].count += 1
            else:
                kept[same] = wait
        self.waits = list(kept.values())

# SPDX-License-Identifier: BSD-3-Clause
"""The causes known, one a line, the worst first: a process that is stopped; that does not
answer; then the network; a process that sleeps, or computes, while others wait for it or, a
rank, while others poll in vain; then a host that stalls processes without any of this. A
process that others wait for comes before those that nobody waits for. If there is no
cause: that the program itself must be it."""

from collections import Counter
from itertools import groupby, takewhile
from types import SimpleNamespace

from view import AWAY, POLLS, SLEEPS, does, is_stalled, is_unanswered, reason, state_of

LINES = 10
IDLE = 1.0   # s; who sleeps and had traffic since waits for events as programs do
RANKS = 4    # of a host that are named at most


def counted(count, ranks):
    """ "5 ranks", or "1 process". """
    if ranks:
        return f'{count} rank' + 's' * (count != 1)
    return f'{count} process' + 'es' * (count != 1)


def who_is(page):
    """ "rank 5 (process 21, a2a)", or "process 21 (a2a)". """
    if page.rank >= 0:
        return f'rank {page.rank} (process {page.pid}, {page.program})'
    return f'process {page.pid} ({page.program})'


def place(page, host):
    """ "rank 5 (process 21, a2a) on HOST", or the host alone, of one on another. """
    return f'{who_is(page)} on {host}' if page else host


def is_bad(page):
    """Its state alone makes others wait."""
    state = state_of(page)
    return state >= AWAY and (state != SLEEPS or page.quiet > IDLE)


def by_host(wait):
    return wait.host


def by_peer(wait):
    return wait.host, wait.rank


def waiters_of(waits):
    """Those that wait for another process of this host, by its PID, then by theirs."""
    waiters = {}
    for wait in waits:
        if wait.local and wait.local.pid != wait.who.pid:
            waiters.setdefault(wait.local.pid, {}).setdefault(wait.who.pid, wait.who)
    return waiters


def most(waits, subject):
    """The subject that most processes wait for: one of those waits, how many processes
    they are; of a peer on this host also how often it waits itself."""
    found, own = [], Counter(wait.who.pid for wait in waits)
    waits = sorted(waits, key=lambda wait: (subject(wait), wait.who.pid))
    for _, group in groupby(waits, key=subject):
        first = {}
        for wait in group:
            first.setdefault(wait.who.pid, wait)
        ones = list(first.values())
        local = subject is by_peer and ones[0].local
        found.append(SimpleNamespace(wait=ones[-1], own=own[local.pid] if local else 0,
                                     processes=len(ones)))
    return max(found, key=lambda each: each.processes + each.own)


def explain(waits, subject, one):
    """Those that this one does not explain: not for its subject, and not of its peer."""
    return [wait for wait in waits if subject(wait) != subject(one) and
            not (one.local and wait.who.pid == one.local.pid)]


class Headline:
    """The first lines of a view that is not merged; `more` causes have no line."""

    def __init__(self, view):
        self.view = view
        self.lines, self.more = [], 0
        first = {}
        for page in view.pages:
            first.setdefault(page.pid, page)
        self.processes = list(first.values())
        self.bad_ones()
        stalls = [wait for wait in view.waits if is_stalled(wait.row) and
                  not is_unanswered(wait) and not is_bad(wait.who) and
                  not (wait.local and is_bad(wait.local))]
        while stalls and not self.more:
            worst = most(stalls, by_host)
            self.stall(worst, all(wait.who.rank >= 0 for wait in stalls))
            stalls = explain(stalls, by_host, worst.wait)
        if not self.lines:
            self.program()

    def add(self, line):
        if len(self.lines) == LINES:
            self.more += 1
        else:
            self.lines.append(line)

    def pollers(self, ranks):
        """The processes that poll while nothing moves, of ranks alone if asked for."""
        return [page for page in self.processes
                if state_of(page) == POLLS and (not ranks or page.rank >= 0)]

    def bad_ones(self):
        """Processes in a bad state, and what does not answer between those that do not
        answer either and those that sleep or compute."""
        waiters, in_vain, found = waiters_of(self.view.waits), self.pollers(False), []
        for page in self.processes:
            state, awaited = state_of(page), waiters.get(page.pid, {}).values()
            if not is_bad(page) or not (
                    awaited or state > SLEEPS or
                    in_vain and (page.rank >= 0 or state < SLEEPS)):
                continue
            same = [] if awaited or state > SLEEPS else [
                each for each in found if not each.awaited and each.state == state]
            if same:  # one stands for all of them
                same[0].more += 1
                same[0].page = max(same[0].page, page, key=lambda page: page.quiet)
            else:
                found.append(SimpleNamespace(page=page, state=state, awaited=awaited, more=0))
        found.sort(key=lambda each: (not each.awaited, -each.state, -len(each.awaited),
                                     -each.page.quiet))
        worse = list(takewhile(lambda each: each.state > SLEEPS, found))
        for each in worse:
            self.bad_one(each)
        self.cuts()
        for each in found[len(worse):]:
            self.bad_one(each)

    def bad_one(self, bad):
        line = f'{who_is(bad.page)} {does(bad.page)}'
        if bad.more:
            line += f', and {bad.more} more'
        if bad.awaited:
            count = len(bad.awaited)
            line += f'; {counted(count, all(page.rank >= 0 for page in bad.awaited))} wait' + \
                's' * (count == 1)
        self.add(f'{line}; last traffic {bad.page.quiet:.1f} s ago')

    def cuts(self):
        """Processes that get no answer."""
        waits = sorted((wait for wait in self.view.waits if is_unanswered(wait)),
                       key=lambda wait: (by_peer(wait), wait.who.pid))
        while waits and not self.more:
            worst = most(waits, by_peer)
            left = self.alone(waits, worst)
            if left is None:
                self.network(waits, worst)
                left = explain(waits, by_peer, worst.wait)
            waits = left

    def alone(self, waits, worst):
        """A process that waits for more peers than wait for any: the waits of others. Its
        own network is not cut if a peer refused it. None: there is no such process."""
        own, pages = Counter(wait.who.pid for wait in waits), {}
        for wait in waits:
            if all(row.refused == 0 for row in wait.who.rows):
                pages.setdefault(wait.who.pid, wait.who)
        page = max(pages.values(), key=lambda page: own[page.pid], default=None)
        count = own[page.pid] if page else 0
        if count <= worst.processes + worst.own:
            return None
        age = max(wait.row.age for wait in waits if wait.who.pid == page.pid)
        self.add(f'the network of {place(page, page.host)} is cut, or its peers are down: it '
                 f'has waited up to {age:.1f} s for completions of {count} endpoints')
        return [wait for wait in waits if wait.who.pid != page.pid]

    def network(self, waits, worst):
        """A peer that processes get no answer from."""
        one = worst.wait
        age = max(wait.row.age for wait in waits if by_peer(wait) == by_peer(one))
        mutual = one.local and any(
            wait.who.pid == one.local.pid and wait.local and wait.local.pid == one.who.pid
            for wait in waits)
        if worst.processes == worst.own == 1 and mutual:
            self.add(f'the network between {place(one.who, one.who.host)} and '
                     f'{place(one.local, one.host)} is cut, or one of them is down: both have '
                     f'waited, up to {age:.1f} s, for completions')
            return
        have = f'and {worst.processes - 1} more have' if worst.processes > 1 else 'has'
        self.add(f'the network to {place(one.local, one.host)} does not answer: '
                 f'{who_is(one.who)} {have} waited, up to {age:.1f} s, for completions; it is '
                 'cut, or that host is down')

    def stall(self, worst, ranks):
        """A host that stalls processes, why, and its peers that do: their ranks; if it is a
        single one, also its process and state."""
        line = f'{worst.wait.host} stalls {counted(worst.processes, ranks)}, waiting for ' \
            f'{reason(worst.wait.row)}'
        peers = [peer for peer in self.view.peers if peer.stalls and
                 peer.host == worst.wait.host and not (peer.local and is_bad(peer.local))]
        named = [f' rank {peer.rank}' for peer in peers if peer.rank >= 0][:RANKS]
        if named:
            line += ':' + ','.join(named)
            if len(peers) > len(named):
                line += f', and {len(peers) - len(named)} more'
        if len(peers) == 1 and peers[0].local:
            line += f'{"," if named else ":"} process {peers[0].local.pid} ' + \
                does(peers[0].local)
        self.add(line)

    def program(self):
        """Nobody waits for the network, and nothing moves."""
        ranks = self.pollers(True)
        pollers = ranks or self.pollers(False)
        if len(pollers) >= 2:
            self.add(f'{counted(len(pollers), bool(ranks))} poll, and nothing has moved for '
                     f'{min(page.quiet for page in pollers):.1f} s: what they wait for was '
                     'not sent, or not received, by the program')

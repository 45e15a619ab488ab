# SPDX-License-Identifier: BSD-3-Clause
"""How much the networks of this host's EFAs retransmit, by the kernel."""

import os
import time

LINES = 4  # of devices that retransmit, and one more


class Networks:
    """`now` has the counters of each device whose driver tells, `grown` how much they grew
    in `seconds` between the last two readings."""

    def __init__(self, told):
        self.told = told
        self.folder = os.path.join(os.environ.get('SYSFS_PATH', '/sys'), 'class/infiniband')
        self.now = {}
        self.when = 0
        self.read()

    def read(self):
        before, self.now, self.grown = self.now, {}, {}
        self.seconds, self.when = time.monotonic() - self.when, time.monotonic()
        try:
            devices = sorted(os.listdir(self.folder))
        except OSError:
            return
        for device in devices:
            try:
                self.now[device] = [self.counter(device, name)
                                    for name in self.told['network']]
            except (OSError, ValueError):
                continue  # its driver is older than they are
            self.grown[device] = [value - was for value, was in zip(
                self.now[device], before.get(device, self.now[device]))]

    def counter(self, device, name):
        with open(f'{self.folder}/{device}/ports/1/hw_counters/{name}', 'rb') as file:
            return int(file.read())

    def said(self, values):
        """As efa_network_describe says it."""
        packets, size = values[:2]
        said = f'{packets} packets ({size} bytes)' if packets else 'no packet'
        events = [f'{value} {event}' for value, event in zip(values, self.told['events'])
                  if event and value]
        return f'within {self.seconds:.1f} s the network retransmitted {said}' + \
            (', with ' + ', '.join(events) if events else '')

    def lines(self):
        """One for each device whose network retransmits now, or one for all devices."""
        lines = [f'{device}: {self.said(values)}'
                 for device, values in self.grown.items() if any(values)]
        if len(lines) > LINES:
            lines[LINES:] = [f'{len(lines) - LINES} devices more whose network retransmitted']
        return lines or [self.said([0] * len(self.told['network']))] * bool(self.now)

    def as_json(self):
        return [{'name': device,
                 'packets_retransmitted_per_second': round(
                     self.grown[device][0] / self.seconds, 3),
                 'counters': dict(zip(self.told['network'], values))}
                for device, values in self.now.items()]

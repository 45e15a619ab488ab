#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ucx_near.py ROOT: which EFAs UCX's topology has nearest to each GPU of the /sys
below ROOT (pictures.py): "GPU ADDRESS: ADDRESS,...". In a process that sees that
/sys (efasim's preloaded library with SYSFS_PATH)."""

import ctypes
import os
import sys


class BusId(ctypes.Structure):
    _fields_ = [('domain', ctypes.c_uint16), ('bus', ctypes.c_uint8),
                ('slot', ctypes.c_uint8), ('function', ctypes.c_uint8)]


class Distance(ctypes.Structure):
    _fields_ = [('latency', ctypes.c_double), ('bandwidth', ctypes.c_double)]


def functions(root, vendor):
    folder = os.path.join(root, 'sys/bus/pci/devices')
    for address in sorted(os.listdir(folder)):
        with open(os.path.join(folder, address, 'vendor'),
                  encoding='ascii') as file:
            if file.read().strip() == vendor:
                yield address


def main(root):
    ucs = ctypes.CDLL('libucs.so.0')

    def device(address):
        domain, bus, rest = address.split(':')
        slot, function = rest.split('.')
        bus_id = BusId(int(domain, 16), int(bus, 16), int(slot, 16),
                       int(function, 16))
        number = ctypes.c_uint8()
        if ucs.ucs_topo_find_device_by_bus_id(ctypes.byref(bus_id),
                                              ctypes.byref(number)) != 0:
            sys.exit(f'UCX does not take {address}')
        return number

    efas = {address: device(address) for address in functions(root, '0x1d0f')}
    for gpu in functions(root, '0x10de'):
        bandwidth = {}
        for address, efa in efas.items():
            distance = Distance()
            ucs.ucs_topo_get_distance(device(gpu), efa, ctypes.byref(distance))
            bandwidth[address] = distance.bandwidth
        best = max(bandwidth.values())
        print(f'GPU {gpu}:', ','.join(address for address in bandwidth
                                      if bandwidth[address] == best))


main(*sys.argv[1:])

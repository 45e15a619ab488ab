#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""trace_events.py TRACE.json...: whether a trace of srd_replay is what Chrome's
description of the format asks for and Perfetto loads without an error. (Its own trace
processor said so of these traces, of every kind of event that they have.)"""

import collections
import json
import sys

KEYS = {  # of each kind of event; those of kind M by their name
    'process_name': 'ph name pid args', 'thread_name': 'ph name pid tid args',
    'X': 'ph name pid tid ts dur', 'i': 'ph name pid tid ts s', 'C': 'ph name pid ts args'}


def kind_of(event):
    return event['name'] if event['ph'] == 'M' else event['ph']


def problems(events):
    names, ends = {}, collections.defaultdict(float)
    if len({event['pid'] for event in events}) != 1:
        yield 'several processes'
    for event in events:
        kind, row, time = kind_of(event), event.get('tid'), event.get('ts', 1)
        if set(event) != set(KEYS.get(kind, '').split()):
            yield f'no event of a known kind: {event}'
        elif kind == 'thread_name':
            names[row] = event['args']['name']
        elif kind in 'Xi' and (not row or row not in names):
            yield f'a row without a name, or the first: {event}'
        elif kind == 'C' and set(event['args']) != {'out', 'allowed'}:
            yield f'other counters: {event}'
        elif time <= 0 or event.get('s', 't') != 't':
            yield f'no time, or another scope: {event}'
        if kind == 'X' and (event['dur'] < 0 or time < ends[row]):
            yield f'a stall that is none, or within another: {event}'
        if kind == 'X':
            ends[row] = time + event['dur'] - 0.001


def main(paths):
    failed = False
    for path in paths:
        with open(path, encoding='utf-8') as file:
            first, *_ = trace = json.load(file)
            events = trace['traceEvents']
        kinds = collections.Counter(map(kind_of, events))
        wrong = list(problems(events)) + [f'no event {kind}' for kind in KEYS
                                          if not kinds[kind]]
        if first != 'traceEvents':
            wrong.append(f'{first} comes first: Perfetto reads no more then')
        print(f'{path}: {dict(kinds)}', *wrong[:5], sep='\n')
        failed = failed or bool(wrong)
    sys.exit(1 if failed else 0)


main(sys.argv[1:])

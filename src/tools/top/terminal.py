# SPDX-License-Identifier: BSD-3-Clause
"""The terminal of srd_info --top: its keys, and its size."""

import os
import select
import signal
import termios

from view import ORDERS


class Terminal:
    """Where it is wanted and standard input and output are a terminal, keys are read and
    pages drawn in place, until close(), or until a signal ends the program."""

    def __init__(self, is_wanted):
        self.before = None
        self.order = 's'
        self.quit = False
        try:
            if is_wanted and os.isatty(1):
                self.before = termios.tcgetattr(0)
        except termios.error:
            pass
        if self.before:
            for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT:
                signal.signal(number, self.ended)
            raw = termios.tcgetattr(0)
            raw[3] &= ~(termios.ICANON | termios.ECHO)
            termios.tcsetattr(0, termios.TCSANOW, raw)

    def close(self):
        if self.before:
            termios.tcsetattr(0, termios.TCSANOW, self.before)

    def ended(self, number, _):
        self.close()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def wait(self, seconds):
        """Waits so long, or until a key that has a meaning."""
        keys = select.poll()
        if self.before:
            keys.register(0, select.POLLIN)
        while keys.poll(seconds * 1000):
            key = os.read(0, 1).decode('latin-1')
            if key in ('q', ''):  # '': the terminal is closed
                self.quit = True
                return
            if key in ORDERS:
                self.order = key
            if key in ORDERS or key == ' ':
                return

    def page(self, text):
        """A page of output: on a terminal it replaces the last one."""
        return '\033[H\033[J' + text if self.before else text

    def lines(self):
        """The number of lines of the terminal; 0: no limit."""
        try:
            return os.get_terminal_size(1).lines if self.before else 0
        except OSError:
            return 0

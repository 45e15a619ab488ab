# SPDX-License-Identifier: BSD-3-Clause
"""Python's own stacks, of all threads, to standard error at SIGUSR1."""
import faulthandler
import signal

faulthandler.register(signal.SIGUSR1, all_threads=True)

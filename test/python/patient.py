# SPDX-License-Identifier: BSD-3-Clause
"""A plugin of pytest's. Other projects' own tests have limits for a quiet machine, which
they leave out under a debugger, as here: the limit of the check ends them."""

import pytest_timeout

pytest_timeout.SUPPRESS_TIMEOUT = True

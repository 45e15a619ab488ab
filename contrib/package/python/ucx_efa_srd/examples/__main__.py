# SPDX-License-Identifier: BSD-3-Clause
"""python -m ucx_efa_srd.examples: what there is."""

import sys

import ucx_efa_srd.examples

print(ucx_efa_srd.examples.__doc__)
sys.exit(0 if sys.argv[1:] in ([], ['--help'], ['-h']) else 2)

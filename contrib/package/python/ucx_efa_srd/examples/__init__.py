# SPDX-License-Identifier: BSD-3-Clause
"""Programs that show each package over SRD, with the module loaded:

    UCX_TLS=srd,tcp,sm,self python -m ucx_efa_srd.examples.ucxx_pingpong
    UCX_TLS=srd,tcp,sm,self python -m ucx_efa_srd.examples.ucxx_pingpong ADDRESS

The others are dask_cluster and nixl_transfer. Each says with --help what it needs."""

import os
import sys

# They also run as scripts, and so import what is beside them by its bare name.
sys.path.append(os.path.dirname(os.path.realpath(__file__)))

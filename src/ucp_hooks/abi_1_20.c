/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 20
#define UCX_ABI   ucx_abi_1_20

#include "abi_glue.h"

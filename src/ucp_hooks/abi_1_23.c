/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 23
#define UCX_ABI   ucx_abi_1_23

#include "abi_glue.h"

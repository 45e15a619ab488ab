/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 17
#define UCX_ABI   ucx_abi_1_17

#include "abi_glue.h"

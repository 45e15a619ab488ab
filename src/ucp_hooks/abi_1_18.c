/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 18
#define UCX_ABI   ucx_abi_1_18

#include "abi_glue.h"

/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 15
#define UCX_ABI   ucx_abi_1_15

#include "abi_glue.h"

/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 19
#define UCX_ABI   ucx_abi_1_19

#include "abi_glue.h"

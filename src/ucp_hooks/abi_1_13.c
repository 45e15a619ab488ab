/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 13
#define UCX_ABI   ucx_abi_1_13

#include "abi_glue.h"

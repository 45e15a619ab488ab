/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 14
#define UCX_ABI   ucx_abi_1_14

#include "abi_glue.h"

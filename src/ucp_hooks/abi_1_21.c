/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 21
#define UCX_ABI   ucx_abi_1_21

#include "abi_glue.h"

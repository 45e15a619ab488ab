/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 16
#define UCX_ABI   ucx_abi_1_16

#include "abi_glue.h"

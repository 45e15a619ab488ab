/* SPDX-License-Identifier: BSD-3-Clause */
#define UCX_MINOR 22
#define UCX_ABI   ucx_abi_1_22

#include "abi_glue.h"

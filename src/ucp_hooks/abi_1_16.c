#define UCX_MINOR 16
#define UCX_ABI   ucx_abi_1_16

#include "abi_glue.h"

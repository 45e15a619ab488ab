#include "flow/flow.h"
typedef int flow_empty_t;

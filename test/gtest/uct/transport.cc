/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport.h"

#include <cstdlib>

namespace uct_test {

std::string &transport()
{
    static std::string name = (getenv("UCT_TRANSPORT") != nullptr) ?
                                      getenv("UCT_TRANSPORT") :
                                      "srd";

    return name;
}

} /* namespace uct_test */

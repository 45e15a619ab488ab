/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace uct_test {

std::string &transport()
{
    static std::string name = (getenv("UCT_TRANSPORT") != nullptr) ?
                                      getenv("UCT_TRANSPORT") :
                                      "srd";

    return name;
}

unsigned long long device_counter(const char *name)
{
    using Counter   = int (*)(const char *, unsigned long long *);
    Counter counter = reinterpret_cast<Counter>(
            dlsym(RTLD_DEFAULT, "efasim_counter"));
    unsigned long long value = 0;

    if ((counter == nullptr) || (counter(name, &value) != 0)) {
        ADD_FAILURE() << name << " cannot be read";
    }
    return value;
}

} /* namespace uct_test */

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

OtherValue::OtherValue(const char *name_, const char *value) :
    name(name_), was_set(getenv(name_) != nullptr)
{
    if (was_set) {
        before = getenv(name_);
    }
    setenv(name_, value, 1);
}

OtherValue::~OtherValue()
{
    if (was_set) {
        setenv(name.c_str(), before.c_str(), 1);
    } else {
        unsetenv(name.c_str());
    }
}

} /* namespace uct_test */

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCT_TRANSPORT_H_
#define UCT_TRANSPORT_H_

#include <string>

namespace uct_test {

/* The transport of interfaces that are opened from now on: srd, or
 * UCT_TRANSPORT's. */
std::string &transport();

/* A counter of this process' emulated devices, by its name in `efasim stat`. */
unsigned long long device_counter(const char *name);

/* A variable of the environment has another value while this lives. */
class OtherValue {
public:
    OtherValue(const char *name, const char *value);
    OtherValue(const OtherValue &) = delete;
    OtherValue &operator=(const OtherValue &) = delete;
    ~OtherValue();

private:
    std::string name, before;
    bool was_set;
};

} /* namespace uct_test */

#endif

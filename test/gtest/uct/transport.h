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

} /* namespace uct_test */

#endif

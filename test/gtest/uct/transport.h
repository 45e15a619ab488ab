/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCT_TRANSPORT_H_
#define UCT_TRANSPORT_H_

#include <string>

namespace uct_test {

/* Of the interfaces that are opened from now on: srd, or what UCT_TRANSPORT
 * says. */
std::string &transport();

} /* namespace uct_test */

#endif

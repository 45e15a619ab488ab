/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VFS_FILES_H_
#define VFS_FILES_H_

/* Our interfaces of this process in UCX's tree of files (VFS). */

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace vfs_test {

/* Paths of the interfaces that have a folder of the transport. */
std::set<std::string> interfaces();

/* The one that came since `before`; a failure of the test if there is not
 * exactly one. */
std::string newest(const std::set<std::string> &before);

/* Text of a file in that folder of an interface; "" if there is none. */
std::string text(const std::string &interface, const std::string &file);

/* Its number; UINT64_MAX if it holds none. */
uint64_t number(const std::string &interface, const std::string &file);

/* The lines of file "endpoints". */
std::vector<std::map<std::string, std::string>>
endpoints(const std::string &interface);

/* Names in a folder. */
std::vector<std::string> names(const std::string &path);

} // namespace vfs_test

#endif

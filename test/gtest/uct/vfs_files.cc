/* SPDX-License-Identifier: BSD-3-Clause */
#include "vfs_files.h"
#include "transport.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

extern "C" {
#include <ucs/vfs/base/vfs_obj.h>
}

namespace vfs_test {

static void take_name(const char *name, void *arg)
{
    static_cast<std::vector<std::string> *>(arg)->push_back(name);
}

std::vector<std::string> names(const std::string &path)
{
    std::vector<std::string> result;

    ucs_vfs_path_list_dir(path.c_str(), take_name, &result);
    return result;
}

std::set<std::string> interfaces()
{
    std::set<std::string> result;

    for (const auto &worker : names("/uct/worker")) {
        std::string path = "/uct/worker/" + worker + "/iface";
        for (const auto &iface : names(path)) {
            auto files = names(path + "/" + iface);
            if (std::count(files.begin(), files.end(), uct_test::transport()) != 0) {
                result.insert(path + "/" + iface);
            }
        }
    }
    return result;
}

std::string newest(const std::set<std::string> &before)
{
    std::vector<std::string> fresh;

    for (const auto &path : interfaces()) {
        if (before.count(path) == 0) {
            fresh.push_back(path);
        }
    }
    EXPECT_EQ(1u, fresh.size()) << "new interfaces with files of ours";
    return fresh.empty() ? "" : fresh[0];
}

static std::string
path_of(const std::string &interface, const std::string &file)
{
    return interface + "/" + uct_test::transport() + "/" + file;
}

std::string text(const std::string &interface, const std::string &file)
{
    ucs_string_buffer_t buffer;
    std::string result;

    ucs_string_buffer_init(&buffer);
    if (ucs_vfs_path_read_file(path_of(interface, file).c_str(),
                               &buffer) == UCS_OK) {
        result = ucs_string_buffer_cstr(&buffer);
    }
    ucs_string_buffer_cleanup(&buffer);
    return result;
}

uint64_t number(const std::string &interface, const std::string &file)
{
    std::string line = text(interface, file);
    uint64_t value;
    char end;

    if ((sscanf(line.c_str(), "%lu%c", &value, &end) != 2) || (end != '\n')) {
        ADD_FAILURE() << path_of(interface, file) << ": '" << line << "'";
        return UINT64_MAX;
    }
    return value;
}

std::vector<std::map<std::string, std::string>>
endpoints(const std::string &interface)
{
    std::vector<std::map<std::string, std::string>> result;
    std::istringstream lines(text(interface, "endpoints"));
    std::string line, word;

    while (std::getline(lines, line)) {
        std::map<std::string, std::string> fields;
        std::istringstream words(line);
        while (words >> word) {
            size_t at = word.find('=');
            if (at == std::string::npos) {
                ADD_FAILURE() << "endpoints: '" << line << "'";
            } else {
                fields[word.substr(0, at)] = word.substr(at + 1);
            }
        }
        result.push_back(fields);
    }
    return result;
}

} // namespace vfs_test

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzzer's inputs once more, without libFuzzer: where it does not exist,
 * and on objects as they are. A broken invariant aborts.
 * usage: replay FOLDER
 */
#include <cstdint>
#include <cstdio>
#include <dirent.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    unsigned count = 0;
    DIR *dir       = (argc == 2) ? opendir(argv[1]) : nullptr;

    if (dir == nullptr) {
        fprintf(stderr, "usage: replay FOLDER\n");
        return 2;
    }
    while (const dirent *entry = readdir(dir)) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        std::ifstream file(std::string(argv[1]) + "/" + entry->d_name,
                           std::ios::binary);
        std::vector<char> data((std::istreambuf_iterator<char>(file)),
                               std::istreambuf_iterator<char>());

        LLVMFuzzerTestOneInput((const uint8_t*)data.data(), data.size());
        ++count;
    }
    closedir(dir);
    printf("Done %u inputs\n", count);
    return (count > 0) ? 0 : 1;
}

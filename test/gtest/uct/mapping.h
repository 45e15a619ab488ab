/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MAPPING_H_
#define MAPPING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

namespace uct_test {

/* Address space without memory behind it until it is touched. */
class Mapping {
public:
    explicit Mapping(size_t length, int protection = PROT_READ | PROT_WRITE)
        : m_length(length)
    {
        m_data = mmap(nullptr, length, protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    ~Mapping()
    {
        if (m_data != MAP_FAILED) {
            munmap(m_data, m_length);
        }
    }
    Mapping(const Mapping &) = delete;

    /* The pages of one file of 48 MiB over and over, instead of as many of its
     * own, which cost half a minute where the machine is a guest. 48 MiB do not
     * divide 4 GiB: an offset that lost its upper bits meets other bytes. */
    bool repeat()
    {
        const size_t part = 48ul << 20;
        int file          = memfd_create("uct_memory", MFD_CLOEXEC);
        bool done = ok() && (file >= 0) && (ftruncate(file, part) == 0);

        for (size_t at = 0; done && (at < m_length); at += part) {
            done = mmap(data() + at, std::min(part, m_length - at),
                        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                        0) != MAP_FAILED;
        }
        if (file >= 0) {
            close(file);
        }
        return done;
    }
    bool ok() const
    {
        return m_data != MAP_FAILED;
    }
    uint8_t *data() const
    {
        return static_cast<uint8_t *>(m_data);
    }
    size_t size() const
    {
        return m_length;
    }

private:
    void *m_data;
    size_t m_length;
};

} // namespace uct_test

#endif

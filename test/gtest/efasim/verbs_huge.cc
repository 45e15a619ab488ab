/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory on huge pages of 2 MB, private or a file's, where the machine has some. */
#include "verbs_test.h"

#include <cerrno>
#include <cstring>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

class Huge : public testing::Test {
protected:
    enum : size_t { PAGE = 2 << 20, SIZE = 2 * PAGE };

    void make(bool of_file)
    {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << 26;

        if (of_file) {
            file  = memfd_create("huge", MFD_HUGETLB | MFD_HUGE_2MB);
            flags = MAP_SHARED;
            if ((file < 0) || (ftruncate(file, SIZE) != 0)) {
                return;
            }
        }
        void *at = mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, flags, file, 0);
        bytes    = (at == MAP_FAILED) ? nullptr : (uint8_t*)at;
    }

    ~Huge() override
    {
        if (bytes != nullptr) {
            munmap(bytes, SIZE);
        }
        if (file >= 0) {
            close(file);
        }
    }

    ibv_mr *reg(size_t at, size_t length)
    {
        return ibv_reg_mr(dev.pd, bytes + at, length,
                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    }

    Device dev;
    int file       = -1;
    uint8_t *bytes = nullptr;
};

/* From one huge page into the next */
TEST_F(Huge, pages_move_data)
{
    for (bool of_file : {false, true}) {
        make(of_file);
        if (bytes == nullptr) {
            GTEST_SKIP() << "no huge pages are free";
        }
        ibv_mr *mr = reg(PAGE - 4000, 8000);
        expect_moves_data(dev, mr, (uintptr_t)bytes + PAGE - 4000, 8000,
                          bytes + PAGE - 4000);
        EXPECT_EQ(0, ibv_dereg_mr(mr));
        munmap(bytes, SIZE);
        bytes = nullptr;
    }
}

TEST_F(Huge, pages_that_the_file_has_no_more_are_refused)
{
    make(true);
    if (bytes == nullptr) {
        GTEST_SKIP() << "no huge pages are free";
    }
    bytes[PAGE] = 1;
    ASSERT_EQ(0, ftruncate(file, PAGE));
    errno = 0;
    EXPECT_EQ(nullptr, reg(0, SIZE));
    EXPECT_EQ(EFAULT, errno);
    ibv_mr *mr = reg(0, PAGE);
    EXPECT_NE(nullptr, mr) << strerror(errno);
    if (mr != nullptr) {
        EXPECT_EQ(0, ibv_dereg_mr(mr));
    }
}

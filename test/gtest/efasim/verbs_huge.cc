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

    void move_data();

    Device dev;
    int file       = -1;
    uint8_t *bytes = nullptr;
};

/* Messages and reads from one huge page into the next */
void Huge::move_data()
{
    const size_t at = PAGE - 4000;
    ibv_mr *mr      = reg(at, 8000);
    Qp a(dev), b(dev);
    Memory plain(dev, 8000);
    ibv_ah *ah = dev.ah(dev.gid);

    ASSERT_NE(nullptr, mr) << strerror(errno);
    plain.fill(3);
    ASSERT_EQ(0, b.recv(1, {ibv_sge{(uintptr_t)bytes + at, 8000, mr->lkey}}));
    ASSERT_EQ(0, a.send(2, ah, b.address(), {plain.sge(0, 8000)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ(8000u, poll_one(b.rcq).byte_len);
    EXPECT_LT(fill_diff(bytes + at, 8000, 3, 0), 0);

    fill_bytes(bytes + at, 8000, 9, 0);
    ASSERT_EQ(0, a.read(3, ah, b.address(), plain.sge(0, 8000),
                        (uintptr_t)bytes + at, mr->rkey));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_LT(fill_diff(plain.data(), 8000, 9, 0), 0);
    EXPECT_EQ(0, ibv_destroy_ah(ah));
    EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(Huge, private_pages_move_data)
{
    make(false);
    if (bytes == nullptr) {
        GTEST_SKIP() << "no huge pages are free";
    }
    move_data();
}

TEST_F(Huge, pages_of_a_file_move_data)
{
    make(true);
    if (bytes == nullptr) {
        GTEST_SKIP() << "no huge pages are free";
    }
    move_data();
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration of a dma-buf; a memfd stands in for one. */
#include "verbs_test.h"

#include "efasim/driver/gpu_fd.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Messages and reads go through @len bytes that @mr calls @at, and we @bytes. */
static void expect_moves_data(Device &dev, const ibv_mr *mr, uint64_t at,
                              size_t len, uint8_t *bytes)
{
    const uint32_t most = std::min(len, (size_t)MSG_MAX);
    Qp a(dev), b(dev);
    Memory plain(dev, len);
    ibv_ah *ah = dev.ah(dev.gid);

    ASSERT_NE(nullptr, mr) << strerror(errno);
    plain.fill(3);
    ASSERT_EQ(0, b.recv(1, {ibv_sge{at, most, mr->lkey}}));
    ASSERT_EQ(0, a.send(2, ah, b.address(), {plain.sge(0, most)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ(most, poll_one(b.rcq).byte_len);
    EXPECT_LT(fill_diff(bytes, most, 3, 0), 0);
    fill_bytes(bytes, len, 9, 0);
    plain.poison();
    ASSERT_EQ(0, a.read(3, ah, b.address(), plain.sge(0, len), at, mr->rkey));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_LT(fill_diff(plain.data(), len, 9, 0), 0);
    ASSERT_EQ(0, a.read(4, ah, b.address(), plain.sge(0, 100), at + len - 36,
                        mr->rkey));
    EXPECT_EQ((uint32_t)ST_BAD_ADDRESS, poll_one(a.scq).vendor_err);
}

class Dmabuf : public testing::Test {
protected:
    Dmabuf() : fd(memfd_create("dmabuf", 0))
    {
        EXPECT_EQ(0, ftruncate(fd, size));
        bytes = (uint8_t*)mmap(nullptr, size, PROT_READ | PROT_WRITE,
                               MAP_SHARED, fd, 0);
    }

    ~Dmabuf() override
    {
        munmap(bytes, size);
        close(fd);
    }

    ibv_mr *reg(uint64_t offset, size_t length, uint64_t iova, int fd)
    {
        return ibv_reg_dmabuf_mr(dev.pd, offset, length, iova, fd,
                                 IBV_ACCESS_LOCAL_WRITE |
                                 IBV_ACCESS_REMOTE_READ);
    }

    enum { size = 1 << 20 };
    Device dev;
    int fd;
    uint8_t *bytes;
};

/* Named by an I/O address that is nobody's pointer. */
TEST_F(Dmabuf, moves_data)
{
    const uint64_t iova = 0x7000000001000;
    ibv_mr *mr          = reg(4096, 65536, iova, fd);

    expect_moves_data(dev, mr, iova, 65536, bytes + 4096);
    EXPECT_EQ(0, ibv_dereg_mr(mr));
}

TEST_F(Dmabuf, refused)
{
    int null = open("/dev/null", O_RDWR);

    EXPECT_EQ(nullptr, reg(0, 100, 0, null)); /* no dma-buf */
    EXPECT_EQ(nullptr, reg(size - 50, 100, size - 50, fd)); /* beyond it */
    EXPECT_EQ(nullptr, reg(0, 0, 0, fd));
    EXPECT_EQ(nullptr, reg(10, 100, 20, fd)); /* offset in page differs */
    EXPECT_EQ(nullptr, reg(0, 100, 0, 12345));
    close(null);
}

/* Nothing stays mapped or counted. */
TEST_F(Dmabuf, many_times)
{
    for (unsigned i = 0; i < 2000; ++i) {
        ibv_mr *mr = reg(0, size, 0, fd);

        ASSERT_NE(nullptr, mr) << i;
        ASSERT_EQ(0, ibv_dereg_mr(mr));
    }
}

/* Memory as a GPU's: mapped without rights, under the name that the emulated
 * GPU gives it. Run with and without peer memory and dma-bufs. */
class GpuMemory : public testing::Test {
protected:
    GpuMemory() : fd(memfd_create(GPU_FD_MEMORY, 0))
    {
        EXPECT_EQ(0, ftruncate(fd, size));
        device = mmap(nullptr, size, PROT_NONE, MAP_SHARED, fd, 0);
        alias  = (uint8_t*)mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                MAP_SHARED, fd, 0);
    }

    ~GpuMemory() override
    {
        munmap(device, size);
        munmap(alias, size);
        close(fd);
    }

    ibv_mr *reg(void *address, size_t length)
    {
        errno = 0;
        return ibv_reg_mr(dev.pd, address, length, IBV_ACCESS_LOCAL_WRITE |
                          IBV_ACCESS_REMOTE_READ);
    }

    static bool is_set(const char *name, char value)
    {
        const char *text = getenv(name);

        return (text != nullptr) && (*text == value);
    }

    enum { size = 1 << 20 };
    Device dev;
    int fd;
    void *device;
    uint8_t *alias;
};

TEST_F(GpuMemory, by_address)
{
    ibv_mr *mr = reg((char*)device + 100, 65536);

    if (!is_set("EFASIM_PEER_MEMORY", '1')) {
        EXPECT_EQ(nullptr, mr);
        EXPECT_EQ(EFAULT, errno);
        return;
    }

    expect_moves_data(dev, mr, (uintptr_t)device + 100, 65536, alias + 100);
    EXPECT_EQ(0, ibv_dereg_mr(mr));
    EXPECT_EQ(nullptr, reg((char*)device + size - 4096, 8192));
}

/* Pages that the program may not read cannot be pinned, whatever they are. */
TEST_F(GpuMemory, other_memory_without_rights)
{
    void *none = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);

    EXPECT_EQ(nullptr, reg(none, 4096));
    EXPECT_EQ(EFAULT, errno);
    munmap(none, size);
}

/* A part of it that begins anywhere; a kernel without dma-bufs says so, before it
 * looks at the descriptor. */
TEST_F(GpuMemory, by_dmabuf)
{
    const gpu_fd_dmabuf part = [this] {
        struct stat st = {};
        EXPECT_EQ(0, fstat(fd, &st));
        return gpu_fd_dmabuf{GPU_FD_MAGIC, st.st_ino, fd, 0, 8192, 65536};
    }();
    int dmabuf = memfd_create(GPU_FD_DMABUF, 0);
    ibv_mr *mr;

    EXPECT_EQ((ssize_t)sizeof(part), write(dmabuf, &part, sizeof(part)));
    errno = 0;
    mr    = ibv_reg_dmabuf_mr(dev.pd, 4096, 4096, 4096, dmabuf,
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    if (is_set("EFASIM_DMABUF", '0')) {
        EXPECT_EQ(nullptr, mr);
        EXPECT_EQ(EOPNOTSUPP, errno);
    } else {
        expect_moves_data(dev, mr, 4096, 4096, alias + 8192 + 4096);
        EXPECT_EQ(0, ibv_dereg_mr(mr));
        EXPECT_EQ(nullptr, ibv_reg_dmabuf_mr(dev.pd, 0, 65537, 0, dmabuf,
                                             IBV_ACCESS_LOCAL_WRITE));
    }
    close(dmabuf);
}

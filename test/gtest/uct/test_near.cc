/* SPDX-License-Identifier: BSD-3-Clause */
/* Is an address one of this host? With interfaces that the test makes up. */
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <ifaddrs.h>
#include <list>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

extern "C" {
#include <ucp_hooks/near.h>
}

static std::vector<std::string> addresses; /* IPv4 and IPv6 */
static bool refused;

struct Interface {
    ifaddrs          entry;
    sockaddr_storage addr;
};

/* In the place of libc's. */
extern "C" int getifaddrs(ifaddrs **list)
{
    if (refused) {
        errno = EACCES;
        return -1;
    }
    *list = new ifaddrs(); /* as a packet socket has: no address */
    for (auto &text : addresses) {
        auto *i   = new Interface();
        auto *v4  = reinterpret_cast<sockaddr_in*>(&i->addr);
        auto *v6  = reinterpret_cast<sockaddr_in6*>(&i->addr);
        bool isv4 = text.find(':') == text.npos;

        i->addr.ss_family = isv4 ? AF_INET : AF_INET6;
        inet_pton(i->addr.ss_family, text.c_str(),
                  isv4 ? (void*)&v4->sin_addr : (void*)&v6->sin6_addr);
        i->entry.ifa_addr = reinterpret_cast<sockaddr*>(&i->addr);
        i->entry.ifa_next = *list;
        *list             = &i->entry;
    }
    return 0;
}

extern "C" void freeifaddrs(ifaddrs *list)
{
    while (list != nullptr) {
        ifaddrs *next = list->ifa_next;

        if (list->ifa_addr != nullptr) {
            delete reinterpret_cast<Interface*>(list);
        } else {
            delete list;
        }
        list = next;
    }
}

/* One of libc's clocks goes as the test wishes. */
static time_t seconds = 1000;

extern "C" int clock_gettime(clockid_t clock, timespec *now)
{
    if (clock == CLOCK_MONOTONIC_COARSE) {
        *now = {seconds, 0};
        return 0;
    }
    return syscall(SYS_clock_gettime, clock, now);
}

static bool is_near(const char *text)
{
    bool isv4 = strchr(text, ':') == nullptr;
    uint8_t addr[2 + sizeof(in6_addr)] = {0, uint8_t(isv4 ? AF_INET : AF_INET6)};

    inet_pton(addr[1], text, addr + 2);
    return near_tcp(addr) != 0;
}

class Near : public testing::Test {
protected:
    void SetUp() override
    {
        refused   = false;
        addresses = {"10.1.2.3", "fe80::17"};
        ++seconds; /* a list of another test is old */
        is_near("10.9.9.9");
    }
};

TEST_F(Near, ours_and_others)
{
    EXPECT_TRUE(is_near("10.1.2.3"));
    EXPECT_TRUE(is_near("fe80::17"));
    EXPECT_TRUE(is_near("127.0.0.9"));
    EXPECT_FALSE(is_near("10.1.2.4"));
    EXPECT_FALSE(is_near("fe80::18"));
}

TEST_F(Near, an_interface_comes)
{
    EXPECT_FALSE(is_near("10.1.2.4"));
    addresses.push_back("10.1.2.4");
    EXPECT_FALSE(is_near("10.1.2.4")) << "listed again within a second";
    ++seconds;
    EXPECT_TRUE(is_near("10.1.2.4"));
    EXPECT_TRUE(is_near("10.1.2.3"));
}

TEST_F(Near, an_interface_leaves)
{
    addresses.erase(addresses.begin());
    ++seconds;
    EXPECT_FALSE(is_near("10.1.2.4")); /* not ours: the list is read again */
    EXPECT_FALSE(is_near("10.1.2.3"));
}

TEST_F(Near, no_new_list)
{
    refused = true;
    ++seconds;
    EXPECT_TRUE(is_near("10.1.2.3"));
    EXPECT_TRUE(is_near("10.1.2.4")) << "it cannot be known";
}

/* Behind a shorter address there may be nothing that can be read. */
TEST_F(Near, ib_addresses_of_two_lengths)
{
    const uint8_t ours[20] = {0x14, 1, 2, 3};
    size_t page = sysconf(_SC_PAGESIZE);
    auto *pages = static_cast<uint8_t*>(mmap(nullptr, 2 * page,
                                             PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1,
                                             0));
    ASSERT_NE(MAP_FAILED, pages);
    ASSERT_EQ(0, mprotect(pages + page, page, PROT_NONE));

    uint8_t *theirs = pages + page - sizeof(ours);
    memcpy(theirs, ours, sizeof(ours));
    EXPECT_TRUE(near_ib(ours, sizeof(ours), theirs));
    theirs[19] = 1;
    EXPECT_FALSE(near_ib(ours, sizeof(ours), theirs));

    theirs    = pages + page - 3;
    theirs[0] = 0x10;
    EXPECT_FALSE(near_ib(ours, sizeof(ours), theirs));
    munmap(pages, 2 * page);
}

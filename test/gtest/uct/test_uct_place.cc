/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a device is: the CPUs near it, as sysfs tells them. */
#include "uct_entity.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace uct_test;

namespace {

using Cpus = std::set<int>;

Cpus range(int first, int last)
{
    Cpus cpus;

    for (; first <= last; ++first) {
        cpus.insert(first);
    }
    return cpus;
}

const Cpus ALL = range(0, UCS_CPU_SETSIZE - 1);

} // namespace

/* Writes the emulated device's file, and puts it back. */
class UctPlace : public ::testing::Test {
protected:
    void SetUp() override
    {
        const char *root = getenv("SYSFS_PATH");

        ASSERT_NE(nullptr, root) << "run under 'efasim run'";
        m_file = std::string(root) + "/class/infiniband/" + Entity().device() +
                 "/device/local_cpus";
        std::ifstream in(m_file);
        std::stringstream text;
        ASSERT_TRUE(in.good()) << m_file;
        text << in.rdbuf();
        m_text = text.str();
    }

    void TearDown() override
    {
        write(m_text);
    }

    void write(const std::string &text)
    {
        std::ofstream out(m_file);

        out << text;
    }

    void remove()
    {
        ASSERT_EQ(0, unlink(m_file.c_str()));
    }

    /* The CPUs of a memory domain that is opened now. */
    Cpus near()
    {
        Entity entity;
        auto attr = std::make_unique<uct_md_attr_t>();
        Cpus cpus;

        EXPECT_EQ(UCS_OK, uct_md_query(entity.md(), attr.get()));
        for (int cpu = 0; cpu < UCS_CPU_SETSIZE; ++cpu) {
            if (ucs_cpu_is_set(cpu, &attr->local_cpus)) {
                cpus.insert(cpu);
            }
        }
        return cpus;
    }

    std::string m_file, m_text;
};

TEST_F(UctPlace, local_cpus__are_those_of_this_machine)
{
    Cpus cpus = near();

    EXPECT_FALSE(cpus.empty());
    if (!m_text.empty()) {
        EXPECT_LE(cpus.size(), size_t(sysconf(_SC_NPROCESSORS_CONF)));
    }
}

TEST_F(UctPlace, local_cpus__each_digit_counts)
{
    write("f0\n");
    EXPECT_EQ(range(4, 7), near());
    write("00000001,80000000\n");
    EXPECT_EQ(range(31, 32), near());
    write("0,8A"); /* no line end, capitals */
    EXPECT_EQ((Cpus{1, 3, 7}), near());
    write(std::string(1200 / 4, 'f') + "0\n"); /* more than the set has */
    EXPECT_EQ(range(4, UCS_CPU_SETSIZE - 1), near());
}

TEST_F(UctPlace, local_cpus__not_known_is_all)
{
    for (const char *text : {"", "\n", "0\n", "00000000,00000000\n", "0x3\n",
                             "node 1\n", "3;\n"}) {
        write(text);
        EXPECT_EQ(ALL, near()) << "'" << text << "'";
    }
    remove();
    EXPECT_EQ(ALL, near());
}

/* The device's trace has them (suite uct, uct_interrupts). */
TEST(UctInterrupt, two_workers)
{
    Entity first;
    Entity second(&first);

    EXPECT_NE(first.iface(), second.iface());
}

/* UctHuge: receive buffers on huge pages, as many kB as HUGE_KB says; the suite
 * sees to it that there are some, or none. */
static long huge_kb()
{
    std::ifstream in("/proc/self/status");
    std::string line;

    while (std::getline(in, line)) {
        if (line.rfind("HugetlbPages:", 0) == 0) {
            return strtol(line.c_str() + strlen("HugetlbPages:"), nullptr, 10);
        }
    }
    return -1;
}

/* Are there huge pages, none of which a fork would copy? (smaps: "ht" huge,
 * "dc" not copied) */
static bool forks_without_huge()
{
    std::ifstream in("/proc/self/smaps");
    std::string line;
    bool some = false;

    while (std::getline(in, line)) {
        if ((line.rfind("VmFlags:", 0) == 0) &&
            (line.find(" ht") != std::string::npos)) {
            some = true;
            EXPECT_NE(std::string::npos, line.find(" dc")) << line;
        }
    }
    return some;
}

class UctHuge : public UctTest {
};

TEST_F(UctHuge, buffers)
{
    const char *wanted = getenv("HUGE_KB");

    if (wanted == nullptr) {
        GTEST_SKIP() << "HUGE_KB is not set";
    }
    a = new Entity();
    b = new Entity();
    EXPECT_EQ(2 * atol(wanted), huge_kb());
    EXPECT_EQ(atol(wanted) > 0, forks_without_huge());
    ep = a->connect(*b);
    for (uint64_t i = 0; i < 2000; ++i) {
        ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
    }
    ASSERT_TRUE(wait([&] { return b->count == 2000; }));
    expect_in_order(2000);
    TearDown();
    EXPECT_EQ(0, huge_kb());
}

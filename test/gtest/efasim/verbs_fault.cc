/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of faults, commands that fail, the trace. */
#include "verbs_test.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unistd.h>

static std::string plan_file(const std::string &text)
{
    std::string name = testing::TempDir() + "verbs_plan.XXXXXX";

    close(mkstemp(&name[0]));
    std::ofstream(name) << text;
    return name;
}

TEST(DISABLED_Role, killed_host)
{
    Device dev;
    Qp qp(dev);

    sleep(30); /* and then it would end well */
}

/* Nobody calls the device: the backstop keeps the plan's time. */
TEST(fault, host_killed)
{
    std::string plan = plan_file("at 1ms kill\n");

    EXPECT_EQ(128 + 9, Child(2, "killed_host", {"--plan", plan}).wait());
    unlink(plan.c_str());
}

TEST(DISABLED_Role, failing_commands)
{
    Device dev;
    char bytes[4096];
    ibv_mr *first = ibv_reg_mr(dev.pd, bytes, 100, IBV_ACCESS_LOCAL_WRITE);

    ASSERT_NE(nullptr, first);
    EXPECT_EQ(nullptr, ibv_reg_mr(dev.pd, bytes, 100, IBV_ACCESS_LOCAL_WRITE));
    EXPECT_EQ(EIO, errno);
    ibv_mr *third = ibv_reg_mr(dev.pd, bytes, 100, IBV_ACCESS_LOCAL_WRITE);
    ASSERT_NE(nullptr, third);
    ibv_dereg_mr(first);
    ibv_dereg_mr(third);
    EXPECT_THROW(Qp{dev}, std::exception); /* its CQ */
    Qp qp(dev);
}

TEST(fault, commands_fail_by_number)
{
    Child(2, "failing_commands", {"--fail-command",
                                  "reg-mr:2:EIO,create-cq:1"}).expect_ok();
}

TEST(DISABLED_Role, one_message)
{
    Device dev;
    Qp qp(dev);
    Memory memory(dev, 64);

    ASSERT_EQ(0, qp.recv(1, {memory.sge(0, 64)}));
    ASSERT_EQ(0, qp.send(1, dev.ah(dev.gid), qp.address(), {memory.sge(0, 8)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
}

/* One line per command, packet and completion, in their order. */
TEST(fault, trace)
{
    std::string file = plan_file("");
    std::stringstream text;

    Child(2, "one_message", {"--trace", file}).expect_ok();
    text << std::ifstream(file).rdbuf();
    size_t at = 0;
    for (auto want : {"cmd get-context ret=0", "cmd alloc-pd ret=0",
                      "cmd create-cq ret=0", "cmd create-qp ret=0",
                      "cmd modify-qp ret=0", "cmd reg-mr ret=0",
                      "cmd create-ah ret=0", "tx qp=", "rx qp=", "done qp=",
                      "cmd destroy-qp ret=0"}) {
        at = text.str().find(want, at);
        ASSERT_NE(std::string::npos, at) << want << " is not in order in\n"
                                         << text.str();
    }
    EXPECT_NE(std::string::npos, text.str().find(" node=2 device=rdmap0s6 "
                                                 "tx qp="));
    unlink(file.c_str());
}

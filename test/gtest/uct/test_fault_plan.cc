/* SPDX-License-Identifier: BSD-3-Clause */
/* srd_info --plan's figure of memory that is not locked, beside the bytes that
 * an interface of this process asks malloc for. */
#include "fault.h"
#include "uct_entity.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

using namespace uct_test;

class FaultPlan : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (!fault_has_malloc() || (getenv("SRD_INFO") == nullptr)) {
            GTEST_SKIP() << "SRD_INFO names no program";
        }
    }

    /* A number of the plan for a rank with so many peers. */
    static double planned(const char *name, unsigned peers)
    {
        std::string command = std::string(getenv("SRD_INFO")) +
                              " --plan --ranks 1 --hosts " +
                              std::to_string(peers + 1) + " --json=-";
        std::string key = "\"" + std::string(name) + "\"", text;
        FILE *pipe      = popen(command.c_str(), "r");
        size_t at;
        char part[256];

        while ((pipe != nullptr) && fgets(part, sizeof(part), pipe)) {
            text += part;
        }
        if (pipe != nullptr) {
            pclose(pipe);
        }
        at = text.find(key);
        return (at == std::string::npos) ?
                       0 : atof(text.c_str() + text.find(':', at) + 1);
    }
};

/* Endpoints to itself: each is a peer, but for the record of that. */
TEST_F(FaultPlan, memory__is_what_is_planned)
{
    const unsigned peers = 3000;
    std::vector<uct_ep_h> eps;
    Entity other; /* what the process has once */

    long start = fault_balance().bytes;
    auto entity = std::make_unique<Entity>();
    double open = static_cast<double>(fault_balance().bytes - start);
    for (unsigned i = 0; i < peers; ++i) {
        eps.push_back(entity->connect(*entity));
        ASSERT_NE(nullptr, eps.back());
        for (int round = 0; round < 20; ++round) {
            entity->progress();
        }
    }
    for (int round = 0; round < 10000; ++round) {
        entity->progress();
    }
    double all  = static_cast<double>(fault_balance().bytes - start);
    double plan = planned("records_open", peers), most = planned("records", peers);
    printf("open: %.0f of %.0f planned; with %u peers: %.0f of %.0f\n", open,
           plan, peers, all, most);
    EXPECT_LE(open, plan * 1.02);
    EXPECT_GE(open, plan * 0.9);
    EXPECT_LE(all, most * 1.02);
    EXPECT_GE(all, most * 0.75); /* records of peers, and handles */
    for (uct_ep_h ep : eps) {
        uct_ep_destroy(ep);
    }
}

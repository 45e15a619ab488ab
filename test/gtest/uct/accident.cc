/* SPDX-License-Identifier: BSD-3-Clause */
#include "accident.h"

#include "efasim/efasim.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

using namespace uct_test;

namespace accident {

void Accident::TearDown()
{
    device("inject", "");
    device("delay-us", "0");
    UctTest::TearDown();
}

void Accident::device(const char *knob, const char *value)
{
    auto control = reinterpret_cast<decltype(&efasim_control)>(
            dlsym(RTLD_DEFAULT, "efasim_control"));

    ASSERT_NE(nullptr, control) << "run under 'efasim run -- srdrun'";
    ASSERT_EQ(0, control(knob, value)) << knob << "=" << value;
}

long Accident::resident()
{
    long size = 0, pages = 0;

    if (getenv("SRD_SANITIZE") != nullptr) {
        return 0;
    }
    FILE *file = fopen("/proc/self/statm", "r");
    if ((file == nullptr) || (fscanf(file, "%ld %ld", &size, &pages) != 2)) {
        ADD_FAILURE() << "/proc/self/statm cannot be read";
    }
    if (file != nullptr) {
        fclose(file);
    }
    return pages * 4;
}

uint64_t Accident::fill(uint64_t first)
{
    uint64_t number = first;

    while (uct_ep_am_short(ep, AM_ID, number, nullptr, 0) == UCS_OK) {
        ++number;
    }
    return number - first;
}

void Accident::reopen(const Config &config, size_t headroom)
{
    if (ep != nullptr) {
        uct_ep_destroy(ep);
        ep = nullptr;
    }
    delete a;
    delete b;
    a = b = nullptr;
    open(config, headroom);
}

uint64_t Accident::flood(unsigned eps)
{
    uct_ep_h first = ep;
    uint64_t sent  = fill(0);
    std::vector<uct_ep_h> more;

    for (unsigned i = 1; i < eps; ++i) {
        more.push_back(ep = a->connect(*b));
        sent += fill(0);
    }
    for (uct_ep_h each : more) {
        uct_ep_destroy(each);
    }
    ep = first;
    return sent;
}

uint64_t Accident::counter(const char *name)
{
    const char *sysfs        = getenv("SYSFS_PATH");
    unsigned long long value = 0;
    std::string path         = std::string(sysfs ? sysfs : "/sys") +
                               "/class/infiniband/rdmap0s6/ports/1/"
                               "hw_counters/" + name;
    char text[32]            = "";
    int fd                   = ::open(path.c_str(), O_RDONLY);

    EXPECT_GT(read(fd, text, sizeof(text) - 1), 0) << path;
    EXPECT_EQ(1, sscanf(text, "%llu", &value)) << path;
    close(fd);
    return value;
}

ucs_status_t Accident::connect_elsewhere()
{
    Bytes host      = b->device_addr, iface = b->iface_addr;
    uct_ep_h second = nullptr;

    host[12]  ^= 1; /* another GID */
    iface[9]  ^= 1; /* and another incarnation there */
    uct_ep_params_t params = {};
    params.field_mask      = UCT_EP_PARAM_FIELD_IFACE |
                             UCT_EP_PARAM_FIELD_DEV_ADDR |
                             UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface           = a->iface();
    params.dev_addr        = reinterpret_cast<const uct_device_addr_t *>(
            host.data());
    params.iface_addr      = reinterpret_cast<const uct_iface_addr_t *>(
            iface.data());
    ucs_status_t status    = uct_ep_create(&params, &second);
    if (status == UCS_OK) {
        uct_ep_destroy(second);
    }
    return status;
}

void Accident::introduce()
{
    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    ASSERT_TRUE(wait([&] { return b->count == 1; }));
    progress_for(0.05); /* the answer */
    ASSERT_TRUE(flush(ep));
}

void Accident::progress_for(double seconds)
{
    double until = now() + seconds;

    while (now() < until) {
        progress();
    }
}

void Accident::expect_in_order(uint64_t count)
{
    ASSERT_EQ(count, b->received.size());
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t number;
        memcpy(&number, b->received[i].data(), sizeof(number));
        ASSERT_EQ(i, number);
    }
}

ucs_status_t
Accident::get(const uct_iov_t &iov, Memory &remote, Completion *comp)
{
    ucs_status_t status = UCS_ERR_NO_RESOURCE;

    wait([&] {
        status = uct_ep_get_zcopy(ep, &iov, 1,
                                  reinterpret_cast<uintptr_t>(remote.data()),
                                  remote.rkey(), &comp->uct);
        return status != UCS_ERR_NO_RESOURCE;
    });
    return status;
}

double Accident::now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

} // namespace accident

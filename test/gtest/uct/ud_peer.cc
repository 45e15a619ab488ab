/* SPDX-License-Identifier: BSD-3-Clause */
#include "ud_peer.h"

#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace uct_test {

struct Order {
    uint32_t what, number;
};

static void send_all(int fd, const void *bytes, size_t length)
{
    if (write(fd, bytes, length) != ssize_t(length)) {
        throw std::runtime_error("the other process is gone");
    }
}

static void receive_all(int fd, void *bytes, size_t length)
{
    if (read(fd, bytes, length) != ssize_t(length)) {
        throw std::runtime_error("the other process is gone");
    }
}

UdPeer::UdPeer(const Entity &entity, const char *tries)
{
    int to[2], from[2];

    if ((pipe(to) != 0) || (pipe(from) != 0)) {
        throw std::runtime_error("pipe");
    }
    std::string fds = std::to_string(to[0]) + "," + std::to_string(from[1]);
    m_pid           = fork();
    if (m_pid == 0) {
        close(to[1]);
        close(from[0]);
        setenv("UD_PEER", fds.c_str(), 1);
        setenv("UCX_EFA_UD_TRIES", tries, 1);
        execl("/proc/self/exe", "peer", "--gtest_filter=UdPeerProcess.*",
              "--gtest_also_run_disabled_tests", "--gtest_brief=1",
              static_cast<char *>(nullptr));
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    m_to   = to[1];
    m_from = from[0];
    device_addr.resize(entity.device_addr.size());
    iface_addr.resize(entity.iface_addr.size());
    send_all(m_to, entity.device_addr.data(), device_addr.size());
    send_all(m_to, entity.iface_addr.data(), iface_addr.size());
    receive_all(m_from, device_addr.data(), device_addr.size());
    receive_all(m_from, iface_addr.data(), iface_addr.size());
}

UdPeer::~UdPeer()
{
    if (m_pid > 0) {
        kill(m_pid, SIGKILL);
        waitpid(m_pid, nullptr, 0);
    }
    close(m_to);
    close(m_from);
}

void UdPeer::tell(char what, unsigned number)
{
    Order order = {uint32_t(what), number};

    send_all(m_to, &order, sizeof(order));
}

void UdPeer::progress(unsigned ms)
{
    tell('p', ms);
}

void UdPeer::take(unsigned count)
{
    tell('t', count);
}

void UdPeer::compute(unsigned ms)
{
    tell('c', ms);
}

void UdPeer::send(unsigned count)
{
    tell('s', count);
}

PeerCount UdPeer::count()
{
    PeerCount count;

    tell('n', 0);
    receive_all(m_from, &count, sizeof(count));
    return count;
}

void UdPeer::signal(int number)
{
    kill(m_pid, number);
    if (number == SIGKILL) {
        waitpid(m_pid, nullptr, 0);
        m_pid = -1;
    }
}

/* ---- in the other process ---- */

class UdPeerProcess : public UctTest {
protected:
    void TearDown() override
    {
        delete a;
        a = nullptr;
    }

    void introduce(int in, int out)
    {
        Bytes device(a->device_addr.size()), iface(a->iface_addr.size());

        receive_all(in, device.data(), device.size());
        receive_all(in, iface.data(), iface.size());
        m_back = a->connect(device, iface);
        send_all(out, a->device_addr.data(), device.size());
        send_all(out, a->iface_addr.data(), iface.size());
    }

    void obey(const Order &order, int out)
    {
        auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(order.number);

        switch (order.what) {
        case 'p':
            while (std::chrono::steady_clock::now() < end) {
                a->progress();
            }
            break;
        case 't':
            while (m_count.all < order.number) {
                a->progress();
            }
            break;
        case 'c':
            usleep(1000 * order.number);
            break;
        case 's':
            for (uint32_t i = 0; i < order.number; ++i) {
                ASSERT_EQ(UCS_OK, send_short(m_back, i, {}));
            }
            ASSERT_TRUE(flush(m_back));
            break;
        case 'n':
            send_all(out, &m_count, sizeof(m_count));
            break;
        }
    }

    PeerCount m_count = {0, 0};
    uct_ep_h m_back   = nullptr;
};

TEST_F(UdPeerProcess, DISABLED_serve)
{
    Order order;
    int in, out;

    ASSERT_EQ(2, sscanf(getenv("UD_PEER"), "%d,%d", &in, &out));
    transport() = "ud";
    a           = new Entity();
    a->record   = false;
    a->on_message = [&](const Bytes &message) {
        uint64_t number;
        memcpy(&number, message.data(), sizeof(number));
        m_count.in_order += number == m_count.all;
        ++m_count.all;
    };
    introduce(in, out);
    while (read(in, &order, sizeof(order)) == sizeof(order)) {
        obey(order, out);
    }
}

} // namespace uct_test

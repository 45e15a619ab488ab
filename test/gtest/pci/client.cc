/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

#include <cerrno>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace pci {

double now()
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}

int memory_file(uint64_t size)
{
    int fd = memfd_create("guest", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(fd, size), 0);
    return fd;
}

/* efapci lies beside this program's folder. */
static std::string program()
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
    std::string path(self, length > 0 ? length : 0);
    path.resize(path.rfind('/'));
    return path + "/../bin/efapci";
}

static pid_t start(const std::vector<std::string> &args, const std::string &log,
                   int out = -1)
{
    std::vector<char*> argv;
    std::string name = program();

    argv.push_back(&name[0]);
    for (const std::string &arg : args) {
        argv.push_back(const_cast<char*>(arg.c_str()));
    }
    argv.push_back(nullptr);
    pid_t pid = fork();
    if (pid == 0) {
        if (out < 0) {
            out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        }
        dup2(out, 1);
        dup2(out, 2);
        execv(name.c_str(), argv.data());
        _exit(127);
    }
    return pid;
}

static std::string folder()
{
    char name[] = "/tmp/gtest_efapci.XXXXXX";
    return mkdtemp(name) ? name : "";
}

static std::string content(const std::string &path)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

Server::Server(unsigned functions, const std::vector<std::string> &options,
               int out)
    : m_dir(folder())
{
    std::vector<std::string> args = options;
    struct stat file;

    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 0; i < functions; ++i) {
        args.push_back("efa2:" + path(i));
    }
    m_pid      = start(args, m_dir + "/log", out);
    double end = now() + 20;
    while ((stat(path(functions - 1).c_str(), &file) != 0) && (now() < end)) {
        usleep(10000);
    }
}

Server::~Server()
{
    int status = 0;

    kill(m_pid, SIGTERM);
    waitpid(m_pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0))
            << "efapci ended with " << status << ": " << log();
    unlink((m_dir + "/log").c_str());
    rmdir(m_dir.c_str());
}

std::string Server::path(unsigned function) const
{
    return m_dir + "/" + std::to_string(function);
}

bool Server::is_alive()
{
    siginfo_t info = {};
    return (waitid(P_PID, m_pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0) &&
           (info.si_pid == 0);
}

void Server::stop(bool stopped)
{
    kill(m_pid, stopped ? SIGSTOP : SIGCONT);
}

unsigned Server::fds() const
{
    std::string folder = "/proc/" + std::to_string(m_pid) + "/fd";
    unsigned count     = 0;
    DIR *dir           = opendir(folder.c_str());

    for (; dir && readdir(dir) != nullptr; ++count) {
    }
    closedir(dir);
    return count;
}

bool Server::comes_to_fds(unsigned most) const
{
    for (double end = now() + 20; (fds() > most) && (now() < end);) {
        usleep(10000);
    }
    return fds() <= most;
}

std::string Server::log() const
{
    return content(m_dir + "/log");
}

int Server::run(const std::vector<std::string> &args, std::string *out)
{
    std::string dir = folder();
    int status      = 0;
    pid_t pid       = start(args, dir + "/log");
    double end      = now() + 20;
    bool ended;

    while (!(ended = waitpid(pid, &status, WNOHANG) != 0) && (now() < end)) {
        usleep(10000);
    }
    if (!ended) { /* it serves */
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    *out = content(dir + "/log");
    unlink((dir + "/log").c_str());
    rmdir(dir.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Client::Client(const std::string &path)
    : m_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
    struct sockaddr_un addr = {};

    addr.sun_family = AF_UNIX;
    double end = now() + 20;
    int ret;

    path.copy(addr.sun_path, sizeof(addr.sun_path) - 1);
    do { /* it may not listen yet */
        ret = connect(m_fd, (struct sockaddr*)&addr, sizeof(addr));
    } while ((ret != 0) && (errno == ECONNREFUSED) && (now() < end));
    EXPECT_EQ(ret, 0);
}

Client::~Client()
{
    close(m_fd);
}

Bytes Client::head(uint16_t command, uint32_t size, uint32_t flags)
{
    Bytes bytes(16);
    put<uint16_t>(bytes, 0, 7);
    put<uint16_t>(bytes, 2, command);
    put<uint32_t>(bytes, 4, size);
    put<uint32_t>(bytes, 8, flags);
    return bytes;
}

size_t Client::send(const Bytes &bytes, const std::vector<int> &fds,
                    bool can_wait)
{
    Bytes control(CMSG_SPACE(256 * sizeof(int)));
    struct iovec iov  = { const_cast<uint8_t*>(bytes.data()), bytes.size() };
    struct msghdr hdr = {};

    hdr.msg_iov    = &iov;
    hdr.msg_iovlen = 1;
    if (!fds.empty()) {
        hdr.msg_control      = control.data();
        hdr.msg_controllen   = CMSG_SPACE(fds.size() * sizeof(int));
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(&hdr);
        cmsg->cmsg_level     = SOL_SOCKET;
        cmsg->cmsg_type      = SCM_RIGHTS;
        cmsg->cmsg_len       = CMSG_LEN(fds.size() * sizeof(int));
        memcpy(CMSG_DATA(cmsg), fds.data(), fds.size() * sizeof(int));
    }
    ssize_t sent = sendmsg(m_fd, &hdr,
                           MSG_NOSIGNAL | (can_wait ? 0 : MSG_DONTWAIT));
    return (sent < 0) ? 0 : sent;
}

Reply Client::receive(double seconds)
{
    Reply reply = { Reply::SILENT, {}, {} };
    Bytes control(CMSG_SPACE(16 * sizeof(int)));
    Bytes bytes(16);
    size_t got = 0;
    double end = now() + seconds;

    while (got < bytes.size()) {
        struct pollfd wait = { m_fd, POLLIN, 0 };
        int left           = int((end - now()) * 1000);
        if ((left <= 0) || (poll(&wait, 1, left) <= 0)) {
            return reply;
        }
        struct iovec iov   = { &bytes[got], bytes.size() - got };
        struct msghdr hdr  = {};
        hdr.msg_iov        = &iov;
        hdr.msg_iovlen     = 1;
        hdr.msg_control    = control.data();
        hdr.msg_controllen = control.size();
        ssize_t some       = recvmsg(m_fd, &hdr, MSG_CMSG_CLOEXEC);
        if (some <= 0) {
            reply.error = Reply::CLOSED;
            return reply;
        }
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&hdr); c != nullptr;
             c = CMSG_NXTHDR(&hdr, c)) {
            const int *fds = (const int*)CMSG_DATA(c);
            reply.fds.insert(reply.fds.end(), fds,
                             fds + (c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        }
        got += some;
        if (got == 16) {
            bytes.resize(get<uint32_t>(bytes, 4));
        }
    }
    reply.error = (get<uint32_t>(bytes, 8) & 0x20) ?
                  int(get<uint32_t>(bytes, 12)) : 0;
    reply.body.assign(bytes.begin() + 16, bytes.end());
    return reply;
}

Reply Client::ask(uint16_t command, const Bytes &body,
                  const std::vector<int> &fds)
{
    Bytes bytes = head(command, 16 + body.size());
    bytes.insert(bytes.end(), body.begin(), body.end());
    send(bytes, fds);
    return receive();
}

Bytes Client::map_of(uint64_t iova, uint64_t size, uint64_t offset,
                     uint32_t flags)
{
    Bytes body(32);
    put<uint32_t>(body, 0, 32);
    put<uint32_t>(body, 4, flags);
    put<uint64_t>(body, 8, offset);
    put<uint64_t>(body, 16, iova);
    put<uint64_t>(body, 24, size);
    return body;
}

Reply Client::map(uint64_t iova, uint64_t size, int fd, uint64_t offset,
                  uint32_t flags)
{
    return ask(DMA_MAP, map_of(iova, size, offset, flags),
               std::vector<int>{ fd });
}

Reply Client::unmap(uint64_t iova, uint64_t size)
{
    Bytes body(24);
    put<uint32_t>(body, 0, 24);
    put<uint64_t>(body, 8, iova);
    put<uint64_t>(body, 16, size);
    return ask(DMA_UNMAP, body);
}

Reply Client::access(uint16_t command, uint32_t region, uint64_t offset,
                     uint32_t count, uint32_t value)
{
    Bytes body(16);
    put<uint64_t>(body, 0, offset);
    put<uint32_t>(body, 8, region);
    put<uint32_t>(body, 12, count);
    if (command == WRITE) {
        put<uint32_t>(body, 16, value);
    }
    return ask(command, body);
}

void Client::write(uint32_t region, uint64_t offset, uint32_t value)
{
    EXPECT_EQ(access(WRITE, region, offset, 4, value).error, 0);
}

uint32_t Client::read(uint32_t region, uint64_t offset)
{
    Reply reply = access(READ, region, offset, 4);
    EXPECT_EQ(reply.error, 0);
    return get<uint32_t>(reply.body, 16);
}

bool Client::is_served()
{
    Reply reply = access(READ, CONFIG, 0, 4);

    return (reply.error == 0) && (get<uint16_t>(reply.body, 16) == 0x1d0f);
}

enum { /* registers of BAR 0 */
    AQ_BASE = 0x10, AQ_CAPS = 0x18, ACQ_BASE = 0x20, ACQ_CAPS = 0x28,
    AQ_PROD = 0x2c,
};

Guest::Guest(const std::string &path, uint64_t size, int file)
    : Client(path), memory(nullptr),
      memory_fd((file < 0) ? memory_file(size) : file),
      irq(eventfd(0, EFD_CLOEXEC)), handle(0), send_db(0), llq(0),
      m_size(size), m_written(0), m_answered(0)
{
    Bytes version(4), irqs(20);

    memory = (uint8_t*)mmap(nullptr, m_size, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE, memory_fd, 0);
    EXPECT_NE(memory, MAP_FAILED);
    EXPECT_EQ(ask(VERSION, version).error, 0);
    EXPECT_EQ(map(BASE, m_size, memory_fd).error, 0);
    put<uint32_t>(irqs, 0, 20);
    put<uint32_t>(irqs, 4, (1 << 2) | (1 << 5)); /* eventfd, trigger */
    put<uint32_t>(irqs, 8, MSIX);
    put<uint32_t>(irqs, 16, 1);
    EXPECT_EQ(ask(SET_IRQS, irqs, { irq }).error, 0);
    set_up();
}

Guest::~Guest()
{
    munmap(memory, m_size);
    close(memory_fd);
    close(irq);
}

void Guest::set_up()
{
    write(BAR0, AQ_BASE, BASE + AQ);
    write(BAR0, AQ_BASE + 4, 0);
    write(BAR0, AQ_CAPS, DEPTH | 64 << 16);
    write(BAR0, ACQ_BASE, BASE + ACQ);
    write(BAR0, ACQ_BASE + 4, 0);
    write(BAR0, ACQ_CAPS, DEPTH | 64 << 16);
    m_written = m_answered = 0;
}

void Guest::write_command(uint8_t op, uint8_t flags, const Bytes &fields)
{
    uint8_t *at = memory + AQ + (m_written % DEPTH) * 64;

    memset(at, 0, 64);
    at[0] = m_written & 0xff;
    at[2] = op;
    at[3] = flags | !(m_written & DEPTH);
    memcpy(at + 4, fields.data(), fields.size());
    ++m_written;
}

void Guest::ring()
{
    write(BAR0, AQ_PROD, m_written);
}

Bytes Guest::answer(double seconds)
{
    const volatile uint8_t *at = memory + ACQ + (m_answered % DEPTH) * 64;
    uint8_t phase              = !(m_answered & DEPTH);
    double end                 = now() + seconds;

    while ((at[3] & 1) != phase) {
        if (now() > end) {
            return {};
        }
        usleep(100);
    }
    ++m_answered;
    return Bytes(at, at + 64);
}

int Guest::command(uint8_t op, const Bytes &fields, Bytes *result,
                   uint8_t flags)
{
    write_command(op, flags, fields);
    ring();
    Bytes bytes = answer();
    if (bytes.empty()) {
        return -1;
    }
    if (result != nullptr) {
        result->assign(bytes.begin() + 8, bytes.end());
    }
    return bytes[2];
}

Bytes Guest::endless_list(uint64_t pages, uint64_t page)
{
    Bytes fields(60);
    uint64_t *list  = (uint64_t*)(memory + FREE);
    uint64_t *chunk = (uint64_t*)(memory + FREE + 4096);
    uint32_t *next  = (uint32_t*)((uint8_t*)chunk + 4080);
    uint32_t where  = BASE + FREE + 4096;
    unsigned i;

    for (i = 0; i < 512; ++i) {
        list[i] = page;
    }
    for (i = 0; i < 510; ++i) {
        chunk[i] = BASE + FREE;
    }
    next[0] = 4092;
    next[1] = where;
    next[2] = 0;
    put<uint32_t>(fields, 4, 4092);
    put<uint32_t>(fields, 8, where);
    put<uint64_t>(fields, 36, pages * 4096);
    put<uint8_t>(fields, 44, 12);
    put<uint8_t>(fields, 45, 1);
    return fields;
}

void Guest::make_qp()
{
    Bytes fields(60), result;

    EXPECT_EQ(command(ALLOC_PD, Bytes(60)), 0);
    EXPECT_EQ(command(ALLOC_UAR, Bytes(60)), 0);
    put<uint8_t>(fields, 1, 8);
    put<uint16_t>(fields, 2, 64);
    put<uint32_t>(fields, 8, BASE + FREE);
    put<uint16_t>(fields, 20, 1);
    EXPECT_EQ(command(CREATE_CQ, fields), 0);
    fields.assign(60, 0);
    put<uint8_t>(fields, 2, 2);
    put<uint32_t>(fields, 36, 16 * 64);
    put<uint32_t>(fields, 40, 16);
    EXPECT_EQ(command(CREATE_QP, fields, &result), 0);
    handle  = get<uint32_t>(result, 0);
    send_db = get<uint32_t>(result, 12);
    llq     = get<uint32_t>(result, 20);
}

void Guest::to_rts()
{
    for (uint32_t state = 0; state <= 3; ++state) {
        Bytes fields(60);
        put<uint32_t>(fields, 0, 1);
        put<uint32_t>(fields, 4, handle);
        put<uint32_t>(fields, 8, state);
        EXPECT_EQ(command(MODIFY_QP, fields), 0);
    }
}

bool Guest::interrupted(double seconds)
{
    struct pollfd wait = { irq, POLLIN, 0 };
    uint64_t count     = 0;

    return (poll(&wait, 1, int(seconds * 1000)) == 1) &&
           (::read(irq, &count, sizeof(count)) == sizeof(count));
}

} /* namespace pci */

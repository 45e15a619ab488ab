/* SPDX-License-Identifier: BSD-3-Clause */
/* Children of a test on other nodes, and the command line around them. */
#include "verbs_test.h"

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

static std::string self_path()
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path));

    return std::string(path, len > 0 ? len : 0);
}

std::string efasim_path()
{
    std::string self = self_path(); /* BUILD/test/gtest_verbs */
    const char *env  = getenv("EFASIM");

    if (env != nullptr) {
        return env;
    }
    self = self.substr(0, self.rfind('/'));
    return self.substr(0, self.rfind('/')) + "/bin/efasim";
}

Child::Child(int node, const std::string &role,
             const std::vector<std::string> &efasim_options)
{
    int fds[2];

    log     = testing::TempDir() + "gtest_verbs.XXXXXX";
    int out = mkostemp(&log[0], O_CLOEXEC);
    if ((out < 0) || socketpair(AF_UNIX, SOCK_STREAM, 0, fds)) {
        throw std::runtime_error("no socket or log");
    }
    fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    fd = fds[0];

    std::vector<std::string> words = {efasim_path(), "run", "--node",
                                      std::to_string(node)};
    words.insert(words.end(), efasim_options.begin(), efasim_options.end());
    words.insert(words.end(), {"--", self_path(),
                               "--gtest_also_run_disabled_tests",
                               "--gtest_filter=DISABLED_Role." + role});
    std::vector<char*> argv;
    for (auto &word : words) {
        argv.push_back(&word[0]);
    }
    argv.push_back(nullptr);
    std::string env = std::to_string(fds[1]);

    pid = fork();
    if (pid == 0) {
        dup2(out, 1);
        dup2(out, 2);
        setenv("GTEST_VERBS_FD", env.c_str(), 1);
        execv(argv[0], argv.data());
        _exit(127);
    }
    ::close(fds[1]);
    ::close(out);
}

static std::string file_text(const std::string &path)
{
    std::ifstream file(path);
    std::stringstream text;

    text << file.rdbuf();
    return text.str();
}

/* A child that lives leaves when its socket closes. */
Child::~Child()
{
    ::close(fd);
    for (int i = 0; pid > 0 && i < 300; ++i) {
        if (waitpid(pid, nullptr, WNOHANG) == pid) {
            pid = -1;
        } else {
            usleep(10000);
        }
    }
    if (pid > 0) {
        ::kill(pid, SIGTERM);
        waitpid(pid, nullptr, 0);
    }
    if (testing::Test::HasFailure() || std::uncaught_exceptions()) {
        fprintf(stderr, "--- a child said:\n%s---\n", file_text(log).c_str());
    }
    unlink(log.c_str());
}

void Peer::put(const void *data, size_t len)
{
    if (send(fd, data, len, MSG_NOSIGNAL) != (ssize_t)len) {
        throw std::runtime_error("the other process is gone");
    }
}

void Peer::get(void *data, size_t len)
{
    if (recv(fd, data, len, MSG_WAITALL) != (ssize_t)len) {
        throw std::runtime_error("the other process is gone; a child said:\n" +
                                 file_text(log));
    }
}

int Child::wait()
{
    int status = 0;

    waitpid(pid, &status, 0);
    pid = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Child::expect_ok()
{
    int status       = wait();
    std::string text = file_text(log);

    EXPECT_EQ(0, status);
    EXPECT_NE(std::string::npos, text.find("[  PASSED  ] 1 test"))
            << "the child ran no test";
}

void Child::kill(int sig, pid_t whom)
{
    EXPECT_EQ(0, ::kill(whom, sig));
}

Parent::Parent()
{
    const char *number = getenv("GTEST_VERBS_FD");

    if (number == nullptr) {
        throw std::runtime_error("a role runs only as a child");
    }
    fd = atoi(number);
}

void Child::meet(Device &dev, const Address &mine)
{
    peer = get<Address>();
    ah   = dev.ah(peer.gid);
    put(mine);
    get<char>();
}

void Parent::meet(Device &dev, const Address &mine)
{
    put(mine);
    peer = get<Address>();
    ah   = dev.ah(peer.gid);
    EXPECT_NE(nullptr, ah);
    put<char>('r');
}

int64_t stat_counter(int node, const std::string &name,
                     const std::string &device)
{
    std::string command = efasim_path() + " stat --raw";
    FILE *pipe          = popen(command.c_str(), "r");
    char line[4096];
    int64_t value = -1;

    while (pipe != nullptr && fgets(line, sizeof(line), pipe)) {
        std::stringstream words(line);
        std::string word, mine = "node=" + std::to_string(node), of;
        words >> word >> of;
        if (word != mine || of != "device=" + device) {
            continue;
        }
        while (words >> word) {
            if (word.compare(0, name.size() + 1, name + "=") == 0) {
                value = atoll(word.c_str() + name.size() + 1);
            }
        }
    }
    if (pipe != nullptr) {
        pclose(pipe);
    }
    return value;
}

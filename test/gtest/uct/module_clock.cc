/* SPDX-License-Identifier: BSD-3-Clause */
#include "module_clock.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <time.h>

namespace {
std::atomic<unsigned long> away, behind; /* us */
std::atomic<uintptr_t> module_start, module_end;
thread_local unsigned long looks;

int find_module(dl_phdr_info *info, size_t, void *)
{
    if (strstr(info->dlpi_name, "libuct_srd.so") == nullptr) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        if ((info->dlpi_phdr[i].p_type == PT_LOAD) &&
            (info->dlpi_phdr[i].p_flags & PF_X)) {
            module_start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            module_end   = module_start + info->dlpi_phdr[i].p_memsz;
        }
    }
    return 1;
}
} // namespace

bool module_is(const void *caller)
{
    auto address = reinterpret_cast<uintptr_t>(caller);

    return (address >= module_start) && (address < module_end);
}

extern "C" int clock_gettime(clockid_t id, timespec *now)
{
    static const auto real = reinterpret_cast<int (*)(clockid_t, timespec *)>(
            dlsym(RTLD_NEXT, "clock_gettime"));
    int rc           = real(id, now);
    unsigned long us = behind;

    if ((id == CLOCK_THREAD_CPUTIME_ID) || (id == CLOCK_PROCESS_CPUTIME_ID)) {
        return rc; /* it stands still while others have the CPU */
    }
    if (module_is(__builtin_return_address(0))) {
        us = behind += away;
        ++looks;
    }
    now->tv_sec  += us / 1000000;
    now->tv_nsec += us % 1000000 * 1000;
    if (now->tv_nsec >= 1000000000) {
        now->tv_nsec -= 1000000000;
        ++now->tv_sec;
    }
    return rc;
}

void module_clock_start()
{
    if (module_start == 0) {
        dl_iterate_phdr(find_module, nullptr);
    }
}

bool device_has_own_time()
{
    return getenv("EFASIM_EAGER") != nullptr;
}

void module_clock_away(unsigned long us)
{
    away = us;
}

FastClock::FastClock() : m_away(away)
{
    if ((m_away == 0) && !device_has_own_time()) {
        module_clock_start();
        module_clock_away(20);
    }
}

FastClock::~FastClock()
{
    module_clock_away(m_away);
}

unsigned long module_clock_looks()
{
    return looks;
}

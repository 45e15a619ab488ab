/* SPDX-License-Identifier: BSD-3-Clause */
#include "fault.h"
#include "module_clock.h"

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <map>

#include "fault_verbs.inc"

namespace {

enum Point {
    MALLOC,
#define NAME(_name, ...) _name##_POINT,
#define NOTHING(...)
    FAULT_POINTERS(NAME, NOTHING) FAULT_INTEGERS(NAME) FAULT_OPERATIONS(NAME)
    wr_complete_POINT,
    POINTS
};

const char *const point_names[POINTS] = {
    "malloc",
#define TEXT(_name, ...) #_name,
    FAULT_POINTERS(TEXT, NOTHING) FAULT_INTEGERS(TEXT) FAULT_OPERATIONS(TEXT)
    "wr_complete"
};

std::atomic<unsigned long> calls[POINTS];
int armed_point = -1, armed_err;
unsigned long armed_first, armed_last;
bool fired;
std::atomic<long> verbs_balance;

/* One call of `point`: whether it fails. */
bool fault_hit(Point point)
{
    unsigned long call = ++calls[point];

    if ((point != armed_point) || (call < armed_first) ||
        (call > armed_last)) {
        return false;
    }
    fired = true;
    return true;
}

/* ---- verbs ------------------------------------------------------------ */

int failure(int dflt)
{
    return (armed_err != 0) ? armed_err : dflt;
}

ibv_context *patch(ibv_context *context);
ibv_qp *patch(ibv_qp *qp);

template <typename T> T *patch(T *object)
{
    return object;
}

#define POINTER(_verb, _result, _parameters, _arguments, _owned)               \
    decltype(&_verb) real_##_verb;                                             \
    _result fake_##_verb _parameters                                           \
    {                                                                          \
        if (fault_hit(_verb##_POINT)) {                                        \
            errno = failure(ENOMEM);                                           \
            return nullptr;                                                    \
        }                                                                      \
        _result result = real_##_verb _arguments;                              \
        if (result != nullptr) {                                               \
            verbs_balance += _owned;                                           \
        }                                                                      \
        return patch(result);                                                  \
    }
#define DESTROYER(_verb, _parameters, _arguments)                              \
    decltype(&_verb) real_##_verb;                                             \
    int fake_##_verb _parameters                                               \
    {                                                                          \
        --verbs_balance;                                                       \
        return real_##_verb _arguments;                                        \
    }
#define INTEGER(_verb, _parameters, _arguments)                                \
    decltype(&_verb) real_##_verb;                                             \
    int fake_##_verb _parameters                                               \
    {                                                                          \
        if (fault_hit(_verb##_POINT)) {                                        \
            errno = failure(EIO);                                              \
            return errno;                                                      \
        }                                                                      \
        return real_##_verb _arguments;                                        \
    }
#define OPERATION(_name, _parameters, _arguments, _sign)                       \
    int(*real_##_name) _parameters;                                            \
    int fake_##_name _parameters                                               \
    {                                                                          \
        if (fault_hit(_name##_POINT)) {                                        \
            return _sign failure(EIO);                                         \
        }                                                                      \
        return real_##_name _arguments;                                        \
    }

#undef ibv_query_port /* the header's macro, with a check of sizes */
FAULT_POINTERS(POINTER, DESTROYER)
FAULT_INTEGERS(INTEGER)
FAULT_OPERATIONS(OPERATION)

int (*real_wr_complete)(ibv_qp_ex *qp);

int fake_wr_complete(ibv_qp_ex *qp)
{
    if (fault_hit(wr_complete_POINT)) {
        qp->wr_abort(qp);
        return failure(EIO);
    }
    return real_wr_complete(qp);
}

ibv_context *patch(ibv_context *context)
{
    if (context != nullptr) {
#define PATCH(_name, ...)                                                      \
    real_##_name = context->ops._name;                                         \
    context->ops._name = fake_##_name;
        FAULT_OPERATIONS(PATCH)
    }
    return context;
}

ibv_qp *patch(ibv_qp *qp)
{
    if (qp != nullptr) {
        ibv_qp_ex *qpx = ibv_qp_to_qp_ex(qp);
        real_wr_complete = qpx->wr_complete;
        qpx->wr_complete = fake_wr_complete;
    }
    return qp;
}

struct Verb {
    void *fake;
    void **real;
};

#define ENTRY(_verb, ...)                                                      \
    {#_verb,                                                                   \
     {reinterpret_cast<void *>(fake_##_verb),                                  \
      reinterpret_cast<void **>(&real_##_verb)}},

const Verb *find_verb(const char *name)
{
    static const std::map<std::string, Verb> verbs = {
            FAULT_POINTERS(ENTRY, ENTRY) FAULT_INTEGERS(ENTRY)};
    auto found = verbs.find(name);

    return (found == verbs.end()) ? nullptr : &found->second;
}

} // namespace

/* The module looks whether the kernel copies at fork, and then leaves
 * ibv_fork_init alone, which is to fail here: this one does not copy. */
static int fault_fork_status()
{
    return 0; /* IBV_FORK_DISABLED */
}

/*
 * dlsym of this program, before that of the C library. It must not return to
 * here after calling the real one, which learns from its return address who
 * asks (RTLD_NEXT): so it jumps.
 */
extern "C" {
void *(*fault_real_dlsym)(void *, const char *);

__attribute__((used)) void *
fault_pick(void *handle, const char *name, const void *caller)
{
    const Verb *verb;

    if (fault_real_dlsym == nullptr) {
        fault_real_dlsym = reinterpret_cast<void *(*)(void *, const char *)>(
                dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
        if (fault_real_dlsym == nullptr) {
            fault_real_dlsym =
                    reinterpret_cast<void *(*)(void *, const char *)>(
                            dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
        }
    }
    module_clock_start(); /* before this nothing of it counts */
    if (module_is(caller) &&
        (strcmp(name, "ibv_is_fork_initialized") == 0)) {
        return reinterpret_cast<void *>(fault_fork_status);
    }
    if (!module_is(caller) || ((verb = find_verb(name)) == nullptr)) {
        return nullptr;
    }
    *verb->real = fault_real_dlsym(handle, name);
    return (*verb->real == nullptr) ? nullptr : verb->fake;
}
}

asm(".text\n"
    ".globl dlsym\n"
    ".type dlsym, @function\n"
    "dlsym:\n"
    "    mov (%rsp), %rdx\n"
    "    push %rdi\n"
    "    push %rsi\n"
    "    sub $8, %rsp\n"
    "    call fault_pick\n"
    "    add $8, %rsp\n"
    "    pop %rsi\n"
    "    pop %rdi\n"
    "    test %rax, %rax\n"
    "    jnz 1f\n"
    "    jmp *fault_real_dlsym(%rip)\n"
    "1:  ret\n"
    ".size dlsym, .-dlsym\n");

/* ---- memory ----------------------------------------------------------- */

namespace {
bool has_malloc;
std::atomic<long> allocation_balance; /* of owned */
std::atomic<long> byte_balance;       /* in them, as malloc rounds them */
} // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(FAULT_NO_MALLOC)
namespace {
/* Memory that the module allocated and nobody freed: UCX frees some of it, so
 * free looks at pointers, not at callers. Hashed by address, linear probing. */
const size_t OWNED_SLOTS = 1 << 16;
std::atomic<void *> owned[OWNED_SLOTS];
char owned_gone; /* its address marks a slot that was used */

size_t owned_slot(const void *memory, size_t step)
{
    return ((reinterpret_cast<uintptr_t>(memory) >> 4) * 2654435761u + step) %
           OWNED_SLOTS;
}

void owned_add(void *memory)
{
    for (size_t step = 0; step < OWNED_SLOTS; ++step) {
        std::atomic<void *> &slot = owned[owned_slot(memory, step)];
        void *seen = slot;
        if (((seen == nullptr) || (seen == &owned_gone)) &&
            slot.compare_exchange_strong(seen, memory)) {
            ++allocation_balance;
            byte_balance += static_cast<long>(malloc_usable_size(memory));
            return;
        }
    }
}

void owned_remove(void *memory)
{
    for (size_t step = 0; step < OWNED_SLOTS; ++step) {
        std::atomic<void *> &slot = owned[owned_slot(memory, step)];
        if (slot == nullptr) {
            return;
        }
        if (slot == memory) {
            slot = &owned_gone;
            --allocation_balance;
            byte_balance -= static_cast<long>(malloc_usable_size(memory));
            return;
        }
    }
}
} // namespace

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static void *counted(const void *caller, void *memory)
{
    if (module_is(caller) && (memory != nullptr)) {
        owned_add(memory);
    }
    return memory;
}

static bool refused(const void *caller)
{
    return module_is(caller) && fault_hit(MALLOC);
}

void *malloc(size_t size)
{
    const void *caller = __builtin_return_address(0);

    has_malloc = true;
    return refused(caller) ? nullptr : counted(caller, __libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    const void *caller = __builtin_return_address(0);

    return refused(caller) ? nullptr :
                             counted(caller, __libc_calloc(count, size));
}

void *realloc(void *memory, size_t size)
{
    const void *caller = __builtin_return_address(0);

    if (refused(caller)) {
        return nullptr;
    }
    if (memory != nullptr) {
        owned_remove(memory);
    }
    return counted(caller, __libc_realloc(memory, size));
}

int posix_memalign(void **memory_p, size_t alignment, size_t size)
{
    const void *caller = __builtin_return_address(0);

    if (refused(caller)) {
        return ENOMEM;
    }
    *memory_p = counted(caller, __libc_memalign(alignment, size));
    return (*memory_p == nullptr) ? ENOMEM : 0;
}

void free(void *memory)
{
    if ((memory != nullptr) && (allocation_balance != 0)) {
        owned_remove(memory);
    }
    __libc_free(memory);
}
}
#endif

/* ---- system calls ------------------------------------------------------ */

/* Functions of the C library that the module uses and that enter the kernel, or
 * lock. clock_gettime does not (vDSO). */
#define SYSTEM_CALLS(X)                                                        \
    X(access) X(close) X(epoll_create1) X(epoll_ctl) X(fcntl) X(fopen)         \
    X(getrandom) X(getrlimit) X(mmap) X(munmap) X(opendir)                     \
    X(pthread_mutex_lock) X(read) X(readlink) X(timerfd_create)                \
    X(timerfd_settime) X(write)

namespace {
enum SystemCall {
#define SYSTEM_NAME(_name) SYSTEM_##_name,
    SYSTEM_CALLS(SYSTEM_NAME) SYSTEM_COUNT
};
const char *const system_names[SYSTEM_COUNT] = {
#define SYSTEM_TEXT(_name) #_name,
        SYSTEM_CALLS(SYSTEM_TEXT)};
std::atomic<unsigned long> system_calls[SYSTEM_COUNT];

void *next_function(const char *name)
{
    fault_pick(nullptr, "", nullptr); /* finds the real dlsym */
    return fault_real_dlsym(RTLD_NEXT, name);
}
} // namespace

/* Any of them, as all their arguments travel in registers. */
#define SYSTEM_WRAPPER(_name)                                                  \
    extern "C" long fault_system_##_name(long a, long b, long c, long d,       \
                                         long e, long f) asm(#_name);          \
    extern "C" long fault_system_##_name(long a, long b, long c, long d,       \
                                         long e, long f)                       \
    {                                                                          \
        static std::atomic<void *> real;                                       \
        if (real == nullptr) {                                                 \
            real = next_function(#_name);                                      \
        }                                                                      \
        if (module_is(__builtin_return_address(0))) {                          \
            ++system_calls[SYSTEM_##_name];                                    \
        }                                                                      \
        return reinterpret_cast<long (*)(long, long, long, long, long, long)>( \
                real.load())(a, b, c, d, e, f);                                \
    }
SYSTEM_CALLS(SYSTEM_WRAPPER)

/* ---- what tests call --------------------------------------------------- */

std::vector<std::string> fault_points()
{
    return {point_names, point_names + POINTS};
}

static Point point_by_name(const std::string &name)
{
    for (int i = 0; i < POINTS; ++i) {
        if (name == point_names[i]) {
            return static_cast<Point>(i);
        }
    }
    return POINTS;
}

bool fault_has_malloc()
{
    return has_malloc;
}

void fault_arm(const std::string &point, unsigned n, int err, unsigned count)
{
    for (std::atomic<unsigned long> &number : calls) {
        number = 0;
    }
    fired = false;
    armed_err = err;
    armed_first = n;
    armed_last = n + count - 1;
    armed_point = (n == 0) ? -1 : point_by_name(point);
}

void fault_disarm()
{
    fault_arm("", 0);
}

bool fault_fired()
{
    return fired;
}

unsigned long fault_calls(const std::string &point)
{
    Point found = point_by_name(point);

    return (found == POINTS) ? 0 : calls[found].load();
}

FaultBalance fault_balance()
{
    return {allocation_balance, byte_balance, verbs_balance};
}

std::string fault_system_calls()
{
    std::string text;

    for (int i = 0; i < SYSTEM_COUNT; ++i) {
        unsigned long count = system_calls[i].exchange(0);
        if (count > 0) {
            text += std::string(text.empty() ? "" : ", ") + system_names[i] +
                    " " + std::to_string(count);
        }
    }
    return text;
}

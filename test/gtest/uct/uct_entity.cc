/* SPDX-License-Identifier: BSD-3-Clause */
#include "uct_entity.h"
#include "module_clock.h"
#include "../../apps/uct_open.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <stdexcept>

namespace uct_test {

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        throw std::runtime_error(std::string(what) + ": " +
                                 ucs_status_string(status));
    }
}

/* Is the UCX of this process 1.16 or newer, the headers older, or the other way
 * round? */
static bool is_other_ucx()
{
    bool is_new = dlsym(RTLD_DEFAULT, "uct_rkey_compare") != nullptr;

    return is_new != (UCT_API >= UCT_VERSION(1, 16));
}

Entity::Entity(const Config &config, size_t headroom, const Align &align)
    : m_headroom(headroom), m_other_ucx(is_other_ucx())
{
    try {
        open_worker();
        open_md();
        open_iface(config, headroom, align);
    } catch (...) {
        close();
        throw;
    }
}

Entity::Entity(const Entity *neighbour)
    : m_component(neighbour->m_component), m_md(neighbour->m_md),
      m_md_is_own(false), m_device(neighbour->m_device), m_headroom(0),
      m_other_ucx(neighbour->m_other_ucx)
{
    try {
        open_worker();
        open_iface({}, 0, {});
    } catch (...) {
        close();
        throw;
    }
}

void Entity::open_worker()
{
    check(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &m_async),
          "async");
    check(uct_worker_create(m_async, UCS_THREAD_MODE_SINGLE, &m_worker),
          "worker");
}

Entity::~Entity()
{
    for (const Kept &item : kept) {
        uct_iface_release_desc(item.data - m_headroom);
    }
    close();
}

void Entity::close()
{
    if (m_iface != nullptr) {
        FastClock fast; /* who closes waits for peers that may do nothing */
        uct_iface_close(m_iface);
    }
    if ((m_md != nullptr) && m_md_is_own) {
        uct_md_close(m_md);
    }
    if (m_worker != nullptr) {
        uct_worker_destroy(m_worker);
    }
    if (m_async != nullptr) {
        ucs_async_context_destroy(m_async);
    }
}

/* The domain of the first device, of component efa. */
void Entity::open_md()
{
    uct_efa_t efa;
    ucs_status_t status = uct_open_efa(&efa);

    if (status == UCS_ERR_NO_DEVICE) {
        throw std::runtime_error("no component efa with a device: run under "
                                 "'efasim run -- srdrun'");
    }
    check(status, "md open");
    m_component = efa.component;
    m_device    = efa.device;
    m_md        = efa.md;
}

void Entity::open_iface(const Config &settings, size_t headroom,
                        const Align &align)
{
    uct_iface_config_t *config;
    std::string device = m_device + ":1";

    check(uct_md_iface_config_read(m_md, transport().c_str(), nullptr, nullptr,
                                   &config),
          "iface config");
    for (const auto &item : settings) {
        /* UCX from 1.17 on wants the prefix, too */
        std::string name    = (is_ud() ? "EFA_UD_" : "SRD_") + item.first;
        ucs_status_t status = uct_config_modify(config, item.first.c_str(),
                                                item.second.c_str());
        if (status == UCS_ERR_NO_ELEM) {
            status = uct_config_modify(config, name.c_str(),
                                       item.second.c_str());
        }
        check(status, name.c_str());
    }

    uct_iface_params_t params;
    memset(&params, 0, sizeof(params));
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                        UCT_IFACE_PARAM_FIELD_DEVICE |
                        UCT_IFACE_PARAM_FIELD_RX_HEADROOM |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS |
                        align.fields;
    params.am_alignment = align.alignment;
    params.am_align_offset = align.offset;
    params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name = transport().c_str();
    params.mode.device.dev_name = device.c_str();
    params.rx_headroom = headroom;
    params.err_handler = err_handler;
    params.err_handler_arg = this;
    ucs_status_t status = uct_iface_open(m_md, m_worker, &params, config,
                                         &m_iface);
    uct_config_release(config);
    if (status != UCS_OK) {
        m_iface = nullptr;
    }
    check(status, "iface open");

    check(uct_iface_query(m_iface, &m_attr), "iface query");
    device_addr.resize(m_attr.device_addr_len);
    iface_addr.resize(m_attr.iface_addr_len);
    check(uct_iface_get_device_address(
                  m_iface, reinterpret_cast<uct_device_addr_t *>(
                                   device_addr.data())),
          "device address");
    check(uct_iface_get_address(m_iface, reinterpret_cast<uct_iface_addr_t *>(
                                                 iface_addr.data())),
          "iface address");
    check(uct_iface_set_am_handler(m_iface, AM_ID, am_handler, this, 0),
          "am handler");
    uct_iface_progress_enable(m_iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
}

uct_ep_h Entity::connect(const Bytes &device, const Bytes &interface)
{
    uct_ep_params_t params;
    uct_ep_h ep = nullptr;

    memset(&params, 0, sizeof(params));
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface = m_iface;
    params.dev_addr = reinterpret_cast<const uct_device_addr_t *>(
            device.data());
    params.iface_addr = reinterpret_cast<const uct_iface_addr_t *>(
            interface.data());
    check(uct_ep_create(&params, &ep), "ep create");
    return ep;
}

ucs_status_t
Entity::am_handler(void *arg, void *data, size_t length, unsigned flags)
{
    Entity *self = static_cast<Entity *>(arg);
    const uint8_t *bytes = static_cast<const uint8_t *>(data);
    Bytes message(bytes, bytes + length);

    ++self->count;
    if (self->record) {
        self->received.push_back(message);
    }
    if (self->on_message) {
        self->on_message(message);
    }
    if (self->keep_descs && (flags & UCT_CB_PARAM_FLAG_DESC)) {
        self->kept.push_back({static_cast<uint8_t *>(data), message});
        return UCS_INPROGRESS;
    }
    return UCS_OK;
}

ucs_status_t
Entity::err_handler(void *arg, uct_ep_h ep, ucs_status_t status)
{
    Entity *self = static_cast<Entity *>(arg);

    self->failures.push_back({ep, status});
    if (self->on_failure) {
        self->on_failure(ep);
    }
    return self->handles_failures ? UCS_OK : status;
}

Memory::Memory(Entity &entity, size_t length, uint32_t seed)
    : m_entity(entity), m_bytes(make_message(seed, length)),
      m_data(m_bytes.data()), m_size(length)
{
    share();
}

Memory::Memory(Entity &entity, void *data, size_t length)
    : m_entity(entity), m_data(static_cast<uint8_t *>(data)), m_size(length)
{
    share();
}

void Memory::share()
{
    uct_md_attr_t attr;

    check(uct_md_query(m_entity.md(), &attr), "md query");
    check(uct_md_mem_reg(m_entity.md(), m_data, m_size, UCT_MD_MEM_ACCESS_RMA,
                         &m_memh),
          "mem reg");
    m_packed.resize(attr.rkey_packed_size);
    ucs_status_t status = uct_md_mkey_pack(m_entity.md(), m_memh,
                                           m_packed.data());
    if (status == UCS_OK) {
        status = uct_rkey_unpack(m_entity.component(), m_packed.data(),
                                 &m_rkey);
    }
    if (status != UCS_OK) {
        uct_md_mem_dereg(m_entity.md(), m_memh);
    }
    check(status, "remote key");
}

Memory::~Memory()
{
    uct_rkey_release(m_entity.component(), &m_rkey);
    uct_md_mem_dereg(m_entity.md(), m_memh);
}

Completion::Completion()
{
    uct.func = callback;
    uct.count = 1;
    uct.status = UCS_OK;
}

void Completion::callback(uct_completion_t *self)
{
    Completion *completion = reinterpret_cast<Completion *>(self);

    ++completion->done;
    completion->status = self->status;
}

Pending::Pending(std::function<ucs_status_t()> posting) : post(posting)
{
    uct.func = [](uct_pending_req_t *self) {
        Pending *pending = reinterpret_cast<Pending *>(self);

        ++pending->calls;
        pending->answer = pending->post();
        pending->done   = !UCS_STATUS_IS_ERR(pending->answer);
        return (pending->answer == UCS_ERR_NO_RESOURCE) ? UCS_ERR_NO_RESOURCE :
                                                          UCS_OK;
    };
}

void UctTest::SetUp()
{
}

void UctTest::open(const Config &config, size_t headroom)
{
    a = new Entity(config, headroom);
    b = new Entity(config, headroom);
    ep = a->connect(*b);
}

void UctTest::TearDown()
{
    if (ep != nullptr) {
        end(ep);
    }
    if ((a != nullptr) && (b != nullptr)) {
        rounds(100); /* they answer each other's goodbyes */
    }
    end(a);
    end(b);
}

void UctTest::device(const char *knob, const char *value)
{
    using Control   = int (*)(const char *, const char *);
    Control control = reinterpret_cast<Control>(
            dlsym(RTLD_DEFAULT, "efasim_control"));

    ASSERT_NE(nullptr, control) << "run under 'efasim run -- srdrun'";
    ASSERT_EQ(0, control(knob, value)) << knob << "=" << value;
}

void UctTest::device_clock(unsigned long long ns)
{
    auto clock = reinterpret_cast<int (*)(unsigned long long)>(
            dlsym(RTLD_DEFAULT, "efasim_clock"));

    ASSERT_NE(nullptr, clock) << "run under 'efasim run -- srdrun'";
    ASSERT_EQ(0, clock(ns));
}

double UctTest::now()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

double UctTest::ran()
{
    timespec ran;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return ran.tv_sec + ran.tv_nsec * 1e-9;
}

long UctTest::resident()
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

bool UctTest::wait(const std::function<bool()> &done, double seconds)
{
    const double end = ran() + seconds;
    std::unique_ptr<FastClock> fast;
    unsigned calls = 0;

    while (!done()) {
        if (ran() > end) {
            return false;
        }
        progress();
        if (++calls == 1000) { /* nothing but time helps */
            fast = std::make_unique<FastClock>();
        }
    }
    return true;
}

bool UctTest::wait_a(const std::function<bool()> &done, double seconds)
{
    for (double end = ran() + seconds; !done(); a->progress()) {
        if (ran() > end) {
            return false;
        }
    }
    return true;
}

void UctTest::progress_for(double seconds)
{
    std::vector<Entity *> those = {a};

    if (b != nullptr) {
        those.push_back(b);
    }
    progress_for(seconds, those);
}

void UctTest::progress_for(double seconds, const std::vector<Entity *> &those)
{
    unsigned rounds = 0;

    for (double end = now() + seconds; (now() < end) || (rounds < 100);
         ++rounds) {
        for (Entity *each : those) {
            each->progress();
        }
    }
}

void UctTest::connect_many(std::vector<uct_ep_h> &eps, size_t count)
{
    size_t came = b->count + count - eps.size();

    b->record = false;
    while (eps.size() < count) {
        eps.push_back(a->connect(*b));
        ASSERT_EQ(UCS_OK, send_short(eps.back(), 0, {}));
        progress();
    }
    ASSERT_TRUE(wait([&] { return b->count == came; }));
    progress_for(0.05); /* the hellos were answered */
}

void UctTest::introduce()
{
    size_t before = b->count;

    ASSERT_EQ(UCS_OK, send_short(ep, before, {}));
    ASSERT_TRUE(wait([&] { return b->count > before; }));
    ASSERT_TRUE(flush(ep));
    progress_for(0.02); /* the answer */
}

uint64_t UctTest::number_of(const Bytes &message)
{
    uint64_t number;

    memcpy(&number, message.data(), sizeof(number));
    return number;
}

void UctTest::expect_in_order(uint64_t count)
{
    ASSERT_EQ(count, b->received.size());
    for (uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(i, number_of(b->received[i]));
    }
}

ucs_status_t
UctTest::send_short(uct_ep_h to, uint64_t header, const Bytes &payload)
{
    return until_taken([&] {
        return uct_ep_am_short(to, AM_ID, header, payload.data(),
                               payload.size());
    });
}

size_t pack_bytes(void *dest, void *arg)
{
    const Bytes *bytes = static_cast<const Bytes *>(arg);

    std::copy(bytes->begin(), bytes->end(), static_cast<uint8_t *>(dest));
    return bytes->size();
}

ssize_t UctTest::send_bcopy(uct_ep_h to, const Bytes &bytes)
{
    return until_taken([&] {
        return uct_ep_am_bcopy(to, AM_ID, pack_bytes,
                               const_cast<Bytes *>(&bytes), 0);
    });
}

uint64_t UctTest::fill(uint64_t first)
{
    uint64_t number = first;

    while (uct_ep_am_short(ep, AM_ID, number, nullptr, 0) == UCS_OK) {
        ++number;
    }
    return number - first;
}

bool UctTest::flush(uct_ep_h to)
{
    return wait([&] { return uct_ep_flush(to, 0, nullptr) == UCS_OK; });
}

} // namespace uct_test

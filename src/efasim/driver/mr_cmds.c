/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registrations. The device reaches a dma-buf's pages, and a GPU's, by a
 * mapping of our own: the program need not have one.
 */
#include "cmds.h"
#include "efa_uapi.h"
#include "region.h"
#include "standby.h"

#include "efasim/fabric/process.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/capability.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define MR_GPU_PAGE_SHIFT 16 /* the smallest of a GPU's */
#define MR_POPULATE_READ  22 /* MADV_POPULATE_READ, Linux 5.14 */
#define MR_POPULATE_WRITE 23
#define MR_PAGE_MOST      65536 /* bytes of a usual page, at most */

/* Access that needs pages which can be written */
#define MR_WRITING \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

/* Those that verbs define, the optional ones apart */
#define MR_DEFINED 0x3ffu

/* Checks of uverbs, then of the driver. */
static int mr_check_access(const struct drv_dev *dev, uint32_t access)
{
    if (((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
         !(access & IBV_ACCESS_LOCAL_WRITE)) ||
        (access & ~(MR_DEFINED | SIM_ACCESS_OPTIONAL))) {
        return -EINVAL;
    }

    return (access & ~sim_mr_access(dev->sim)) ? -EOPNOTSUPP : 0;
}

/* The kernel pins the pages, so they must be there. mincore() says whether
 * the range is mapped. */
int drv_mr_is_mapped(uint64_t addr, uint64_t span)
{
    static unsigned char vec[1 << 16]; /* one byte per page; under the lock */
    const uint64_t most = sizeof(vec) * drv_page();
    uint64_t at, step;

    addr = drv_page_down(addr);
    for (at = 0; at < span; at += step) {
        step = span - at;
        step = (step < most) ? step : most;
        if (mincore((void*)(uintptr_t)(addr + at), step, vec) != 0) {
            return 0;
        }
    }

    return 1;
}

/* 0; -EPERM: none may be locked; -ENOMEM: not so much. */
static int mr_memlock(const struct drv_dev *dev, uint64_t bytes)
{
    struct rlimit limit;

    if ((dev->knobs.memlock < (drv_privilege_has(CAP_IPC_LOCK) ? 2 : 1)) ||
        (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) ||
        (limit.rlim_cur == RLIM_INFINITY)) {
        return 0;
    }
    if (limit.rlim_cur == 0) {
        return -EPERM;
    }

    return (drv.pinned + bytes <= limit.rlim_cur) ? 0 : -ENOMEM;
}

/* The pages come into being as the kernel's pinning would have them: private
 * copies, where they are to be written. 0: one of them cannot be had, as with a
 * GPU's, where the kernel has none of its own. Before Linux 5.14, and under
 * qemu-user, nobody can say: then the program may read the first and the last
 * byte. */
static int mr_is_there(const struct ib_uverbs_reg_mr *req, uint64_t span)
{
    static char own[2 * MR_PAGE_MOST];
    int advice           = (req->access_flags & MR_WRITING) ?
                                   MR_POPULATE_WRITE : MR_POPULATE_READ;
    char byte[2];
    struct iovec to      = { byte, 2 };
    struct iovec from[2] = {
        { (void*)(uintptr_t)req->start, 1 },
        { (void*)(uintptr_t)(req->start + req->length - 1), 1 },
    };
    ssize_t read;

    if (madvise((void*)(uintptr_t)drv_page_down(req->start), span,
                advice) == 0) {
        return 1;
    }
    if (madvise((void*)drv_page_up((uintptr_t)own), drv_page(), advice) == 0) {
        return 0;
    }
    read = process_vm_readv(getpid(), &to, 1, from, 2, 0);
    return (read == 2) || ((read < 0) && (errno != EFAULT));
}

/* Make the pages ready: 0; -EPERM, -ENOMEM: the limit of locked memory;
 * -EFAULT: there are none, or none to be written, or a GPU's where there is no
 * peer memory. */
static int mr_pin(const struct drv_dev *dev, const struct ib_uverbs_reg_mr *req,
                  uint64_t span, struct drv_mapping *map)
{
    int ret = mr_memlock(dev, span);

    if (ret != 0) {
        return ret;
    }
    if (!drv_mr_is_mapped(req->start, span)) {
        return -EFAULT;
    }
    if (mr_is_there(req, span)) {
        return 0;
    }
    return dev->knobs.peer_memory ?
           drv_gpu_map(req->start, req->length, map) : -EFAULT;
}

/* The pages in which the kernel has it: usual ones unless it says otherwise.
 * (That small ones may lie side by side is not known here.) */
static uint32_t mr_page_shift(const struct sim_knobs *knobs, uint64_t addr,
                              uint64_t span)
{
    unsigned long from, to, kb = drv_page() / 1024;
    char line[512];
    int is_it = 0;
    FILE *smaps;

    if (span / drv_page() <= knobs->mr_pages) {
        return __builtin_ctzll(drv_page()); /* few enough */
    }
    smaps = fopen("/proc/self/smaps", "re");
    while ((smaps != NULL) && fgets(line, sizeof(line), smaps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
            is_it = (from <= addr) && (addr < to);
        } else if (is_it &&
                   (sscanf(line, "KernelPageSize: %lu", &kb) == 1)) {
            break;
        }
    }
    if (smaps != NULL) {
        fclose(smaps);
    }
    return 10 + __builtin_ctzl(kb);
}

/* Have room for one more in the directory: 0; or -ENOMEM, after a line. */
static int mr_reserve(struct drv_dev *dev)
{
    int err;

    if (fabric_env_mr_reserve(dev->fabric, dev->sim->nic,
                              &dev->mr_reserved) == 0) {
        return 0;
    }

    err = errno;
    drv_log("no room for a registration: %s%s", strerror(err),
            fabric_process_advice(err));
    return -ENOMEM;
}

/* Register the memory, of which so much is locked. On an error `map` ends. */
static int mr_add(struct drv_ctx *ctx, struct sim_pd *pd,
                  struct sim_mr_attr *attr, struct drv_mapping map,
                  uint64_t pinned)
{
    int ret = sim_mr_register(ctx->dev->sim, pd, attr);

    if (ret != 0) {
        drv_dmabuf_unmap(&map);
        return ret;
    }

    ++ctx->mrs;
    drv.pinned               += pinned;
    ctx->dev->mr[attr->index] = (struct drv_mr){ ctx, pinned, map };
    return 0;
}

int drv_mr_reg(struct drv_cmd *cmd)
{
    struct ib_uverbs_reg_mr_resp resp = { 0 };
    struct drv_dev *dev               = cmd->ctx->dev;
    struct drv_mapping map            = { 0 };
    struct ib_uverbs_reg_mr req;
    struct sim_mr_attr attr;
    struct sim_pd *pd;
    uint64_t span;
    int ret;

    ret = drv_pd_request(cmd, &req, sizeof(req),
                         offsetof(struct ib_uverbs_reg_mr, pd_handle), &pd);
    if (ret != 0) {
        return ret;
    }
    if ((req.length == 0) || (req.start + req.length < req.start) ||
        ((req.start ^ req.hca_va) & (drv_page() - 1))) {
        return -EINVAL;
    }

    ret = mr_check_access(dev, req.access_flags);
    ret = ret ? ret : mr_reserve(dev);
    if (ret != 0) {
        return ret;
    }

    attr = (struct sim_mr_attr){
        .addr   = req.start,
        .length = req.length,
        .iova   = req.hca_va,
        .access = req.access_flags,
    };
    span = drv_page_up(req.start + req.length) - drv_page_down(req.start);
    attr.page_shift = mr_page_shift(&dev->knobs, req.start, span);
    ret  = mr_pin(dev, &req, span, &map);
    if (ret != 0) {
        return ret;
    }

    if (map.start != NULL) { /* a GPU's: not locked memory */
        attr.addr       = map.addr;
        attr.page_shift = MR_GPU_PAGE_SHIFT;
        span            = 0;
    }
    ret = mr_add(cmd->ctx, pd, &attr, map, span);
    if (ret != 0) {
        return ret;
    }

    if (dev->knobs.reg_us != 0) {
        usleep(dev->knobs.reg_us);
    }
    sim_log_trace(dev->sim, "mr bytes=%lld", (long long)span);
    resp.mr_handle = attr.index;
    resp.lkey      = attr.key;
    resp.rkey      = attr.key;
    drv_attr_put(cmd, UVERBS_ATTR_CORE_OUT, resp);
    return 0;
}

static int mr_is_one(const struct drv_ctx *ctx, int64_t handle)
{
    return (handle >= 0) && (handle < SIM_MAX_MR) &&
           (ctx->dev->mr[handle].ctx == ctx);
}

/* The interconnects by which the device reaches the memory: the knob ic_id for
 * each kind of access; 0: not known. */
int drv_mr_query(struct drv_cmd *cmd)
{
    int64_t handle    = drv_attr_handle(cmd, DRV_EFA_MR_HANDLE);
    uint16_t id       = cmd->ctx->dev->sim->knobs.ic_id;
    uint16_t validity = id ? DRV_EFA_MR_IC_ALL : 0;

    if (!mr_is_one(cmd->ctx, handle)) {
        return -EINVAL;
    }

    drv_attr_put(cmd, DRV_EFA_MR_IC_VALIDITY, validity);
    drv_attr_put(cmd, DRV_EFA_MR_RECV_IC, id);
    drv_attr_put(cmd, DRV_EFA_MR_READ_IC, id);
    drv_attr_put(cmd, DRV_EFA_MR_RDMA_RECV_IC, id);
    return 0;
}

void drv_mr_release(struct drv_dev *dev, uint32_t index)
{
    struct drv_mr *mr = &dev->mr[index];

    sim_log_trace(dev->sim, "mr bytes=%lld", -(long long)mr->pinned);
    drv.pinned -= mr->pinned;
    --mr->ctx->mrs;
    mr->ctx     = NULL;
    sim_mr_deregister(dev->sim, index);
    drv_dmabuf_unmap(&mr->map);
}

int drv_mr_destroy(struct drv_cmd *cmd)
{
    int64_t handle = drv_attr_handle(cmd, UVERBS_ATTR_DESTROY_MR_HANDLE);

    if (!mr_is_one(cmd->ctx, handle)) {
        return drv_attr_no_object(cmd, UVERBS_ATTR_DESTROY_MR_HANDLE);
    }

    drv_mr_release(cmd->ctx->dev, handle);
    return 0;
}

struct mr_dmabuf {
    uint64_t offset, length, iova;
    uint32_t access;
    int32_t  fd;
};

static int mr_dmabuf_request(const struct drv_cmd *cmd,
                             struct mr_dmabuf *req)
{
    int64_t fd = drv_attr_handle(cmd, UVERBS_ATTR_REG_DMABUF_MR_FD);

    req->fd = (fd < 0) ? -1 : (int32_t)fd;
    return (drv_attr_get(cmd, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, req->offset) ||
            drv_attr_get(cmd, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, req->length) ||
            drv_attr_get(cmd, UVERBS_ATTR_REG_DMABUF_MR_IOVA, req->iova) ||
            drv_attr_get(cmd, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS,
                         req->access) ||
            ((req->offset ^ req->iova) & (drv_page() - 1))) ? -EINVAL : 0;
}

int drv_mr_reg_dmabuf(struct drv_cmd *cmd)
{
    struct drv_dev *dev = cmd->ctx->dev;
    struct sim_pd *pd = drv_pd_get(cmd->ctx, drv_attr_handle(cmd,
                                   UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE));
    struct sim_mr_attr attr = { 0 };
    struct drv_mapping map  = { 0 };
    struct mr_dmabuf req;
    int ret;

    if (!dev->knobs.dmabuf) {
        return -EOPNOTSUPP;
    }
    ret = (pd == NULL) ? -ENOENT : mr_dmabuf_request(cmd, &req);
    ret = ret ? ret : mr_check_access(dev, req.access);
    ret = ret ? ret : mr_reserve(dev);
    ret = ret ? ret : drv_dmabuf_map(req.fd, req.offset, req.length, &map);
    if (ret != 0) {
        return ret;
    }

    attr.addr       = map.addr;
    attr.length     = req.length;
    attr.iova       = req.iova;
    attr.access     = req.access;
    attr.page_shift = MR_GPU_PAGE_SHIFT;
    ret             = mr_add(cmd->ctx, pd, &attr, map, 0);
    if (ret != 0) {
        return ret;
    }

    drv_attr_put(cmd, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, attr.key);
    drv_attr_put(cmd, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, attr.key);
    drv_attr_out_handle(cmd, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, attr.index);
    return 0;
}

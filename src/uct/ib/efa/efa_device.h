/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_DEVICE_H_
#define EFA_DEVICE_H_

#include "efa_cpus.h"
#include "efa_verbs.h"

#include <ucp_hooks/host.h>

#define EFA_DEVICE_NAME_MAX 64
#define EFA_PORT            1 /* the only one (EFA-FACTS: identity) */
#define EFA_DEVICE_FILES    2 /* descriptors of an open one: commands, events */

/* Capabilities that EFA's driver reports and rdma-core 44's header lacks. */
#define EFA_DEVICE_CAP_RDMA_READ  (1 << 0)
#define EFA_DEVICE_CAP_RNR_RETRY  (1 << 1)
#define EFA_DEVICE_CAP_RDMA_WRITE (1 << 3)

/* Why a device is not offered, to the transport that UCX asks for now or to all
 * of ours: a warning if the user asked for it by name, else a line for
 * debugging. */
#define efa_report_absent(_host, ...) \
    host_report_absent(_host, NULL, __VA_ARGS__)

/* An open device: its context, and answers to questions that are asked once. */
typedef struct efa_device efa_device_t;

struct efa_device {
    const efa_verbs_t  *verbs;
    struct ibv_context *context;
    char                name[EFA_DEVICE_NAME_MAX];
    char                bdf[32]; /* "0000:00:06.0", "" where unknown */
    ucs_cpu_set_t       local_cpus; /* all where unknown */
    union ibv_gid       gid;
    unsigned            caps;         /* EFA_DEVICE_CAP_ */
    unsigned            part;         /* PCI device, 0xefa0 and up */
    unsigned            max_sq_wr, max_rq_wr;
    unsigned            max_sq_sge, max_rq_sge;
    unsigned            max_rdma_sge;
    unsigned            inline_size;      /* bytes, of a 64 B work request */
    unsigned            inline_size_wide; /* of a 128 B one, else the same */
    size_t              max_rdma;     /* bytes of one RDMA operation */
    size_t              rdma_most;    /* and of one of ours */
    size_t              max_msg;      /* bytes of one message */
    size_t              max_mr;       /* bytes of one registration */
    unsigned            max_cqe, max_ah;
    double              bandwidth;    /* bytes per second */
};

/*
 * Names of the EFA devices of this machine, as libibverbs lists them.
 * *names_p is from malloc() (the caller frees it), NULL when there are none.
 * UCS_OK (also for none), UCS_ERR_NO_MEMORY.
 */
ucs_status_t efa_device_list(const efa_verbs_t *verbs,
                             char (**names_p)[EFA_DEVICE_NAME_MAX],
                             unsigned *count_p);

/*
 * Looks below `folder` of sysfs ("bus/pci/devices", or as libibverbs lists them
 * with `device` "/device") for entry `number`, from 0, whose PCI function is an
 * EFA. Nonzero if there is one; then `name` is the entry's.
 */
int efa_sysfs_find(const char *folder, const char *device, unsigned number,
                   char *name, size_t size);

/* Nonzero if sysfs shows an EFA, with a driver or without. */
int efa_device_is_present(void);

/* Devices for RDMA of all kinds that sysfs shows. */
unsigned efa_device_count_rdma(void);

/* Where there is a device: opens libibverbs and libefa, and makes them know
 * each other, before anybody else opens libefa for another libibverbs
 * (efa_verbs.h). Says nothing. */
void efa_device_open_libraries(void);

/*
 * One line for the user on why efa_device_list found none: cause and remedy.
 */
void efa_device_explain_none(char *why, size_t size);

/*
 * Opens the device `name` and asks for its abilities. On failure nothing is
 * owed and the cause was reported (efa_report_absent). UCS_OK,
 * UCS_ERR_NO_DEVICE, UCS_ERR_UNSUPPORTED (not SRD-capable), UCS_ERR_NO_MEMORY,
 * UCS_ERR_IO_ERROR.
 */
ucs_status_t
efa_device_open(ucx_host_t *host, const char *name, efa_device_t **device_p);

void efa_device_close(efa_device_t *device);

/* The limit on locked memory as text, for messages: "64 KiB", "unlimited". */
const char *efa_memlock_text(char *buffer, size_t size);

/* Where sysfs is: "/sys", if the environment does not say another place. */
const char *efa_sysfs_root(void);

/* Whether a name there is as the kernel gives them: in another user's tree
 * (SYSFS_PATH, --sysroot) it may be one that a terminal takes for a command. */
struct dirent;
int efa_sysfs_is_name(const struct dirent *entry);

/* The contents of a file, cut off after `size` - 1 bytes; of a pipe, what is
 * in it; masked what a terminal may take for a command. 0, or -1 when it cannot
 * be opened. */
int efa_file_read(const char *path, char *buffer, size_t size);

/* The smaller of a wish and the limit of the device. */
static inline unsigned efa_at_most(unsigned wish, unsigned most)
{
    return (wish < most) ? wish : most;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated /sys of a host: the files that libibverbs, libefa,
 * libfabric and UCX read to find its devices, laid out as the kernel does: a
 * device is a folder of the PCI bus, and the classes link to it. Constant text;
 * the hw_counters files are empty here, their content is made when they are
 * opened.
 */
#include "sysfs.h"
#include "folder.h"

#include "efasim/engine/profile.h"
#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYS_OPEN_FLAGS \
    (O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC)

#define SYS_MODALIAS "pci:v00001D0Fd0000EFA@sv00001D0Fsd0000EFA@bc02sc00i00"

/* A device that is being written */
struct sysfs_dev {
    int                       root;
    const struct sim_profile *profile;
    unsigned                  device;
    unsigned                  devices;     /* of the host */
    uint8_t                   gid[16];
    char                      name[FABRIC_DEVICE_NAME];
    char                      address[16]; /* on the PCI bus */
    char                      pci[64];     /* its folder, below root */
};

/* Folders of one device */
enum sysfs_base {
    SYS_PCI,
    SYS_IB,
    SYS_VERBS,
};

static const struct {
    enum sysfs_base base;
    const char     *name;
    const char     *content; /* @: the generation; NULL: see sysfs_own() */
} sysfs_files[] = {
    { SYS_VERBS, "ibdev",                  NULL },
    { SYS_VERBS, "dev",                    NULL },
    { SYS_VERBS, "abi_version",            "1\n" },
    { SYS_IB, "node_type",                 "7: unspecified\n" },
    { SYS_IB, "fw_ver",                    "0.0.0.0\n" },
    { SYS_IB, "node_desc",                 "efasim\n" },
    { SYS_IB, "node_guid",                 NULL },
    { SYS_IB, "sys_image_guid",            NULL },
    { SYS_IB, "ports/1/gids/0",            NULL },
    { SYS_IB, "ports/1/pkeys/0",           "0xffff\n" },
    { SYS_IB, "ports/1/state",             "4: ACTIVE\n" },
    { SYS_IB, "ports/1/phys_state",        "5: LinkUp\n" },
    { SYS_IB, "ports/1/rate",              "100 Gb/sec (4X EDR)\n" },
    { SYS_IB, "ports/1/lid",               "0x0\n" },
    { SYS_IB, "ports/1/sm_lid",            "0x0\n" },
    { SYS_IB, "ports/1/sm_sl",             "0\n" },
    { SYS_IB, "ports/1/lid_mask_count",    "1\n" },
    { SYS_IB, "ports/1/cap_mask",          "0x00000000\n" },
    { SYS_IB, "ports/1/link_layer",        "Unspecified\n" },
    { SYS_IB, "ports/1/hw_counters/lifespan", "10\n" },
    { SYS_IB, "hw_counters/lifespan",      "10\n" },
    { SYS_PCI, "vendor",                   "0x1d0f\n" },
    { SYS_PCI, "device",                   "0xefa@\n" },
    { SYS_PCI, "subsystem_vendor",         "0x1d0f\n" },
    { SYS_PCI, "subsystem_device",         "0xefa@\n" },
    { SYS_PCI, "class",                    "0x020000\n" },
    { SYS_PCI, "revision",                 "0x00\n" },
    { SYS_PCI, "modalias",                 SYS_MODALIAS "\n" },
    { SYS_PCI, "numa_node",                NULL },
    { SYS_PCI, "local_cpus",               NULL },
    { SYS_PCI, "local_cpulist",            NULL },
    { SYS_PCI, "current_link_speed",       "16.0 GT/s PCIe\n" },
    { SYS_PCI, "current_link_width",       "16\n" },
    { SYS_PCI, "max_link_speed",           "16.0 GT/s PCIe\n" },
    { SYS_PCI, "max_link_width",           "16\n" },
};

/* Up to so many devices lie on buses 0x00, 0x10, 0x20 and 0x30, as a p4d's do,
 * on no bridge; more lie as a p5's do, four behind a bridge each. */
enum {
    SYS_FLAT_DEVICES   = 4,
    SYS_BRIDGE_DEVICES = 4,
};

/* The bus of a p5's GPU behind its bridge; its EFAs are on the next ones. */
static const uint8_t sysfs_bridge_bus[] = {
    0x4f, 0x60, 0x70, 0x80, 0x90, 0xa0, 0xb0, 0xc0,
};

_Static_assert(sizeof(sysfs_bridge_bus) * SYS_BRIDGE_DEVICES == SIM_DEVICES,
               "a bus of each bridge");

static unsigned sysfs_bus(unsigned device, unsigned devices)
{
    return (devices <= SYS_FLAT_DEVICES) ? 16 * device :
           sysfs_bridge_bus[device / SYS_BRIDGE_DEVICES] + 1u +
           device % SYS_BRIDGE_DEVICES;
}

/* The folder that a function of the bus lies in, below root. */
static void sysfs_parent(unsigned bus, unsigned bridge, unsigned devices,
                         char *buf, size_t size)
{
    if (devices <= SYS_FLAT_DEVICES) {
        snprintf(buf, size, "devices/pci0000:%02x", bus & 0xff);
    } else {
        snprintf(buf, size, "devices/pci0000:00/0000:00:%02x.0", bridge & 0x1f);
    }
}

/* The name has the bus and the slot as decimal numbers. */
void fabric_sysfs_device_name(unsigned device, unsigned devices, char *name)
{
    snprintf(name, FABRIC_DEVICE_NAME, "rdmap%us%u",
             sysfs_bus(device % SIM_DEVICES, devices) & 0xff,
             (devices <= SYS_FLAT_DEVICES) ? 6 : 0);
}

const char *fabric_sysfs_nic_name(const struct fabric *fabric, unsigned nic)
{
    static __thread char names[2][FABRIC_DEVICE_NAME];
    static __thread unsigned next;
    char *name = names[next++ % 2];

    fabric_sysfs_device_name(dir_nic_device(nic),
                             atomic_load(&fabric->dir->host[dir_nic_host(nic)]
                                          .devices), name);
    return name;
}

int fabric_sysfs_device_find(const char *name, size_t length)
{
    static const unsigned hosts[] = { SYS_FLAT_DEVICES, SIM_DEVICES };
    char other[FABRIC_DEVICE_NAME];
    unsigned i, k;

    for (k = 0; k < 2; ++k) {
        for (i = 0; i < hosts[k]; ++i) {
            fabric_sysfs_device_name(i, hosts[k], other);
            if ((strlen(other) == length) && !strncmp(name, other, length)) {
                return i;
            }
        }
    }

    return -1;
}

/* Make the folders that lead to a file: once one of them is missing, as most
 * files lie beside another. */
static int sysfs_mkdirs(int root, const char *name)
{
    char part[FABRIC_PATH_MAX + 160];
    char *slash;

    snprintf(part, sizeof(part), "%s", name);
    for (slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if ((mkdirat(root, part, 0700) != 0) && (errno != EEXIST)) {
            return -1;
        }
        *slash = '/';
    }

    return 0;
}

static int sysfs_write(int root, const char *name, const char *content)
{
    size_t length = strlen(content);
    int fd        = openat(root, name, SYS_OPEN_FLAGS, 0600);
    int ret;

    if ((fd < 0) && (errno == ENOENT) && (sysfs_mkdirs(root, name) == 0)) {
        fd = openat(root, name, SYS_OPEN_FLAGS, 0600);
    }
    if (fd < 0) {
        return -1;
    }

    ret = (write(fd, content, length) == (ssize_t)length) ? 0 : -1;
    close(fd);
    return ret;
}

static int sysfs_link(int root, const char *name, const char *target)
{
    int ret = symlinkat(target, root, name);

    if ((ret != 0) && (errno == ENOENT) && (sysfs_mkdirs(root, name) == 0)) {
        ret = symlinkat(target, root, name);
    }
    return ((ret == 0) || (errno == EEXIST)) ? 0 : -1;
}

/* A file of the device, below root. */
static void sysfs_path(const struct sysfs_dev *dev, enum sysfs_base base,
                       const char *name, char *buf, size_t size)
{
    switch (base) {
    case SYS_IB:
        snprintf(buf, size, "%s/infiniband/%s/%s", dev->pci,
                 dev->name, name);
        break;
    case SYS_VERBS:
        snprintf(buf, size, "%s/infiniband_verbs/" FABRIC_UVERBS_NAME "%u/%s",
                 dev->pci, dev->device, name);
        break;
    case SYS_PCI:
    default:
        snprintf(buf, size, "%s/%s", dev->pci, name);
        break;
    }
}

/* The device's memory node: devices are spread evenly over the machine's nodes;
 * -1, as from firmware that says nothing, where there is one node only. */
static int sysfs_numa(unsigned device, unsigned devices)
{
    unsigned nodes = 0;
    char file[64];

    do {
        snprintf(file, sizeof(file), "/sys/devices/system/node/node%u", nodes);
    } while ((access(file, F_OK) == 0) && (++nodes < devices));

    return (nodes > 1) ? (int)(device * nodes / devices) : -1;
}

/* CPUs near a device, as the kernel writes them: those of its memory node, or
 * all; `kind` is a file of nodes, "cpumap" or "cpulist". Empty on a kernel
 * without nodes. */
static void sysfs_cpus(int node, const char *kind, char *buf, size_t size)
{
    char path[64];
    ssize_t length = 0;
    int fd;

    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/%s",
             (node < 0) ? 0 : node, kind);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, buf, size - 1);
        close(fd);
    }
    buf[(length > 0) ? length : 0] = '\0';
}

/* Files that differ from device to device: names, places, and the GUIDs made of
 * the GID. */
static void sysfs_own(const struct sysfs_dev *dev, unsigned devices,
                      const char *name, char *buf, size_t size)
{
    const uint8_t *gid = dev->gid;
    size_t at          = 0;
    int i;

    if (!strcmp(name, "ibdev")) {
        snprintf(buf, size, "%s\n", dev->name);
    } else if (!strcmp(name, "dev")) {
        snprintf(buf, size, "%d:%u\n", FABRIC_UVERBS_MAJOR,
                 FABRIC_UVERBS_MINOR + dev->device);
    } else if (!strcmp(name, "numa_node")) {
        snprintf(buf, size, "%d\n", sysfs_numa(dev->device, devices));
    } else if (!strncmp(name, "local_cpu", 9)) {
        sysfs_cpus(sysfs_numa(dev->device, devices),
                   (name[9] == 's') ? "cpumap" : "cpulist", buf, size);
    } else {
        for (i = strstr(name, "gids") ? 0 : 8; i < 16; i += 2) {
            at += snprintf(buf + at, size - at, "%02x%02x%s", gid[i],
                           gid[i + 1], (i == 14) ? "\n" : ":");
        }
    }
}

/* Empty files: their contents are made when they are opened. */
static int sysfs_create_counters(const struct sysfs_dev *dev,
                                 const char *folder, const char *const *names,
                                 unsigned num)
{
    char buf[96], name[192];
    unsigned i;

    for (i = 0; i < num; ++i) {
        snprintf(buf, sizeof(buf), "%s%s", folder, names[i]);
        sysfs_path(dev, SYS_IB, buf, name, sizeof(name));
        if (sysfs_write(dev->root, name, "") != 0) {
            return -1;
        }
    }

    return 0;
}

static int sysfs_create_files(const struct sysfs_dev *dev, unsigned devices)
{
    char buf[4096], name[160], *at; /* a bit each of thousands of CPUs */
    unsigned i;

    for (i = 0; i < sizeof(sysfs_files) / sizeof(sysfs_files[0]); ++i) {
        if (sysfs_files[i].content == NULL) {
            sysfs_own(dev, devices, sysfs_files[i].name, buf, sizeof(buf));
        } else {
            snprintf(buf, sizeof(buf), "%s", sysfs_files[i].content);
            while ((at = strchr(buf, '@')) != NULL) {
                *at = '0' + (dev->profile->pci_device & 0xf);
            }
        }
        sysfs_path(dev, sysfs_files[i].base, sysfs_files[i].name, name,
                   sizeof(name));
        if (sysfs_write(dev->root, name, buf) != 0) {
            return -1;
        }
    }

    return sysfs_create_counters(dev, "ports/1/hw_counters/",
                                 dir_counter_names, DIR_PORT_COUNTERS) ||
           sysfs_create_counters(dev, "hw_counters/",
                                 dir_driver_counter_names,
                                 DIR_DRIVER_COUNTERS) ? -1 : 0;
}

static int sysfs_create_links(const struct sysfs_dev *dev)
{
    const char *up = (dev->devices <= SYS_FLAT_DEVICES) ? "" : "../";
    const char *ib = dev->name;
    char name[160], target[160];
    int ret = 0;

    snprintf(target, sizeof(target), "../../../%s", dev->address);
    sysfs_path(dev, SYS_IB, "device", name, sizeof(name));
    ret |= sysfs_link(dev->root, name, target);
    sysfs_path(dev, SYS_VERBS, "device", name, sizeof(name));
    ret |= sysfs_link(dev->root, name, target);
    sysfs_path(dev, SYS_PCI, "driver", name, sizeof(name));
    snprintf(target, sizeof(target), "%s../../../bus/pci/drivers/efa", up);
    ret |= sysfs_link(dev->root, name, target);
    sysfs_path(dev, SYS_PCI, "subsystem", name, sizeof(name));
    snprintf(target, sizeof(target), "%s../../../bus/pci", up);
    ret |= sysfs_link(dev->root, name, target);

    snprintf(name, sizeof(name), "class/infiniband/%s", ib);
    snprintf(target, sizeof(target), "../../%s/infiniband/%s", dev->pci, ib);
    ret |= sysfs_link(dev->root, name, target);
    snprintf(name, sizeof(name), "class/infiniband_verbs/"
             FABRIC_UVERBS_NAME "%u", dev->device);
    snprintf(target, sizeof(target), "../../%s/infiniband_verbs/"
             FABRIC_UVERBS_NAME "%u", dev->pci, dev->device);
    ret |= sysfs_link(dev->root, name, target);
    snprintf(name, sizeof(name), "bus/pci/devices/%s", dev->address);
    snprintf(target, sizeof(target), "../../../%s", dev->pci);
    return ret | sysfs_link(dev->root, name, target);
}

static int sysfs_create_host(const struct fabric *fabric, unsigned host,
                             int root)
{
    const struct dir_host *entry = &fabric->dir->host[host];
    unsigned devices             = atomic_load(&entry->devices);
    struct sysfs_dev dev         = { .root = root, .devices = devices };
    char parent[40];
    unsigned bus;

    dev.profile = sim_profile_get(atomic_load(&entry->profile));
    if ((sysfs_write(root, "class/infiniband_verbs/abi_version",
                     "6\n") != 0) ||
        (sysfs_write(root, "bus/pci/drivers/efa/module", "") != 0)) {
        return -1;
    }

    /* the last first: shared memory lists folders newest first, and programs
     * that take the first device then take the first */
    for (dev.device = devices; dev.device-- > 0;) {
        dir_gid(fabric->dir, dir_nic_of(host, dev.device), dev.gid);
        bus = sysfs_bus(dev.device, devices);
        fabric_sysfs_device_name(dev.device, devices, dev.name);
        snprintf(dev.address, sizeof(dev.address), "0000:%02x:%02x.0",
                 bus & 0xff, (devices <= SYS_FLAT_DEVICES) ? 6 : 0);
        sysfs_parent(bus, dev.device / SYS_BRIDGE_DEVICES, devices, parent,
                     sizeof(parent));
        snprintf(dev.pci, sizeof(dev.pci), "%s/%s", parent, dev.address);
        if ((sysfs_create_files(&dev, devices) != 0) ||
            (sysfs_create_links(&dev) != 0)) {
            return -1;
        }
    }

    return 0;
}

/* The folder of a host, made if it is not there; `folder` is the fabric's. */
static int sysfs_root(int folder, unsigned host)
{
    char name[16];

    snprintf(name, sizeof(name), "node%u", host);
    return ((mkdirat(folder, name, 0700) != 0) && (errno != EEXIST)) ? -1 :
           openat(folder, name, FABRIC_FOLDER_FLAGS);
}

static int sysfs_create_locked(struct fabric *fabric, int root, unsigned host,
                               unsigned profile, unsigned devices)
{
    struct dir_host *entry = &fabric->dir->host[host];

    if (faccessat(root, ".complete", F_OK, 0) == 0) { /* 0 asks for nothing */
        errno = EEXIST;
        return (((profile == 0) || (profile == atomic_load(&entry->profile))) &&
                ((devices == 0) || (devices == atomic_load(&entry->devices)))) ?
               0 : -1;
    }

    atomic_store(&entry->profile, profile ? profile : SIM_PROFILE_DEFAULT);
    atomic_store(&entry->devices, devices ? devices : 1);
    if (sysfs_create_host(fabric, host, root) != 0) {
        return -1;
    }

    return sysfs_write(root, ".complete", "");
}

int fabric_sysfs_create(struct fabric *fabric, unsigned host,
                        unsigned profile, unsigned devices)
{
    int lock = fabric_lock(fabric->path, 1);
    int root = (lock < 0) ? -1 : sysfs_root(lock, host);
    int ret  = (root < 0) ? -1 :
               sysfs_create_locked(fabric, root, host, profile, devices);

    output_close(root);
    output_close(lock);
    return ret;
}

static const struct {
    const char *name, *content;
} sysfs_gpu_files[] = {
    { "vendor",    "0x10de\n" },
    { "device",    "0x20b0\n" },
    { "class",     "0x030200\n" },
    { "numa_node", "-1\n" },
    { "modalias",  "pci:v000010DEd000020B0sv000010DEsd00000000bc03sc02i00\n" },
};

static int sysfs_create_gpu(int root, const char *parent, unsigned bus,
                            unsigned slot)
{
    const char *up = strstr(parent, "/0000:") ? "../" : "";
    char pci[64], name[112], target[80];
    unsigned i;
    int ret = 0;

    snprintf(pci, sizeof(pci), "%s/0000:%02x:%02x.0", parent, bus & 0xff,
             slot & 0x1f);
    for (i = 0; i < sizeof(sysfs_gpu_files) / sizeof(sysfs_gpu_files[0]);
         ++i) {
        snprintf(name, sizeof(name), "%s/%s", pci, sysfs_gpu_files[i].name);
        ret |= sysfs_write(root, name, sysfs_gpu_files[i].content);
    }
    snprintf(name, sizeof(name), "bus/pci/devices/%s", strrchr(pci, '/') + 1);
    snprintf(target, sizeof(target), "../../../%s", pci);
    ret |= sysfs_link(root, name, target);
    snprintf(name, sizeof(name), "%s/driver", pci);
    snprintf(target, sizeof(target), "%s../../../bus/pci/drivers/nvidia", up);
    ret |= sysfs_link(root, name, target);
    ret |= sysfs_write(root, "module/nvidia/version", "emulated\n");
    return ret | sysfs_write(root, "bus/pci/drivers/nvidia/module", "");
}

static int sysfs_gpus(int root, unsigned devices, unsigned gpus,
                      int peer_memory)
{
    unsigned bridges = (devices + SYS_BRIDGE_DEVICES - 1) / SYS_BRIDGE_DEVICES;
    unsigned i, bus, slot = 0, last = ~0u, bridge;
    char name[96], parent[40];
    int ret = 0;

    for (i = 0; i < gpus; ++i) {
        bridge = i * bridges / gpus;
        if (devices <= SYS_FLAT_DEVICES) {
            bus  = 16 * (i * devices / gpus);
            slot = (bus == last) ? slot + 1 :
                   (gpus > 4 * devices) ? 0x18 : 0x1c;
        } else {
            bus  = sysfs_bridge_bus[bridge];
            slot = (bus == last) ? slot + 1 : 0;
        }
        last = bus;
        sysfs_parent(bus, bridge, devices, parent, sizeof(parent));
        ret |= sysfs_create_gpu(root, parent, bus, slot);
    }
    for (i = 0; peer_memory && (i < devices); ++i) {
        bus = sysfs_bus(i, devices);
        snprintf(name, sizeof(name), "bus/pci/devices/0000:%02x:%02x.0/p2p",
                 bus & 0xff, (devices <= SYS_FLAT_DEVICES) ? 6 : 0);
        ret |= sysfs_write(root, name, "NVIDIA\n");
    }
    return ret;
}

int fabric_sysfs_gpus(struct fabric *fabric, unsigned host, unsigned gpus,
                      int peer_memory)
{
    unsigned devices = atomic_load(&fabric->dir->host[host].devices);
    int folder       = fabric_folder_open(fabric->path);
    int root         = (folder < 0) ? -1 : sysfs_root(folder, host);
    int ret          = (root < 0) ? -1 :
                       sysfs_gpus(root, devices, gpus, peer_memory);

    output_close(root);
    output_close(folder);
    return ret;
}

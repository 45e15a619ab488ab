/*
 * What stands for /sys on an emulated host: the files that libibverbs, libefa,
 * libfabric and UCX read to find a device. Constant text; the hw_counters
 * files are empty here, their content is made when they are opened.
 */
#include "fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYS_PCI      "devices/pci0000:00/0000:00:06.0"
#define SYS_IB       "class/infiniband/" FABRIC_DEVICE_NAME
#define SYS_PORT     SYS_IB "/ports/1"
#define SYS_UVERBS   "class/infiniband_verbs/" FABRIC_UVERBS_NAME
#define SYS_MODALIAS "pci:v00001D0Fd0000EFA@sv00001D0Fsd0000EFA@bc02sc00i00"

static const struct {
    const char *name;
    const char *content; /* @: the generation; NULL: see sysfs_host() */
} sysfs_files[] = {
    { "class/infiniband_verbs/abi_version", "6\n" },
    { SYS_UVERBS "/ibdev",            FABRIC_DEVICE_NAME "\n" },
    { SYS_UVERBS "/dev",              "231:192\n" },
    { SYS_UVERBS "/abi_version",      "1\n" },
    { SYS_IB "/node_type",            "7: unspecified\n" },
    { SYS_IB "/fw_ver",               "0.0.0.0\n" },
    { SYS_IB "/node_desc",            "efasim\n" },
    { SYS_IB "/node_guid",            NULL },
    { SYS_IB "/sys_image_guid",       NULL },
    { SYS_PORT "/gids/0",             NULL },
    { SYS_PORT "/pkeys/0",            "0xffff\n" },
    { SYS_PORT "/state",              "4: ACTIVE\n" },
    { SYS_PORT "/phys_state",         "5: LinkUp\n" },
    { SYS_PORT "/rate",               "100 Gb/sec (4X EDR)\n" },
    { SYS_PORT "/lid",                "0x0\n" },
    { SYS_PORT "/sm_lid",             "0x0\n" },
    { SYS_PORT "/sm_sl",              "0\n" },
    { SYS_PORT "/lid_mask_count",     "1\n" },
    { SYS_PORT "/cap_mask",           "0x00000000\n" },
    { SYS_PORT "/link_layer",         "Unspecified\n" },
    { SYS_PCI "/vendor",              "0x1d0f\n" },
    { SYS_PCI "/device",              "0xefa@\n" },
    { SYS_PCI "/subsystem_vendor",    "0x1d0f\n" },
    { SYS_PCI "/subsystem_device",    "0xefa@\n" },
    { SYS_PCI "/class",               "0x020000\n" },
    { SYS_PCI "/revision",            "0x00\n" },
    { SYS_PCI "/modalias",            SYS_MODALIAS "\n" },
    { SYS_PCI "/numa_node",           "-1\n" },
    { SYS_PCI "/current_link_speed",  "16.0 GT/s PCIe\n" },
    { SYS_PCI "/current_link_width",  "16\n" },
    { SYS_PCI "/max_link_speed",      "16.0 GT/s PCIe\n" },
    { SYS_PCI "/max_link_width",      "16\n" },
};

static const struct {
    const char *name;
    const char *target;
} sysfs_links[] = {
    { SYS_UVERBS "/device",   "../../../" SYS_PCI },
    { SYS_IB "/device",       "../../../" SYS_PCI },
    { SYS_PCI "/driver",      "../../../bus/pci/drivers/efa" },
    { SYS_PCI "/subsystem",   "../../../bus/pci" },
    { "bus/pci/devices/0000:00:06.0", "../../../" SYS_PCI },
};

/* Make the folders that lead to a file. */
static int sysfs_mkdirs(char *file)
{
    char *slash;

    for (slash = strchr(file + 1, '/'); slash; slash = strchr(slash + 1,
                                                              '/')) {
        *slash = '\0';
        if ((mkdir(file, 0700) != 0) && (errno != EEXIST)) {
            return -1;
        }
        *slash = '/';
    }

    return 0;
}

static int sysfs_write(const char *root, const char *name,
                       const char *content)
{
    char file[FABRIC_PATH_MAX + 128];
    size_t length = strlen(content);
    int fd, ret;

    snprintf(file, sizeof(file), "%s/%s", root, name);
    if (sysfs_mkdirs(file) != 0) {
        return -1;
    }

    fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -1;
    }

    ret = (write(fd, content, length) == (ssize_t)length) ? 0 : -1;
    close(fd);
    return ret;
}

static int sysfs_link(const char *root, const char *name, const char *target)
{
    char file[FABRIC_PATH_MAX + 128];

    snprintf(file, sizeof(file), "%s/%s", root, name);
    if (sysfs_mkdirs(file) != 0) {
        return -1;
    }

    return ((symlink(target, file) == 0) || (errno == EEXIST)) ? 0 : -1;
}

/* What differs from host to host: the GID, and the GUIDs made from it. */
static void sysfs_host(const uint8_t gid[16], const char *name, char *buf,
                       size_t size)
{
    int first = strstr(name, "gids") ? 0 : 8;
    size_t at = 0;
    int i;

    for (i = first; i < 16; i += 2) {
        at += snprintf(buf + at, size - at, "%02x%02x%s", gid[i], gid[i + 1],
                       (i == 14) ? "\n" : ":");
    }
}

/* The text of one file, for a device of this generation. */
static void sysfs_content(unsigned file, const uint8_t gid[16],
                          const struct sim_profile *profile, char *buf,
                          size_t size)
{
    char *mark;

    if (sysfs_files[file].content == NULL) {
        sysfs_host(gid, sysfs_files[file].name, buf, size);
        return;
    }

    snprintf(buf, size, "%s", sysfs_files[file].content);
    while ((mark = strchr(buf, '@')) != NULL) {
        *mark = '0' + (profile->pci_device & 0xf);
    }
}

static int sysfs_create_node(const char *root, const uint8_t gid[16],
                             const struct sim_profile *profile)
{
    char buf[96], name[128];
    unsigned i;

    for (i = 0; i < sizeof(sysfs_files) / sizeof(sysfs_files[0]); ++i) {
        sysfs_content(i, gid, profile, buf, sizeof(buf));
        if (sysfs_write(root, sysfs_files[i].name, buf) != 0) {
            return -1;
        }
    }

    for (i = 0; i < DIR_COUNTERS; ++i) {
        snprintf(name, sizeof(name), SYS_PORT "/hw_counters/%s",
                 dir_counter_names[i]);
        if (sysfs_write(root, name, "") != 0) {
            return -1;
        }
    }

    if (sysfs_write(root, "bus/pci/drivers/efa/module", "") != 0) {
        return -1;
    }
    for (i = 0; i < sizeof(sysfs_links) / sizeof(sysfs_links[0]); ++i) {
        if (sysfs_link(root, sysfs_links[i].name,
                       sysfs_links[i].target) != 0) {
            return -1;
        }
    }

    return 0;
}

static int sysfs_create_locked(struct fabric *fabric, unsigned node,
                               unsigned profile)
{
    _Atomic uint32_t *current = &fabric->dir->node[node].profile;
    char root[FABRIC_PATH_MAX + 16], mark[FABRIC_PATH_MAX + 32];
    uint8_t gid[16];

    snprintf(root, sizeof(root), "%s/node%u", fabric->path, node);
    snprintf(mark, sizeof(mark), "%s/.complete", root);
    if (access(mark, F_OK) == 0) {
        if ((profile != 0) && (profile != atomic_load(current))) {
            errno = EEXIST;
            return -1;
        }
        return 0;
    }

    profile = profile ? profile : SIM_PROFILE_DEFAULT;
    atomic_store(current, profile);
    dir_gid(fabric->dir, node, gid);
    if (sysfs_create_node(root, gid, sim_profile_get(profile)) != 0) {
        return -1;
    }

    return sysfs_write(root, ".complete", "");
}

int fabric_sysfs_create(struct fabric *fabric, unsigned node,
                        unsigned profile)
{
    int lock = fabric_lock(fabric->path, 1);
    int ret  = sysfs_create_locked(fabric, node, profile);
    int err  = errno;

    if (lock >= 0) {
        fabric_unlock(lock);
    }
    errno = err;
    return ret;
}

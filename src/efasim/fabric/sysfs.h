/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_FABRIC_SYSFS_H
#define EFASIM_FABRIC_SYSFS_H

#include "fabric.h"

#include <stddef.h>

/*
 * Make nodeN/ for one host, if it is not there, with so many devices of this
 * profile (0: the default, or what is there). Returns 0 or -1 with errno;
 * EEXIST: the host is up with other devices.
 */
int fabric_sysfs_create(struct fabric *fabric, unsigned host,
                        unsigned profile, unsigned devices);

/*
 * Add `gpus` GPUs on the buses of the host's devices, an equal number near
 * each, from 0000:00:1c.0 on; and, where the driver has peer memory for them,
 * its file that says so. Returns 0 or -1 with errno.
 */
int fabric_sysfs_gpus(struct fabric *fabric, unsigned host, unsigned gpus,
                      int peer_memory);

enum { FABRIC_DEVICE_NAME = 16 };

/* Name of a device of a host that has so many, of FABRIC_DEVICE_NAME bytes,
 * after its place on the PCI bus, as hosts show it: "rdmap0s6", "rdmap16s6";
 * where there are more than four "rdmap80s0", "rdmap81s0" and so on. */
void fabric_sysfs_device_name(unsigned device, unsigned devices, char *name);

/* The same of a NIC whose host is up. Valid until this thread's next call but
 * one. */
const char *fabric_sysfs_nic_name(const struct fabric *fabric, unsigned nic);

/* The device of this name (its first `length` characters), or -1. */
int fabric_sysfs_device_find(const char *name, size_t length);

/* "uverbsN" is the character device of device N, its minor number follows. */
#define FABRIC_UVERBS_NAME  "uverbs"
#define FABRIC_UVERBS_MAJOR 231
#define FABRIC_UVERBS_MINOR 192

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_NETLINK_H
#define EFASIM_DRIVER_NETLINK_H

/* The program closes fd, which may be one of its netlink sockets. */
void drv_netlink_close(int fd);

#endif

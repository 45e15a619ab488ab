/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_CPUS_H_
#define EFA_CPUS_H_

#include <ucs/type/cpu_set.h>

/*
 * The CPUs near the PCI function whose folder of sysfs is `device_dir`: what
 * local_cpus there says. All CPUs, when there is no such file, or none or
 * nothing sensible in it. CPUs that the set has no room for are left out.
 */
void efa_cpus_near(const char *device_dir, ucs_cpu_set_t *cpus);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_CPUS_H_
#define EFA_CPUS_H_

#include <ucs/type/cpu_set.h>

/*
 * The CPUs that `text` names, the contents of a file of sysfs such as
 * local_cpus. All CPUs, when it names none or is nothing sensible. CPUs that
 * the set has no room for are left out.
 */
void efa_cpus_from_text(const char *text, ucs_cpu_set_t *cpus);

#endif

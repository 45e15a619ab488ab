/* SPDX-License-Identifier: BSD-3-Clause */
#include <config.h>

#include "base_record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* One line a process, however many interfaces it opens. */
static int base_record_is_said;

static int base_record_may_say(void)
{
    return !__atomic_exchange_n(&base_record_is_said, 1, __ATOMIC_RELAXED);
}

/* In the middle of a call into the core. */
static void base_record_stopped(void *arg, const char *why)
{
    base_iface_t *iface = arg;

    if (base_record_may_say()) {
        host_warn(iface->super.host,
                  "%s: UCX_EFA_RECORD: %s: nothing more is recorded",
                  base_iface_md(iface)->device->name, why);
    }
}

static void base_record_names(const base_iface_t *iface, record_names_t *names)
{
    memset(names, 0, sizeof(*names));
    snprintf(names->release, sizeof(names->release), "%s", PACKAGE_VERSION);
    snprintf(names->device, sizeof(names->device), "%.31s",
             base_iface_md(iface)->device->name);
    snprintf(names->transport, sizeof(names->transport), "%.7s",
             iface->transport->name);
    names->qpn = iface->qpn;
    record_file_names(names);
}

static const char *base_record_advice(int err)
{
    switch (err) {
    case ENOENT:
        return "make the folder";
    case EMFILE:
    case ENFILE:
        return "raise the limit on open files (ulimit -n)";
    case ENOSPC:
    case ENOMEM:
    case EDQUOT:
        return "make room, or record less (DIR:SIZE)";
    case EFBIG:
        return "raise the limit on file sizes (ulimit -f), or record less "
               "(DIR:SIZE)";
    default:
        return "give another folder";
    }
}

void base_record_open(base_iface_t *iface)
{
    const char    *text = base_iface_md(iface)->record;
    const char    *why;
    record_where_t where;
    record_names_t names;
    char           path[PATH_MAX];

    if (text == NULL) {
        return;
    }
    if (!record_file_where(text, &where, &why)) {
        if (base_record_may_say()) {
            host_warn(iface->super.host,
                      "UCX_EFA_RECORD=%s: %s (DIR[:SIZE]): nothing is recorded",
                      text, why);
        }
        return;
    }
    base_record_names(iface, &names);
    iface->recorder = record_file_open(&where, iface->core, &names, path,
                                       sizeof(path), base_record_stopped,
                                       iface);
    if (iface->recorder != NULL) {
        iface->am_other = 1;
        host_debug(iface->super.host, "%s: recorded into %s",
                   base_iface_md(iface)->device->name, path);
    } else if (base_record_may_say()) {
        host_warn(iface->super.host,
                  "UCX_EFA_RECORD: cannot make %s: %s: nothing is recorded; %s",
                  path, strerror(errno), base_record_advice(errno));
    }
}

void base_record_close(base_iface_t *iface)
{
    if (iface->recorder != NULL) {
        record_file_close(iface->recorder);
        iface->recorder = NULL;
    }
}

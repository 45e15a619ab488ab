/* SPDX-License-Identifier: BSD-3-Clause */
#include "rows.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *title;
    int         is_more;
} rows_groups[SIM_GROUPS] = {
    [SIM_GROUP_HOST]         = { "The host", 0 },
    [SIM_GROUP_NETWORK]      = { "The network (P: a share, from 0 to 1)", 0 },
    [SIM_GROUP_NETWORK_MORE] = { "More of the network", 1 },
    [SIM_GROUP_DEVICE]       = { "The device and its driver", 1 },
    [SIM_GROUP_FAULTS]       = { "Faults", 1 },
    [SIM_GROUP_NO_EFA]       = { "Faults that no EFA should have "
                                 "(srd_info --selftest notices them)", 1 },
};

/* A knob; a flag is one of two options, of which one is shown. */
static unsigned rows_of_knob(option_row_t *rows, const struct sim_knob *knob)
{
    static char names[ROWS_MAX][32];
    static unsigned used;
    int is_flag = (knob->type == SIM_KNOB_FLAG), is_on = knob->usual != 0;

    rows[0] = (option_row_t){ .name = knob->name, .arg = knob->arg,
                              .help = (is_flag && is_on) ? NULL : knob->help,
                              .dflt = (knob->type == SIM_KNOB_UINT) ?
                                      knob->usual : 0,
                              .of   = knob };
    if (!is_flag) {
        return 1;
    }
    snprintf(names[used], sizeof(names[used]), "no-%s", knob->name);
    rows[1] = (option_row_t){ .name = names[used++], .of = knob,
                              .help = is_on ? knob->help : NULL };
    return 2;
}

unsigned rows_of_knobs(option_row_t rows[ROWS_MAX], unsigned count,
                       int is_device)
{
    const struct sim_knob *knob;
    unsigned group, title;

    for (group = 0; group < SIM_GROUPS; ++group) {
        title = count;
        rows[count++] = (option_row_t){ .help = rows_groups[group].title,
                                        .is_more =
                                                rows_groups[group].is_more };
        for (knob = sim_knob_table; knob->name != NULL; ++knob) {
            if ((knob->group == group) &&
                (!is_device || (knob->scope == SIM_SCOPE_ANY) ||
                 (knob->scope == SIM_SCOPE_OPEN))) {
                count += rows_of_knob(&rows[count], knob);
            }
        }
        count = (count == title + 1) ? title : count;
    }
    return count;
}

const char *rows_set(struct sim_knobs *knobs, const option_row_t *row,
                     const char *value)
{
    const struct sim_knob *knob = row->of;
    char label[80], err[512];

    if (value == NULL) {
        value = strcmp(row->name, knob->name) ? "0" : "1";
    }
    snprintf(label, sizeof(label), "--%s", row->name);
    if (sim_knob_set(knobs, knob, label, value, err, sizeof(err)) != 0) {
        options_error("%s", err);
        return NULL;
    }
    return value;
}

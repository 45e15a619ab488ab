/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Variables that hold for the whole process, whatever becomes of our transports
 * in it: UCX_EFA_CLAIM and so on. They are parsed once for each libuct, when
 * its tables are made, so UCX knows them also where we then stay out.
 */
#ifndef UCX_EFA_GLOBAL_H
#define UCX_EFA_GLOBAL_H

#include <ucs/config/types.h>

struct ucx_config_table;

typedef struct ucx_global {
    int  claim;         /* ucs_ternary_auto_value_t: UCS_NO, _YES, _TRY */
    int  warn_fallback; /* 0 or 1 */
    char *abi;          /* "" or "1.23"; see ucx_global_abi() */
} ucx_global_t;

/* The table of ucx_global_t, prefix "EFA_". */
extern const struct ucx_config_table ucx_global_table;

/* Variables of UCX's own that tell what it will do, as its files have them. */
typedef struct ucx_settings {
    char *tls, *net_devices, *log_level, *proto_enable, *bcopy_bw, *rails;
} ucx_settings_t;

/* The table of ucx_settings_t, without a prefix; it is not shown to users. */
extern const struct ucx_config_table ucx_settings_table;

/* Keeps what UCX read; of several UCX in one process the first that has it. */
void ucx_settings_keep(const ucx_settings_t *settings);

/*
 * The text of UCX_<name> (one of those above, as "TLS") in the environment, or
 * else in the ucx.conf that UCX has read; NULL: in neither. A setting that a
 * program makes by ucp_config_modify() is not seen.
 */
const char *ucx_setting(const char *name);

/*
 * The UCX minor that UCX_EFA_ABI asks for; read from the environment, since it
 * decides which layout the tables get. @text: the value as it stands there,
 * NULL if it is not set.
 * 13 and so on, 0: not set or empty, -1: not of the form "1.23".
 */
int ucx_global_abi(const char **text);

/* UCX_EFA_WARN_FALLBACK from the environment, for when there are no tables. */
int ucx_global_warns(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in for UCX's ib module, for the UCX whose headers it is built with: a
 * component "ib" that lists an EFA device and another one, and, if INTREE_SRD is
 * set, has a transport srd of its own, as UCX has from 1.19 on where it was built
 * with libefa. Suites put it into a module folder as libuct_ib.so.0, so UCX loads
 * it when it is asked for its components, after this module.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uct/api/version.h>

#define UCX_MINOR UCT_VERNO_MINOR
#include <ucp_hooks/abi_layout.h>

void uct_component_register(abi_component_t *component);
void uct_tl_register(abi_component_t *component, abi_tl_t *tl);

/* The suites read it from the file: */
const char intree_speaks[] = "speaks UCX " UCT_VERNO_STRING;

static abi_config_field_t intree_no_fields[] = {{.name = NULL}};

static ucs_status_t
intree_query_mds(abi_component_t *component,
                 uct_md_resource_desc_t **resources_p, unsigned *count_p)
{
    (void)component;
    *count_p     = 2;
    *resources_p = calloc(*count_p, sizeof(**resources_p));
    if (*resources_p == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    strcpy((*resources_p)[0].md_name, "rdmap0s6");
    strcpy((*resources_p)[1].md_name, "other0");
    return UCS_OK;
}

static ucs_status_t
intree_md_open(abi_component_t *component, const char *md_name,
               const uct_md_config_t *config, uct_md_h *md_p)
{
    (void)component, (void)config, (void)md_p;
    printf("stand-in asked to open %s\n", md_name);
    return UCS_ERR_NO_DEVICE;
}

static abi_component_t intree_component = {
    .name               = "ib",
    .query_md_resources = intree_query_mds,
    .md_open            = intree_md_open,
    .md_config          = {"", "INTREE_", intree_no_fields, 1, {NULL, NULL}},
    .cm_config          = {"", "INTREE_", intree_no_fields, 1, {NULL, NULL}},
    .tl_list            = {&intree_component.tl_list, &intree_component.tl_list}
};

static abi_tl_t intree_srd = {
    .name   = "srd",
    .config = {"", "INTREE_SRD_", intree_no_fields, 1, {NULL, NULL}}
};

static void __attribute__((constructor)) intree_init(void)
{
    uct_component_register(&intree_component);
    if (getenv("INTREE_SRD") != NULL) {
        uct_tl_register(&intree_component, &intree_srd);
    }
}

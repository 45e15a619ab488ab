/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening UCT on the first EFA device, as tests and measurements do it. */
#ifndef TEST_APPS_UCT_OPEN_H
#define TEST_APPS_UCT_OPEN_H

#include <stdlib.h>
#include <string.h>
#include <uct/api/uct.h>

typedef struct uct_efa {
    uct_component_h component;
    uct_md_h        md;
    char            device[UCT_MD_NAME_MAX]; /* its name; UCT's is NAME:1 */
} uct_efa_t;

/* The first device of a component, or the one that TEST_DEVICE numbers (from 0), if
 * it is efa and has it.
 * @return UCS_OK: efa->component and efa->device are set. */
static inline ucs_status_t uct_efa_first(uct_component_h component,
                                         uct_efa_t *efa)
{
    const char *number = getenv("TEST_DEVICE");
    unsigned device    = (number != NULL) ? (unsigned)atoi(number) : 0;
    uct_component_attr_t attr;
    ucs_status_t status;

    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME |
                      UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
    status          = uct_component_query(component, &attr);
    if ((status != UCS_OK) || (strcmp(attr.name, "efa") != 0) ||
        (attr.md_resource_count <= device)) {
        return UCS_ERR_NO_DEVICE;
    }
    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = (uct_md_resource_desc_t*)
            calloc(attr.md_resource_count, sizeof(*attr.md_resources));
    status            = (attr.md_resources == NULL) ?
                                UCS_ERR_NO_MEMORY :
                                uct_component_query(component, &attr);
    if (status == UCS_OK) {
        efa->component = component;
        strcpy(efa->device, attr.md_resources[device].md_name);
    }
    free(attr.md_resources);
    return status;
}

/*
 * The memory domain of the first EFA device. @return UCS_OK: the caller ends it
 * by uct_md_close(); UCS_ERR_NO_DEVICE: there is no component efa with a device
 * (run under "efasim run -- srdrun"); or what UCT returned.
 */
static inline ucs_status_t uct_open_efa(uct_efa_t *efa)
{
    uct_component_h *components;
    uct_md_config_t *config;
    ucs_status_t status;
    unsigned i, count;
    int found = 0;

    status = uct_query_components(&components, &count);
    if (status != UCS_OK) {
        return status;
    }
    for (i = 0; i < count; ++i) {
        found |= uct_efa_first(components[i], efa) == UCS_OK;
    }
    uct_release_component_list(components);
    if (!found) {
        return UCS_ERR_NO_DEVICE;
    }
    status = uct_md_config_read(efa->component, NULL, NULL, &config);
    if (status == UCS_OK) {
        status = uct_md_open(efa->component, efa->device, config, &efa->md);
        uct_config_release(config);
    }
    return status;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "abi.h"
#include "global.h"

static void collision_visit(const ucx_list_entry_t *entry, void *arg)
{
    ucx_collision_t *collision = arg;
    unsigned i;

    for (i = 0; (entry->tl_name != NULL) &&
                (i < ucx_provider.carrier_count); ++i) {
        const char *name = ucx_provider.transports[i]->name;

        if ((collision->name == NULL) &&
            !strncmp(entry->tl_name, name, UCT_TL_NAME_MAX)) {
            collision->name    = name;
            collision->is_copy = !strncmp(entry->component_name,
                                          ucx_provider.name,
                                          UCT_COMPONENT_NAME_MAX);
            if (collision->is_copy) {
                memcpy(&collision->code, entry->query_mds,
                       sizeof(collision->code));
            }
        }
    }
}

ucx_collision_t ucx_collision_find(const ucx_host_t *host)
{
    const ucx_calls_t *calls  = host->calls;
    ucx_collision_t collision = {NULL, 0, NULL};

    calls->abi->list_visit(calls, calls->component, collision_visit,
                           &collision);
    if ((calls->global.claim != UCS_NO) && !collision.is_copy) {
        collision.name = NULL; /* components.c sets UCX's own aside */
    }
    return collision;
}

enum {
    DEVICES_MOST  = 16, /* what UCX has by default from this minor on */
    DEVICES_MINOR = 19
};

/* The order stays among those that are chosen, and among the others. */
static unsigned devices_chosen_first(char (*names)[UCT_MD_NAME_MAX],
                                     unsigned count)
{
    char name[UCT_MD_NAME_MAX];
    unsigned i, chosen = 0;

    for (i = 0; i < count; ++i) {
        if (tls_may_use_md(names[i])) {
            memcpy(name, names[i], sizeof(name));
            memmove(names[chosen + 1], names[chosen],
                    (i - chosen) * sizeof(*names));
            memcpy(names[chosen++], name, sizeof(name));
        }
    }
    return chosen;
}

static void devices_say(const ucx_host_t *host, unsigned count,
                        int is_users_choice)
{
    static int said;

    if (is_users_choice || (tls_first_of_ours(host) == NULL)) {
        host_debug(host, "%u EFA devices, UCX 1.%u gets %u", count,
                   host->minor, DEVICES_MOST);
    } else if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) {
        host_warn(host, "%u EFA devices, of which UCX 1.%u gets %u, as it "
                  "fails in programs with more than 32 memory domains: choose "
                  "them by UCX_NET_DEVICES, or take UCX 1.19 or newer with "
                  "UCX_MAX_COMPONENT_MDS=32", count, host->minor,
                  DEVICES_MOST);
    }
}

unsigned ucx_devices_offer(const ucx_host_t *host,
                           char (*names)[UCT_MD_NAME_MAX], unsigned count)
{
    unsigned chosen = devices_chosen_first(names, count), i;

    if ((host->minor >= DEVICES_MINOR) || (count <= DEVICES_MOST) ||
        tls_asks_only_for_ours(0)) {
        return count;
    }
    for (i = 1; (chosen > DEVICES_MOST) && (i < DEVICES_MOST); ++i) {
        memcpy(names[i], names[i * chosen / DEVICES_MOST], sizeof(*names));
    }
    devices_say(host, count, chosen < count);
    return DEVICES_MOST;
}

enum {
    AUX_MINOR    = 15, /* from here on "^srd:aux" excludes wireup only */
    IB_SRD_MINOR = 20  /* from here on the alias "ib" has an srd */
};

typedef struct tls_item {
    const char *name;
    size_t     length;
    int        is_strict; /* "\srd": no alias */
    int        is_aux;    /* "srd:aux" */
} tls_item_t;

/* Takes the first item off the list. Nonzero if there was one. */
static int tls_next(const char **list, tls_item_t *item)
{
    const char *aux;
    size_t length;

    *list += strspn(*list, ",");
    length = strcspn(*list, ",");
    if (length == 0) {
        return 0;
    }
    item->name      = *list;
    item->length    = length;
    *list          += length;
    item->is_strict = *item->name == '\\';
    item->name     += item->is_strict;
    item->length   -= item->is_strict;
    aux             = memchr(item->name, ':', item->length);
    item->is_aux    = (aux != NULL) &&
                      ((size_t)(item->name + item->length - aux) == 4) &&
                      !strncmp(aux, ":aux", 4);
    item->length   -= item->is_aux ? 4 : 0;
    return 1;
}

static int tls_item_is(const tls_item_t *item, const char *name)
{
    return (item->length == strlen(name)) &&
           !strncmp(item->name, name, item->length);
}

/* The list without a "^", which *negated then says. NULL: all transports. */
static const char *tls_list(int *negated)
{
    const char *list = ucx_setting("TLS");

    *negated = (list != NULL) && (*list == '^');
    if (list == NULL) {
        return NULL;
    }
    list += *negated;
    return !strcmp(list, "all") ? NULL : list; /* "^all", too */
}

/* Nonzero if @name is also an alias of UCX's, for transports that are not ours:
 * its user on a machine without an EFA means those. */
static int tls_may_mean_other(const char *name)
{
    return !strcmp(name, "ud") && !ucx_provider.device_is_present();
}

/* Nonzero if the list, which is a negated one or not, has @name. */
static int tls_list_has(const char *name, int negated)
{
    int is_negated;
    const char *list = tls_list(&is_negated);
    tls_item_t item;

    while ((list != NULL) && (is_negated == negated) &&
           tls_next(&list, &item)) {
        if (tls_item_is(&item, name) &&
            (negated || item.is_strict || !tls_may_mean_other(name))) {
            return 1;
        }
    }
    return 0;
}

int ucx_user_asked_for(const char *name)
{
    return tls_list_has(name, 0);
}

int tls_excludes(const char *name)
{
    return tls_list_has(name, 1);
}

int ucx_user_left_out(const ucx_host_t *host, const char *name)
{
    int has = 0, negated;
    const char *list = tls_list(&negated);
    tls_item_t item;

    if (list == NULL) {
        return 0;
    }
    while (!has && tls_next(&list, &item)) {
        if (negated && item.is_aux && (host->minor >= AUX_MINOR)) {
            continue;
        }
        has = tls_item_is(&item, name) ||
              (!item.is_strict && (host->minor >= IB_SRD_MINOR) &&
               !strcmp(name, "srd") && tls_item_is(&item, "ib"));
    }
    return has == negated;
}

int tls_asked_for_any(void)
{
    unsigned i;

    for (i = 0; i < ucx_provider.transport_count; ++i) {
        if (ucx_user_asked_for(ucx_provider.transports[i]->name)) {
            return 1;
        }
    }
    return 0;
}

/* The transport of ours that the item names, in letters of any case. */
static const char *tls_item_of_ours(const tls_item_t *item)
{
    const char *name;
    unsigned i;

    for (i = 0; i < ucx_provider.transport_count; ++i) {
        name = ucx_provider.transports[i]->name;
        if ((item->length == strlen(name)) &&
            !strncasecmp(item->name, name, item->length)) {
            return name;
        }
    }
    return NULL;
}

static int tls_item_is_local(const tls_item_t *item)
{
    const char *list = UCX_TLS_LOCAL;
    tls_item_t one;

    while (tls_next(&list, &one)) {
        if ((one.length == item->length) &&
            !strncmp(one.name, item->name, one.length)) {
            return 1;
        }
    }
    return !strncmp(item->name, "cuda", 4) || !strncmp(item->name, "gdr", 3) ||
           !strncmp(item->name, "rocm", 4);
}

int tls_asks_only_for_ours(int or_local)
{
    int count = 0, negated;
    const char *list = tls_list(&negated), *name;
    tls_item_t item;

    while ((list != NULL) && !negated && tls_next(&list, &item)) {
        name = tls_item_of_ours(&item);
        if ((name != NULL) && tls_item_is(&item, name)) {
            ++count;
        } else if (!or_local || !tls_item_is_local(&item)) {
            return 0;
        }
    }
    return count > 0;
}

const char *tls_in_capitals(void)
{
    int negated;
    const char *list = tls_list(&negated), *name;
    tls_item_t item;

    while ((list != NULL) && tls_next(&list, &item)) {
        name = tls_item_of_ours(&item);
        if ((name != NULL) && !tls_item_is(&item, name)) {
            return name;
        }
    }
    return NULL;
}

int tls_may_use_md(const char *md_name)
{
    const char *list = ucx_setting("NET_DEVICES");
    size_t name      = strlen(md_name), length;
    int negated      = (list != NULL) && (*list == '^');

    if ((list == NULL) || !strcmp(list, "all")) {
        return 1;
    }
    for (list += negated; *list != '\0'; list += *list == ',') {
        length = strcspn(list, ",");
        if (!strncmp(list, md_name, name) &&
            ((length == name) ||
             ((length == name + 2) && !strncmp(list + name, ":1", 2)))) {
            return !negated;
        }
        list += length;
    }
    return negated;
}

const char *tls_first_of_ours(const ucx_host_t *host)
{
    unsigned i;

    for (i = 0; i < ucx_provider.carrier_count; ++i) {
        if (!ucx_user_left_out(host, ucx_provider.transports[i]->name)) {
            return ucx_provider.transports[i]->name;
        }
    }
    return NULL;
}

void tls_names_of_ours(const ucx_host_t *host, const char *between, char *text,
                       size_t max)
{
    int some      = (host != NULL) && (tls_first_of_ours(host) != NULL);
    size_t length = 0;
    unsigned i;

    text[0] = '\0';
    for (i = 0; (i < ucx_provider.carrier_count) && (length < max); ++i) {
        const char *name = ucx_provider.transports[i]->name;

        if (!some || !ucx_user_left_out(host, name)) {
            length += snprintf(text + length, max - length, "%s%s",
                               (length > 0) ? between : "", name);
        }
    }
}

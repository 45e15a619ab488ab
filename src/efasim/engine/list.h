/* SPDX-License-Identifier: BSD-3-Clause */
/* A circular doubly linked list; an element is on at most one. */
#ifndef EFASIM_ENGINE_LIST_H
#define EFASIM_ENGINE_LIST_H

#include <stddef.h>

struct sim_list {
    struct sim_list *next;
    struct sim_list *prev;
};

#define list_entry(_link, _type, _member) \
    ((_type*)((char*)(_link) - offsetof(_type, _member)))

static inline void list_init(struct sim_list *list)
{
    list->next = list->prev = list;
}

static inline int list_is_empty(const struct sim_list *list)
{
    return list->next == list;
}

static inline void list_add_tail(struct sim_list *list, struct sim_list *link)
{
    link->prev       = list->prev;
    link->next       = list;
    list->prev->next = link;
    list->prev       = link;
}

/* Put `link` behind `list`: where `list` is an element and `link` the head, the
 * list then begins behind that element. */
static inline void list_add_head(struct sim_list *list, struct sim_list *link)
{
    list_add_tail(list->next, link);
}

/* Removing an element that is on no list (initialised) changes nothing. */
static inline void list_del(struct sim_list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    list_init(link);
}

#endif

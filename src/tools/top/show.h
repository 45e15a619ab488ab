/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOP_SHOW_H_
#define TOP_SHOW_H_

#include "headline.h"

#include <command/json.h>

/* Prints a view as text of at most `lines` lines (0: no limit), under the
 * causes of what waits. */
void show_text(const view_t *view, const headline_t *headline,
                unsigned lines);

/* Writes the whole view as members of the JSON object that is open. */
void show_json(json_t *json, const view_t *view, const headline_t *headline);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOP_SHOW_H_
#define TOP_SHOW_H_

#include "view.h"

#include <command/json.h>

/* Prints a view as text of at most `lines` lines (0: no limit), under its
 * headline (headline.h). */
void show_text(const view_t *view, const char *headline, unsigned lines);

/* Writes the whole view as members of the JSON object that is open. */
void show_json(json_t *json, const view_t *view, const char *headline);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports as JSON, written as they come. All functions but
 * json_open do nothing on a json_t that is not open, so callers need not ask.
 */
#ifndef COMMAND_JSON_H_
#define COMMAND_JSON_H_

#include <stdio.h>

typedef struct json {
    FILE       *out;  /* NULL: nothing is written */
    const char *option, *path; /* --option=path, as the user gave it */
    unsigned    depth;
    unsigned    used; /* bit N: something stands at depth N already */
} json_t;

/* Open @path of --@option; "-": standard output, which gets no other text then;
 * NULL: none. 0; or -1 after a line on standard error. */
int json_open(json_t *json, const char *option, const char *path);

/* The same on a stream, which json_close closes; @path is what it is called.
 * NULL: it could not be opened (errno), which is said. */
int json_open_on(json_t *json, const char *option, FILE *out,
                 const char *path);

/* A report of this program's begins so: its format, and whose it is. */
void json_report(json_t *json);

/* End the outermost object. 0; or -1 after a line: not all could be written. */
int json_close(json_t *json);

/* An object or array, up to its end; @name is NULL for an item of an array. */
void json_begin(json_t *json, const char *name, char bracket);
void json_end(json_t *json, char bracket);
#define json_object(_json, _name) json_begin(_json, _name, '{')
#define json_array(_json, _name)  json_begin(_json, _name, '[')
#define json_end_object(_json)    json_end(_json, '}')
#define json_end_array(_json)     json_end(_json, ']')

/* Values. A @text of NULL and a number that is none are null; characters of
 * @text other than printable ASCII become '?'. */
void json_text(json_t *json, const char *name, const char *text);
void json_count(json_t *json, const char *name, unsigned long count);
void json_number(json_t *json, const char *name, double value);
void json_truth(json_t *json, const char *name, int truth);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include "json.h"
#include "options.h"

#include <files/output.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <config.h>

/* Standard output goes to nowhere; the JSON goes where it went. */
static FILE *json_stdout(void)
{
    int fd    = dup(STDOUT_FILENO);
    FILE *out = (fd < 0) ? NULL : fdopen(fd, "w");

    return ((out != NULL) && (freopen("/dev/null", "w", stdout) != NULL)) ?
           out : NULL;
}

int json_open_on(json_t *json, const char *option, FILE *out, const char *path)
{
    memset(json, 0, sizeof(*json));
    if (out == NULL) {
        options_error("--%s=%s: %s; name a file that can be written, or - "
                      "for standard output", option, path, output_error(errno));
        return -1;
    }
    json->out    = out;
    json->option = option;
    json->path   = path;
    fputc('{', out);
    return 0;
}

int json_open(json_t *json, const char *option, const char *path)
{
    if (path == NULL) {
        memset(json, 0, sizeof(*json));
        return 0;
    }
    return json_open_on(json, option, strcmp(path, "-") ?
                        output_file(path, O_TRUNC) : json_stdout(), path);
}

int json_close(json_t *json)
{
    int err;

    if (json->out == NULL) {
        return 0;
    }
    fputs("\n}\n", json->out);
    errno     = 0;
    err       = ferror(json->out);
    err      |= fclose(json->out);
    json->out = NULL;
    if (err != 0) {
        options_error("--%s=%s: not all could be written%s%s; make room, or "
                      "name another file", json->option, json->path,
                      errno ? ": " : "", errno ? strerror(errno) : "");
    }
    return err ? -1 : 0;
}

static void json_quoted(json_t *json, const char *text)
{
    fputc('"', json->out);
    for (; *text != '\0'; ++text) {
        if ((*text == '"') || (*text == '\\')) {
            fputc('\\', json->out);
        }
        fputc(((*text < ' ') || (*text > '~')) ? '?' : *text, json->out);
    }
    fputc('"', json->out);
}

/* Comma, indent and name before a value. 0: nothing is to be written. */
static int json_before(json_t *json, const char *name)
{
    unsigned bit = 1u << json->depth;

    if (json->out == NULL) {
        return 0;
    }
    fprintf(json->out, "%s\n%*s", (json->used & bit) ? "," : "",
            2 * ((int)json->depth + 1), "");
    json->used |= bit;
    if (name != NULL) {
        json_quoted(json, name);
        fputs(": ", json->out);
    }
    return 1;
}

void json_begin(json_t *json, const char *name, char bracket)
{
    if (json_before(json, name)) {
        fputc(bracket, json->out);
        json->used &= ~(1u << ++json->depth);
    }
}

void json_end(json_t *json, char bracket)
{
    if (json->out != NULL) {
        --json->depth;
        fprintf(json->out, "\n%*s%c", 2 * ((int)json->depth + 1), "", bracket);
    }
}

void json_text(json_t *json, const char *name, const char *text)
{
    if (json_before(json, name)) {
        if (text == NULL) {
            fputs("null", json->out);
        } else {
            json_quoted(json, text);
        }
    }
}

void json_count(json_t *json, const char *name, unsigned long count)
{
    if (json_before(json, name)) {
        fprintf(json->out, "%lu", count);
    }
}

void json_report(json_t *json)
{
    json_count(json, "format", 1);
    json_text(json, options_program(), PACKAGE_VERSION);
}

void json_number(json_t *json, const char *name, double value)
{
    if (json_before(json, name)) {
        if (isfinite(value)) {
            fprintf(json->out, "%.3f", value);
        } else {
            fputs("null", json->out);
        }
    }
}

void json_truth(json_t *json, const char *name, int truth)
{
    if (json_before(json, name)) {
        fputs(truth ? "true" : "false", json->out);
    }
}

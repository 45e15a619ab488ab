/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the self-test found, as a page of text and as JSON. Both go to people
 * who are not to learn whose host it was: no names, addresses or process
 * numbers.
 */
#include "selftest.h"

#include <config.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static void machine_read(const char *path, char *text, size_t size)
{
    if (efa_file_read(path, text, size) != 0) {
        text[0] = '\0';
    }
    text[strcspn(text, "\n")] = '\0';
    for (; *text != '\0'; ++text) { /* it goes into people's mail */
        *text = ((*text < ' ') || (*text > '~')) ? '?' : *text;
    }
}

/* EC2 names the kind of a machine there; what others have may name one. */
void st_report_machine(st_machine_t *machine)
{
    char vendor[64];
    struct utsname name;

    memset(machine, 0, sizeof(*machine));
    machine_read("/sys/devices/virtual/dmi/id/sys_vendor", vendor,
                 sizeof(vendor));
    if (strcmp(vendor, "Amazon EC2") == 0) {
        machine_read("/sys/devices/virtual/dmi/id/product_name", machine->type,
                     sizeof(machine->type));
    }
    machine_read("/sys/module/efa/version", machine->driver,
                 sizeof(machine->driver));
    if (uname(&name) == 0) {
        snprintf(machine->kernel, sizeof(machine->kernel), "%.40s %.30s",
                 name.release, name.machine);
    }
}

static const char *report_word(st_verdict_t verdict)
{
    return (verdict == ST_SAME) ? "same" :
           (verdict == ST_DIFFERS) ? "DIFFERS" : "not asked";
}

static unsigned report_count(const st_t *st, st_verdict_t verdict)
{
    unsigned i, count = 0;

    for (i = 0; i < st->result_count; ++i) {
        count += (st->results[i].verdict == verdict);
    }
    return count;
}

/* Whether an earlier result has the same probe and verdict. */
static int report_again(const st_t *st, unsigned at)
{
    unsigned i;

    for (i = 0; i < at; ++i) {
        if ((st->results[i].probe == st->results[at].probe) &&
            (st->results[i].verdict == st->results[at].verdict)) {
            return 1;
        }
    }
    return 0;
}

static void report_device(const st_t *st)
{
    const efa_device_t *device = st->device;
    st_machine_t machine;

    st_report_machine(&machine);
    printf("srd_info %s --selftest\n", PACKAGE_VERSION);
    printf("machine      %s, kernel %s, EFA driver %s\n",
           machine.type[0] ? machine.type : "not told", machine.kernel,
           machine.driver[0] ? machine.driver : "not told");
    printf("device       part %#x, capabilities %#x, port %.0f Gbit/s\n",
           device->part, device->caps, device->bandwidth * 8e-9);
    printf("it reports   message %zu B, RDMA %zu B, inline %u B (%u wide), "
           "%u sends, %u receives,\n             %u entries, %u handles, %u + "
           "%u pieces\n", device->max_msg, device->max_rdma,
           device->inline_size, device->inline_size_wide, device->max_sq_wr,
           device->max_rq_wr, device->max_cqe, device->max_ah,
           device->max_sq_sge, device->max_rq_sge);
}

static void report_results(const st_t *st)
{
    const st_result_t *result;
    unsigned i;

    for (i = 0; i < st->result_count; ++i) {
        result = &st->results[i];
        printf("\n%-9s %s, between %s\n", report_word(result->verdict),
               result->probe->name, result->between);
        printf("  we assume  %s\n", result->probe->assumed);
        printf("  it does    %s\n", result->seen);
        printf("  for        %s\n", result->probe->depends);
        if (result->verdict == ST_DIFFERS) {
            printf("  adapt      %s\n", result->probe->adapt);
        }
    }
}

static void report_points(const st_t *st, const char *ucx)
{
    const st_point_t *point;
    unsigned i;

    printf("\n%-12s %-30s %3s %9s %12s %s\n", "between", "what", "dev", "bytes",
           "value", "unit");
    for (i = 0; i < st->point_count; ++i) {
        point = &st->points[i];
        printf("%-12s %-30s %3u %9zu %12.2f %s", point->between, point->what,
               point->devices, point->bytes, point->value, point->unit);
        if (point->worst > 0) {
            printf(" (99 %%: %.2f)", point->worst);
        }
        printf("\n");
    }
    if (ucx[0] != '\0') {
        printf("UCX over srd was not measured: %s\n", ucx);
    }
}

int st_report_text(const st_t *st, const char *ucx)
{
    unsigned i, count = 0;

    report_device(st);
    report_results(st);
    if (!st->facts) {
        report_points(st, ucx);
    }
    printf("\n%u same, %u not asked, %u differ", report_count(st, ST_SAME),
           report_count(st, ST_NOT_ASKED), report_count(st, ST_DIFFERS));
    for (i = 0; i < st->result_count; ++i) {
        if ((st->results[i].verdict == ST_DIFFERS) && !report_again(st, i)) {
            printf("%s%s", (count++ == 0) ? ": " : ", ",
                   st->results[i].probe->name);
        }
    }
    printf("\n");
    if ((fflush(stdout) != 0) || ferror(stdout)) {
        fprintf(stderr, "srd_info: the report could not all be written: %s\n",
                strerror(errno));
        return -1;
    }
    return 0;
}

/* A string of JSON. Our texts are ASCII; what files of the machine hold, or a
 * peer says, may be anything. */
static void json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; ++text) {
        if ((*text == '"') || (*text == '\\')) {
            fputc('\\', out);
        }
        fputc(((*text < ' ') || (*text > '~')) ? '?' : *text, out);
    }
    fputc('"', out);
}

static void json_field(FILE *out, const char *name, const char *text,
                       const char *end)
{
    fprintf(out, "\"%s\": ", name);
    json_text(out, text);
    fputs(end, out);
}

/* JSON has no word for what is no number. */
static void json_number(FILE *out, const char *name, double value,
                        const char *end)
{
    if (isfinite(value)) {
        fprintf(out, "\"%s\": %.3f%s", name, value, end);
    } else {
        fprintf(out, "\"%s\": null%s", name, end);
    }
}

static void json_device(FILE *out, const st_t *st)
{
    const efa_device_t *device = st->device;
    st_machine_t machine;

    st_report_machine(&machine);
    fprintf(out, "  \"machine\": {");
    json_field(out, "type", machine.type, ", ");
    json_field(out, "kernel", machine.kernel, ", ");
    json_field(out, "efa_driver", machine.driver, "},\n");
    fprintf(out, "  \"device\": {\"part\": %u, \"capabilities\": %u, "
            "\"port_gbit\": %.0f, \"message\": %zu, \"rdma\": %zu, "
            "\"inline\": %u, \"inline_wide\": %u, \"sends\": %u, "
            "\"receives\": %u, \"entries\": %u, \"handles\": %u, "
            "\"send_pieces\": %u, \"receive_pieces\": %u},\n",
            device->part, device->caps, device->bandwidth * 8e-9,
            device->max_msg, device->max_rdma, device->inline_size,
            device->inline_size_wide, device->max_sq_wr, device->max_rq_wr,
            device->max_cqe, device->max_ah, device->max_sq_sge,
            device->max_rq_sge);
}

static void json_results(FILE *out, const st_t *st)
{
    static const char *const words[] = {"not asked", "same", "differs"};
    const st_result_t *result;
    unsigned i;

    fprintf(out, "  \"facts\": [\n");
    for (i = 0; i < st->result_count; ++i) {
        result = &st->results[i];
        fprintf(out, "    {");
        json_field(out, "name", result->probe->name, ", ");
        json_field(out, "between", result->between, ", ");
        json_field(out, "verdict", words[result->verdict], ",\n     ");
        json_field(out, "assumed", result->probe->assumed, ",\n     ");
        json_field(out, "seen", result->seen, ",\n     ");
        json_field(out, "depends", result->probe->depends, ",\n     ");
        json_field(out, "adapt", result->probe->adapt, "}");
        fprintf(out, (i + 1 < st->result_count) ? ",\n" : "\n");
    }
    fprintf(out, "  ],\n");
}

static void json_points(FILE *out, const st_t *st)
{
    const st_point_t *point;
    unsigned i;

    fprintf(out, "  \"measured\": [\n");
    for (i = 0; i < st->point_count; ++i) {
        point = &st->points[i];
        fprintf(out, "    {");
        json_field(out, "between", point->between, ", ");
        json_field(out, "what", point->what, ", ");
        json_field(out, "unit", point->unit, ", ");
        fprintf(out, "\"devices\": %u, \"bytes\": %zu, ", point->devices,
                point->bytes);
        json_number(out, "value", point->value, ", ");
        json_number(out, "p99", point->worst, "}");
        fprintf(out, (i + 1 < st->point_count) ? ",\n" : "\n");
    }
    fprintf(out, "  ],\n");
}

int st_report_json(const st_t *st, const char *ucx, const char *path)
{
    FILE *out = strcmp(path, "-") ? fopen(path, "we") : stdout;
    int err;

    if (out == NULL) {
        fprintf(stderr, "srd_info: --json=%s: %s; name a file that can be "
                "written, or - for standard output\n", path, strerror(errno));
        return -1;
    }
    fprintf(out, "{\n  \"format\": 1,\n  ");
    json_field(out, "srd_info", PACKAGE_VERSION, ",\n");
    json_device(out, st);
    json_results(out, st);
    json_points(out, st);
    fprintf(out, "  ");
    json_field(out, "ucx_not_measured", ucx, ",\n");
    fprintf(out, "  \"differ\": %u\n}\n", report_count(st, ST_DIFFERS));
    err = ferror(out);
    if (out != stdout) {
        err |= fclose(out);
    }
    if (err != 0) {
        fprintf(stderr, "srd_info: --json=%s: not all could be written\n",
                path);
    }
    return err ? -1 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results of the self-test, as a page of text and as JSON. Both go to people
 * who are not to learn whose host it was: no names, addresses or process
 * numbers.
 */
#include "selftest.h"

#include <config.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

void st_result_set(st_result_t *result, st_verdict_t verdict,
                   const char *format, ...)
{
    va_list ap;

    result->verdict = verdict;
    va_start(ap, format);
    vsnprintf(result->seen, sizeof(result->seen), format, ap);
    va_end(ap);
}

void st_result_point(st_t *st, const st_point_t *point)
{
    if (st->point_count < ST_POINTS_MAX) {
        st->points[st->point_count++] = *point;
    }
}

const char *st_text_status(int status, char text[32])
{
    snprintf(text, 32, (status < 0) ? "no completion" :
                       (status == 0) ? "success" : "status %d", status);
    return text;
}

const char *st_text_time(double seconds, char text[32])
{
    if (seconds < 1e-3) {
        snprintf(text, 32, "%.1f us", seconds * 1e6);
    } else if (seconds < 1) {
        snprintf(text, 32, "%.1f ms", seconds * 1e3);
    } else {
        snprintf(text, 32, "%.1f s", seconds);
    }
    return text;
}

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

unsigned st_report_count(const st_t *st, st_verdict_t verdict)
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

static void report_result(const st_result_t *result)
{
    static const char *const words[] = {"not asked", "same", "DIFFERS"};

    printf("\n%-9s %s, between %s\n", words[result->verdict],
           result->probe->name, result->between);
    printf("  we assume  %s\n", result->probe->assumed);
    printf("  it does    %s\n", result->seen);
    printf("  for        %s\n", result->probe->depends);
    if (result->verdict == ST_DIFFERS) {
        printf("  adapt      %s\n", result->probe->adapt);
    }
}

static void report_results(const st_t *st, st_verdict_t verdict)
{
    unsigned i;

    for (i = 0; i < st->result_count; ++i) {
        if (st->results[i].verdict == verdict) {
            report_result(&st->results[i]);
        }
    }
}

/* One line: how many, and the names of those that differ. */
static void report_verdict(const st_t *st)
{
    unsigned i, count = 0;

    printf("\n%u same, %u not asked, %u differ", st_report_count(st, ST_SAME),
           st_report_count(st, ST_NOT_ASKED), st_report_count(st, ST_DIFFERS));
    for (i = 0; i < st->result_count; ++i) {
        if ((st->results[i].verdict == ST_DIFFERS) && !report_again(st, i)) {
            printf("%s%s", (count++ == 0) ? ": " : ", ",
                   st->results[i].probe->name);
        }
    }
    printf("\n");
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

void st_report_text(const st_t *st, const char *ucx, int all)
{
    report_device(st);
    report_verdict(st);
    report_results(st, ST_DIFFERS);
    report_results(st, ST_NOT_ASKED);
    if (all) {
        report_results(st, ST_SAME);
        if (!st->facts) {
            report_points(st, ucx);
        }
    } else {
        printf("\n--all also shows what is the same%s\n",
               st->facts ? "" : ", and the measurements");
    }
}

static void report_json_device(const st_t *st, json_t *json)
{
    const efa_device_t *device = st->device;
    st_machine_t machine;

    st_report_machine(&machine);
    json_object(json, "machine");
    json_text(json, "type", machine.type);
    json_text(json, "kernel", machine.kernel);
    json_text(json, "efa_driver", machine.driver);
    json_end_object(json);
    json_object(json, "device");
    json_count(json, "part", device->part);
    json_count(json, "capabilities", device->caps);
    json_number(json, "port_gbit", device->bandwidth * 8e-9);
    json_count(json, "message", device->max_msg);
    json_count(json, "rdma", device->max_rdma);
    json_count(json, "inline", device->inline_size);
    json_count(json, "inline_wide", device->inline_size_wide);
    json_count(json, "sends", device->max_sq_wr);
    json_count(json, "receives", device->max_rq_wr);
    json_count(json, "entries", device->max_cqe);
    json_count(json, "handles", device->max_ah);
    json_count(json, "send_pieces", device->max_sq_sge);
    json_count(json, "receive_pieces", device->max_rq_sge);
    json_end_object(json);
}

static void report_json_results(const st_t *st, json_t *json)
{
    static const char *const words[] = {"not asked", "same", "differs"};
    const st_result_t *result;
    unsigned i;

    json_array(json, "facts");
    for (i = 0; i < st->result_count; ++i) {
        result = &st->results[i];
        json_object(json, NULL);
        json_text(json, "name", result->probe->name);
        json_text(json, "between", result->between);
        json_text(json, "verdict", words[result->verdict]);
        json_text(json, "assumed", result->probe->assumed);
        json_text(json, "seen", result->seen);
        json_text(json, "depends", result->probe->depends);
        json_text(json, "adapt", result->probe->adapt);
        json_end_object(json);
    }
    json_end_array(json);
}

static void report_json_points(const st_t *st, json_t *json)
{
    const st_point_t *point;
    unsigned i;

    json_array(json, "measured");
    for (i = 0; i < st->point_count; ++i) {
        point = &st->points[i];
        json_object(json, NULL);
        json_text(json, "between", point->between);
        json_text(json, "what", point->what);
        json_text(json, "unit", point->unit);
        json_count(json, "devices", point->devices);
        json_count(json, "bytes", point->bytes);
        json_number(json, "value", point->value);
        json_number(json, "p99", point->worst);
        json_end_object(json);
    }
    json_end_array(json);
}

void st_report_json(const st_t *st, const char *ucx, json_t *json)
{
    json_count(json, "differ", st_report_count(st, ST_DIFFERS));
    json_count(json, "same", st_report_count(st, ST_SAME));
    json_count(json, "not_asked", st_report_count(st, ST_NOT_ASKED));
    report_json_device(st, json);
    report_json_results(st, json);
    report_json_points(st, json);
    json_text(json, "ucx_not_measured", ucx);
}

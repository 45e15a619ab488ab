/* SPDX-License-Identifier: BSD-3-Clause */
#include "soak.h"
#include "watchdog.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double   report_last;  /* when something completed */
static double   report_delay; /* of the CPU, then */
static uint64_t report_count; /* watchdog.completed, then */
static int      report_told;  /* of the wait that goes on */

double soak_report_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

void soak_report(const char *fmt, ...)
{
    va_list ap;

    printf("%.3f %d ", soak_report_now(), (int)getpid());
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
}

/* Seconds that this process could have run and had no CPU. */
static double report_cpu_delay(void)
{
    FILE *file = fopen("/proc/self/schedstat", "r");
    unsigned long long ran, waited = 0;

    if (file != NULL) {
        if (fscanf(file, "%llu %llu", &ran, &waited) != 2) {
            waited = 0;
        }
        fclose(file);
    }
    return waited * 1e-9;
}

static void report_slots(const char *name, const soak_slot_t *slots)
{
    unsigned i;

    for (i = 0; i < SOAK_SLOTS; ++i) {
        if (slots[i].used) {
            printf("  %s %u: %zu bytes at %p, done %d\n", name, i,
                   slots[i].size, (void*)(slots[i].room + slots[i].at),
                   slots[i].op.done);
        }
    }
}

/* All that is known here of who waits for whom. */
static void report_record(const soak_t *s)
{
    soak_report("record of a wait: in %s; session %u, of %u messages %u sent, "
                "%u received; the peer said %d", watchdog.place, s->session,
                s->messages, s->tx_done, s->rx_done, s->word);
    report_slots("send", s->tx);
    report_slots("receive", s->rx);
}

void soak_report_moved(void)
{
    double now = soak_report_now();

    if (report_last != 0 && now - report_last > SOAK_WAIT) {
        soak_report("wait %.3f s, of them %.3f without a CPU, in %s",
                    now - report_last, report_cpu_delay() - report_delay,
                    watchdog.place);
    }
    report_last  = now;
    report_delay = report_cpu_delay();
    report_count = watchdog.completed;
    report_told  = 0;
}

void soak_report_progress(soak_t *s)
{
    node_progress(&s->node);
    if (report_count != watchdog.completed) {
        watchdog_kick("session %u", s->session);
        soak_report_moved();
    } else if (!report_told && soak_report_now() - report_last > SOAK_WAIT) {
        report_told = 1;
        report_record(s);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srd_replay: runs what UCX_EFA_RECORD recorded again, on the same objects of
 * the protocol core, and compares every answer (docs/RECORD.md).
 */
#include "chrome.h"
#include "ends.h"
#include "run.h"
#include "text.h"
#include "watch.h"

#include <command/json.h>
#include <command/options.h>
#include <flow/assert.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void flow_assert_failed(const char *expression, const char *file, int line)
{
    (void)file;
    (void)line;
    run_assertion(expression);
}

enum { REPLAY_SAME, REPLAY_DIFFERS, REPLAY_FAILED }; /* exit statuses */

#define REPLAY_CPU_MIN 60 /* s, and for each MB ... */
#define REPLAY_CPU_MB  2

typedef struct replay_options {
    const char *path, *trace, *json;
    uint64_t    until, flow, qpn;
    int         text, why, lost;
} replay_options_t;

typedef struct replay {
    const replay_options_t *options;
    run_t                   run;
    watch_t                 watch;
    chrome_t                chrome;
    FILE                   *ends;   /* NULL: without --lost */
    uint32_t                number; /* of the recording */
    json_t                  json;   /* open with --json */
} replay_t;

#define AT(_field) offsetof(replay_options_t, _field)

static const option_row_t replay_rows[] = {
    {.name = "until", .arg = "CALL", .at = AT(until), .min = 1,
     .max = UINT64_MAX, .help = "Stop after this call (default: the last)"},
    {.name = "text", .at = AT(text), .help = "Print each call as a line"},
    {.name = "why", .at = AT(why),
     .help = "At the end, for each sending flow that waits: the cause, since "
             "when, and what its peer sent last; for receiving flows, what "
             "their sender lacks"},
    {.name = "lost", .at = AT(lost),
     .help = "At the end, for each flow between two of the recordings: the "
             "packets and limits that one end sent and the other did not get"},
    {.name = "flow", .arg = "N", .at = AT(flow), .min = 1,
     .max = FLOW_INDEX_MAX - 1,
     .help = "--text and --why of sending flow N only (default: all)"},
    {.name = "peer", .arg = "QPN", .at = AT(qpn), .min = 1,
     .max = FLOW_QPN_MAX,
     .help = "--text and --why of flows to this queue pair only (default: "
             "all)"},
    {.name = "trace", .arg = "FILE", .at = AT(trace),
     .help = "Write FILE in Chrome's trace format, for Perfetto (one "
             "recording)"},
    {.name = "json", .arg = "FILE", .at = AT(json),
     .help = "Write the results, and those of --why, to FILE as JSON, too; -: "
             "JSON alone, to standard output"},
};

static const options_t replay_command = {
    .program = "srd_replay",
    .usage   = "[OPTION]... FILE...",
    .about   = "Runs recordings (*.srdrec, made with "
               "UCX_EFA_RECORD=DIR[:SIZE]) again on the\nprotocol core, and "
               "compares every answer. Needs neither UCX nor a device.\n",
    .end     = "Exit status: 0 all the same, 1 a call differs, 2 the file "
               "cannot be replayed.\n",
    .rows    = replay_rows,
    .count   = sizeof(replay_rows) / sizeof(replay_rows[0]),
};

/* Nonzero after a line: what it would write to is a recording. */
static int replay_replaces(const char *option, const char *path)
{
    if ((path == NULL) || !file_is_recording(path)) {
        return 0;
    }
    options_error("--%s=%s: this is a recording, which it would replace: name "
                  "another file", option, path);
    return 1;
}

/* The index of the first recording, of which there are some; -1 after a line.
 */
static int replay_parse(replay_options_t *options, int argc, char **argv)
{
    int first = options_parse(&replay_command, options, argc, argv);

    if (first == argc) {
        options_error("no recording is given: name one (*.srdrec, in the "
                      "folder of UCX_EFA_RECORD); --help lists the options");
        return -1;
    }
    if ((options->trace != NULL) && (first + 1 != argc)) {
        options_error("--trace=%s: of one recording: name the others in runs "
                      "of their own", options->trace);
        return -1;
    }
    if (replay_replaces("trace", options->trace) ||
        replay_replaces("json", options->json)) {
        return -1;
    }
    if (options->lost && (first + 1 == argc)) {
        options_error("--lost compares recordings of two ends: name those of "
                      "the other hosts, too");
        return -1;
    }
    return first;
}

static void replay_seen(void *arg, const run_t *run,
                        const record_call_t *call, const uint8_t *packet)
{
    replay_t               *replay  = arg;
    const replay_options_t *options = replay->options;

    if (call->time != 0) {
        replay->watch.last = call->time;
    }
    chrome_call(&replay->chrome, run, &replay->watch, call, packet);
    watch_call(&replay->watch, run, call, packet);
    if (options->text &&
        ((options->flow == 0) || (call->tx == options->flow)) &&
        ((options->qpn == 0) || (watch_qpn(run, call) == options->qpn))) {
        printf("%llu ", (unsigned long long)run->call);
        text_call(stdout, call);
        putchar('\n');
    }
}

static void replay_print_head(json_t *json, const replay_file_t *file)
{
    record_names_t names = file->head->names;

    file_text(names.program, names.program, sizeof(names.program));
    file_text(names.rank, names.rank, sizeof(names.rank));
    file_text(names.host, names.host, sizeof(names.host));
    file_text(names.device, names.device, sizeof(names.device));
    file_text(names.transport, names.transport, sizeof(names.transport));
    file_text(names.release, names.release, sizeof(names.release));
    file_text(names.machine, names.machine, sizeof(names.machine));
    json_text(json, "program", names.program);
    json_text(json, "rank", names.rank);
    json_text(json, "host", names.host);
    json_count(json, "process", names.pid);
    json_text(json, "device", names.device);
    json_count(json, "qpn", names.qpn);
    json_text(json, "transport", names.transport);
    json_truth(json, "closed", file->segment[file->count - 1]->closed);
    printf("%s%s%s of %s, process %u, %s QPN %u (%s), release %s on %s, %s\n",
           names.program, (names.rank[0] != '\0') ? " rank " : "",
           names.rank, names.host, names.pid, names.device, names.qpn,
           names.transport, names.release, names.machine,
           file->segment[file->count - 1]->closed ? "closed" :
                                                    "not closed");
}

/* Can the recording have call number `until`? */
static int replay_has_begun(const replay_options_t *options,
                            const replay_file_t *file)
{
    uint64_t first = file->segment[0]->first_call;

    if ((options->until != 0) && (options->until < first)) {
        options_error("--until %llu: %s begins with call %llu: name that or "
                      "a later one", (unsigned long long)options->until,
                      options->path, (unsigned long long)first);
        return 0;
    }
    return 1;
}

/* The last words of a replay that went well. Its exit status. */
static int replay_print_end(replay_t *replay, const replay_file_t *file)
{
    const replay_options_t *options = replay->options;
    unsigned long long      last    = replay->run.call;

    json_count(&replay->json, "calls", last - file->segment[0]->first_call + 1);
    printf("%llu calls, the same\n", last - file->segment[0]->first_call + 1);
    if (options->until > last) {
        printf("its last call is %llu, before --until %llu\n", last,
               (unsigned long long)options->until);
    }
    return REPLAY_SAME;
}

static int replay_ends_failed(void)
{
    options_error("--lost: no temporary file: %s; make room in /tmp",
                  strerror(errno));
    return REPLAY_FAILED;
}

/* The whole replay: the exit status. */
static int replay_run(replay_t *replay, const replay_file_t *file)
{
    const replay_options_t *options = replay->options;
    run_end_t               end;

    replay->run.file  = file;
    replay->run.until = options->until;
    replay->run.seen  = replay_seen;
    replay->run.arg   = replay;
    replay->watch.last = run_first_time(file);
    if (chrome_open(&replay->chrome, options->trace, &file->head->names) != 0) {
        return REPLAY_FAILED;
    }
    replay_print_head(&replay->json, file);
    end = run_file(&replay->run);
    if ((end == RUN_DAMAGED) || (end == RUN_MEMORY)) {
        fflush(stdout);
        options_error("%s: %s", options->path, replay->run.why);
    } else if (options->why) {
        json_array(&replay->json, "waiting");
        watch_why(&replay->watch, &replay->run, &replay->json,
                  (uint32_t)options->flow, (uint32_t)options->qpn);
        json_end_array(&replay->json);
    }
    if ((replay->ends != NULL) && (end == RUN_SAME) &&
        (ends_write(replay->ends, &replay->run, replay->number) != 0)) {
        return replay_ends_failed();
    }
    if (chrome_close(&replay->chrome, &replay->watch, options->trace) != 0) {
        return REPLAY_FAILED;
    }
    if (end == RUN_DIFFERS) {
        puts(replay->run.why);
        return REPLAY_DIFFERS;
    }
    if (end != RUN_SAME) {
        return REPLAY_FAILED;
    }
    return replay_print_end(replay, file);
}

/* A core that was made of bytes by hand may do what it likes, but neither to
 * the user's terminal nor for ever. */
static void replay_limit(size_t held)
{
    rlim_t        seconds = REPLAY_CPU_MIN + REPLAY_CPU_MB * (held >> 20);
    struct rlimit cpu     = {seconds, seconds}, core = {0, 0};

    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
}

/* A signal ended the replay. Not all are the recording's fault. */
static int replay_ended(const char *path, int number)
{
    switch (number) {
    case SIGPIPE: /* nobody reads on, nor would what follows be read */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
        break;
    case SIGHUP:
    case SIGINT:
    case SIGKILL:
    case SIGTERM:
        options_error("%s: ended by a signal (%s)", path, strsignal(number));
        break;
    default:
        options_error("%s: damaged, or made by hand: the protocol core ends "
                      "by it (%s)", path, strsignal(number));
    }
    return REPLAY_FAILED;
}

static int replay_child(replay_t *replay, const replay_file_t *file)
{
    pid_t child;
    int   status;

    fflush(stdout);
    if (replay->json.out != NULL) {
        fflush(replay->json.out); /* the child goes on there */
    }
    child = fork();
    if (child < 0) {
        perror("srd_replay: fork");
        return REPLAY_FAILED;
    }
    if (child == 0) {
        replay_limit(file->held);
        exit(replay_run(replay, file));
    }
    while ((waitpid(child, &status, 0) < 0) && (errno == EINTR)) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) :
                               replay_ended(replay->options->path,
                                            WTERMSIG(status));
}

static int replay_path(replay_t *replay)
{
    replay_file_t file;
    int           status;

    if (file_read(&file, replay->options->path) != 0) {
        return REPLAY_FAILED;
    }
    status = replay_has_begun(replay->options, &file) ?
                     replay_child(replay, &file) : REPLAY_FAILED;
    file_free(&file);
    return status;
}

/* Each of them. The names are for a terminal then. */
static int replay_paths(replay_t *replay, replay_options_t *options,
                        char **paths, uint32_t count)
{
    static const char *const words[] = {"same", "differs", "not replayed"};
    int      status = REPLAY_SAME, one;
    char    *path;
    uint32_t i;

    for (i = 0; i < count; ++i) {
        path = strdup(paths[i]);
        if (path == NULL) {
            perror("srd_replay");
            return REPLAY_FAILED;
        }
        options_clean(paths[i]);
        options->path  = path;
        replay->number = i;
        if (count > 1) {
            printf("%s%s:\n", (i > 0) ? "\n" : "", paths[i]);
        }
        json_object(&replay->json, NULL);
        json_text(&replay->json, "file", options->path);
        one = replay_path(replay);
        json_text(&replay->json, "result", words[one]);
        json_end_object(&replay->json);
        status = (one > status) ? one : status;
        free(path);
    }
    return status;
}

int main(int argc, char **argv)
{
    static replay_t  replay;
    replay_options_t options = {0};
    int              first   = replay_parse(&options, argc, argv);
    uint32_t         count   = (uint32_t)(argc - first);
    int              status;

    if (first < 0) {
        return REPLAY_FAILED;
    }
    replay.options = &options;
    replay.ends    = options.lost ? tmpfile() : NULL;
    if (options.lost && (replay.ends == NULL)) {
        return replay_ends_failed();
    }
    if (json_open(&replay.json, "json", options.json) != 0) {
        return REPLAY_FAILED;
    }
    json_report(&replay.json);
    json_array(&replay.json, "recordings");
    status = replay_paths(&replay, &options, argv + first, count);
    json_end_array(&replay.json);
    if (json_close(&replay.json) != 0) {
        status = REPLAY_FAILED;
    }
    if (options.lost) {
        fputs("\n", stdout);
        if (ends_print(replay.ends, argv + first, count) != 0) {
            return replay_ends_failed();
        }
    }
    return status;
}

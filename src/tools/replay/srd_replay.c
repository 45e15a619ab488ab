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

#include <config.h>
#include <flow/assert.h>

#include <errno.h>
#include <getopt.h>
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
    const char *path, *trace;
    uint64_t    until;
    uint32_t    flow, qpn;
    int         text, why, lost;
} replay_options_t;

typedef struct replay {
    const replay_options_t *options;
    run_t                   run;
    watch_t                 watch;
    chrome_t                chrome;
    FILE                   *ends;   /* NULL: without --lost */
    uint32_t                number; /* of the recording */
} replay_t;

static void replay_usage(FILE *out)
{
    fputs("Usage: srd_replay [OPTION...] FILE...\n"
          "Runs recordings (*.srdrec, made with UCX_EFA_RECORD=DIR[:SIZE]) "
          "again on the\n"
          "protocol core, and compares every answer. Needs neither UCX nor a "
          "device.\n"
          "  --until CALL  stop after call number CALL (default: the last)\n"
          "  --text        print each call as a line\n"
          "  --why         at the end, for each sending flow that waits: the "
          "cause, since\n"
          "                when, and what its peer sent last; for receiving "
          "flows, what\n"
          "                their sender lacks\n"
          "  --lost        at the end, for each flow between two of the "
          "recordings: the\n"
          "                packets and limits that one end sent and the other "
          "did not get\n"
          "  --flow N      --text and --why of sending flow N only (default: "
          "all)\n"
          "  --peer QPN    --text and --why of flows to this queue pair only "
          "(default: all)\n"
          "  --trace FILE  write FILE in Chrome's trace format, for Perfetto "
          "(one recording)\n"
          "  --version, --help\n"
          "Exit status: 0 all the same, 1 a call differs, 2 the file cannot be "
          "replayed.\n",
          out);
}

static int replay_number(const char *option, const char *text,
                         uint64_t most, uint64_t *number)
{
    char *end;

    *number = strtoull(text, &end, 0);
    if ((end == text) || (*end != '\0') || (*text == '-') || (*number == 0) ||
        (*number > most)) {
        fprintf(stderr, "srd_replay: %s %s: allowed is a number from 1 to "
                "%llu\n", option, text, (unsigned long long)most);
        return 0;
    }
    return 1;
}

/* -1: go on; else the exit status. */
static int replay_option(replay_options_t *options, int option)
{
    uint64_t number = 0;

    switch (option) {
    case 'u':
        return replay_number("--until", optarg, UINT64_MAX, &options->until) ?
                       -1 :
                       REPLAY_FAILED;
    case 'f':
        if (!replay_number("--flow", optarg, FLOW_INDEX_MAX - 1, &number)) {
            return REPLAY_FAILED;
        }
        options->flow = (uint32_t)number;
        return -1;
    case 'p':
        if (!replay_number("--peer", optarg, FLOW_QPN_MAX, &number)) {
            return REPLAY_FAILED;
        }
        options->qpn = (uint32_t)number;
        return -1;
    case 't':
        options->text = 1;
        return -1;
    case 'w':
        options->why = 1;
        return -1;
    case 'l':
        options->lost = 1;
        return -1;
    case 'j':
        options->trace = optarg;
        return -1;
    case 'V':
        puts("srd_replay " PACKAGE_VERSION);
        return REPLAY_SAME;
    case 'h':
        replay_usage(stdout);
        return REPLAY_SAME;
    default:
        replay_usage(stderr);
        return REPLAY_FAILED;
    }
}

static int replay_parse(replay_options_t *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"until", required_argument, NULL, 'u'},
        {"flow", required_argument, NULL, 'f'},
        {"peer", required_argument, NULL, 'p'},
        {"text", no_argument, NULL, 't'},
        {"why", no_argument, NULL, 'w'},
        {"lost", no_argument, NULL, 'l'},
        {"trace", required_argument, NULL, 'j'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}
    };
    int option, status;

    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        status = replay_option(options, option);
        if (status >= 0) {
            return status;
        }
    }
    if (optind == argc) {
        fprintf(stderr, "srd_replay: no recording is given: name one "
                "(*.srdrec, in the folder of UCX_EFA_RECORD); --help lists "
                "the options\n");
        return REPLAY_FAILED;
    }
    if ((options->trace != NULL) && (optind + 1 != argc)) {
        fprintf(stderr, "srd_replay: --trace=%s: of one recording: name the "
                "others in runs of their own\n", options->trace);
        return REPLAY_FAILED;
    }
    if ((options->trace != NULL) && file_is_recording(options->trace)) {
        fprintf(stderr, "srd_replay: --trace=%s: this is a recording, which a "
                "trace would replace: name another file\n", options->trace);
        return REPLAY_FAILED;
    }
    if (options->lost && (optind + 1 == argc)) {
        fprintf(stderr, "srd_replay: --lost compares recordings of two ends: "
                "name those of the other hosts, too\n");
        return REPLAY_FAILED;
    }
    return -1;
}

static void replay_seen(void *arg, const run_t *run,
                        const record_call_t *call, const uint8_t *packet)
{
    replay_t               *replay  = arg;
    const replay_options_t *options = replay->options;
    char                    line[512];

    watch_call(&replay->watch, run, call, packet);
    if (replay->chrome.out != NULL) {
        chrome_call(&replay->chrome, run, call, packet);
    }
    if (options->text &&
        ((options->flow == 0) || (call->tx == options->flow)) &&
        ((options->qpn == 0) || (watch_qpn(run, call) == options->qpn))) {
        text_call(line, sizeof(line), call);
        printf("%llu %s\n", (unsigned long long)run->call, line);
    }
}

static void replay_print_head(const replay_file_t *file)
{
    record_names_t names = file->head->names;

    file_text(names.program, names.program, sizeof(names.program));
    file_text(names.rank, names.rank, sizeof(names.rank));
    file_text(names.host, names.host, sizeof(names.host));
    file_text(names.device, names.device, sizeof(names.device));
    file_text(names.transport, names.transport, sizeof(names.transport));
    file_text(names.release, names.release, sizeof(names.release));
    file_text(names.machine, names.machine, sizeof(names.machine));
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
        fprintf(stderr, "srd_replay: --until %llu: %s begins with call %llu: "
                "name that or a later one\n",
                (unsigned long long)options->until, options->path,
                (unsigned long long)first);
        return 0;
    }
    return 1;
}

/* The last words of a replay that went well. Its exit status. */
static int replay_print_end(const replay_t *replay, const replay_file_t *file)
{
    const replay_options_t *options = replay->options;
    unsigned long long      last    = replay->run.call;

    printf("%llu calls, the same\n", last - file->segment[0]->first_call + 1);
    if (options->until > last) {
        printf("its last call is %llu, before --until %llu\n", last,
               (unsigned long long)options->until);
    }
    if ((fflush(stdout) != 0) || ferror(stdout)) {
        fprintf(stderr, "srd_replay: %s: not all was printed: %s; make room, "
                "or print elsewhere\n", options->path, strerror(errno));
        return REPLAY_FAILED;
    }
    return REPLAY_SAME;
}

static int replay_ends_failed(void)
{
    fprintf(stderr, "srd_replay: --lost: no temporary file: %s; make room in "
            "/tmp\n", strerror(errno));
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
    if (!watch_open(&replay->watch, run_first_time(file))) {
        fprintf(stderr, "srd_replay: out of memory\n");
        return REPLAY_FAILED;
    }
    if ((options->trace != NULL) &&
        (chrome_open(&replay->chrome, options->trace, file->head,
                     run_first_time(file)) != 0)) {
        return REPLAY_FAILED;
    }
    replay_print_head(file);
    end = run_file(&replay->run);
    if ((end == RUN_DAMAGED) || (end == RUN_MEMORY)) {
        fflush(stdout);
        fprintf(stderr, "srd_replay: %s: %s\n", options->path,
                replay->run.why);
    } else if (options->why) {
        watch_why(&replay->watch, &replay->run, options->flow, options->qpn);
    }
    if ((replay->ends != NULL) && (end == RUN_SAME) &&
        (ends_write(replay->ends, &replay->run, replay->number) != 0)) {
        return replay_ends_failed();
    }
    if (chrome_close(&replay->chrome, options->trace) != 0) {
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
static void replay_limit(size_t size)
{
    rlim_t        seconds = REPLAY_CPU_MIN + REPLAY_CPU_MB * (size >> 20);
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
        fprintf(stderr, "srd_replay: %s: ended by a signal (%s)\n", path,
                strsignal(number));
        break;
    default:
        fprintf(stderr, "srd_replay: %s: damaged, or made by hand: the "
                "protocol core ends by it (%s)\n", path, strsignal(number));
    }
    return REPLAY_FAILED;
}

static int replay_child(replay_t *replay, const replay_file_t *file)
{
    pid_t child;
    int   status;

    fflush(stdout);
    child = fork();
    if (child < 0) {
        perror("srd_replay: fork");
        return REPLAY_FAILED;
    }
    if (child == 0) {
        replay_limit(file->size);
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

static int replay_paths(replay_t *replay, replay_options_t *options,
                        char **paths, uint32_t count)
{
    int      status = REPLAY_SAME, one;
    uint32_t i;

    for (i = 0; i < count; ++i) {
        options->path  = paths[i];
        replay->number = i;
        if (count > 1) {
            printf("%s%s:\n", (i > 0) ? "\n" : "", options->path);
        }
        one    = replay_path(replay);
        status = (one > status) ? one : status;
    }
    return status;
}

int main(int argc, char **argv)
{
    static replay_t  replay;
    replay_options_t options = {0};
    int              status  = replay_parse(&options, argc, argv);
    uint32_t         count   = (uint32_t)(argc - optind);

    if (status >= 0) {
        return status;
    }
    signal(SIGXFSZ, SIG_IGN); /* writes fail instead */
    replay.options = &options;
    replay.ends    = options.lost ? tmpfile() : NULL;
    if (options.lost && (replay.ends == NULL)) {
        return replay_ends_failed();
    }
    status = replay_paths(&replay, &options, argv + optind, count);
    if (options.lost) {
        fputs("\n", stdout);
        if (ends_print(replay.ends, argv + optind, count) != 0) {
            return replay_ends_failed();
        }
    }
    return status;
}

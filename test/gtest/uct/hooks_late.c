/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that does not link UCX and opens it at run time, as Python and MPI
 * components do. For each UCX it prints "NAME: K md", how often the memory
 * domain of the EFA device stands in ucp_context_print_info().
 *
 *   hooks_late MODE LIBUCP...
 *     local | global   dlopen with that visibility, one context per library
 *     reopen           context, dlclose, and all over again, three times
 *     threads          eight threads at once, each opening and asking
 *     uct              ask uct_query_components() from this program directly
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum { THREADS = 8 };

typedef struct library {
    const char   *path;
    void         *handle;
    ucs_status_t (*config_read)(const char *prefix, const char *file,
                                ucp_config_t **config_p);
    void         (*config_release)(ucp_config_t *config);
    ucs_status_t (*init)(unsigned major, unsigned minor,
                         const ucp_params_t *params,
                         const ucp_config_t *config, ucp_context_h *context_p);
    void         (*cleanup)(ucp_context_h context);
    void         (*print)(const ucp_context_h context, FILE *stream);
} library_t;

static void *symbol(void *handle, const char *name)
{
    void *address = dlsym(handle, name);

    if (address == NULL) {
        fprintf(stderr, "hooks_late: %s\n", dlerror());
        exit(2);
    }
    return address;
}

static void library_open(library_t *lib, const char *path, int flags)
{
    void *found[5];
    static const char *const names[] = {
        "ucp_config_read", "ucp_config_release", "ucp_init_version",
        "ucp_cleanup", "ucp_context_print_info"
    };
    unsigned i;

    lib->path   = path;
    lib->handle = dlopen(path, RTLD_LAZY | flags);
    if (lib->handle == NULL) {
        fprintf(stderr, "hooks_late: %s\n", dlerror());
        exit(2);
    }
    for (i = 0; i < 5; ++i) {
        found[i] = symbol(lib->handle, names[i]);
    }
    memcpy(&lib->config_read, &found[0], sizeof(void*));
    memcpy(&lib->config_release, &found[1], sizeof(void*));
    memcpy(&lib->init, &found[2], sizeof(void*));
    memcpy(&lib->cleanup, &found[3], sizeof(void*));
    memcpy(&lib->print, &found[4], sizeof(void*));
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;

    while ((text = strstr(text, part)) != NULL) {
        ++count;
        text += strlen(part);
    }
    return count;
}

/* Open a context, count our memory domain in its description. */
static unsigned library_ask(const library_t *lib)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features   = UCP_FEATURE_TAG};
    ucp_config_t *config;
    ucp_context_h context;
    char *text  = NULL;
    size_t size = 0;
    FILE *stream;
    unsigned count;

    if ((lib->config_read(NULL, NULL, &config) != UCS_OK) ||
        (lib->init(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context) !=
         UCS_OK)) {
        fprintf(stderr, "hooks_late: no context from %s\n", lib->path);
        exit(2);
    }
    lib->config_release(config);
    stream = open_memstream(&text, &size);
    lib->print(context, stream);
    fclose(stream);
    lib->cleanup(context);
    count = count_of(text, " rdmap0s6 \n"); /* the line of the domain */
    free(text);
    return count;
}

static void *thread_main(void *path)
{
    library_t lib;

    library_open(&lib, path, RTLD_LOCAL);
    return (void*)(size_t)library_ask(&lib);
}

static void run_threads(char *path)
{
    pthread_t threads[THREADS];
    void *count;
    unsigned i;

    for (i = 0; i < THREADS; ++i) {
        if (pthread_create(&threads[i], NULL, thread_main, path)) {
            exit(2);
        }
    }
    for (i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], &count);
        printf("%u: %zu md\n", i, (size_t)count);
    }
}

/* The call comes from the main program, whose tree has no libuct. */
static void run_uct(const char *path)
{
    ucs_status_t (*query)(void ***components_p, unsigned *count_p);
    void (*release)(void **components);
    library_t lib;
    void **components, *address;
    unsigned count = 0;
    int status;

    address = dlsym(RTLD_DEFAULT, "uct_query_components");
    if (address == NULL) {
        printf("not interposed\n");
        return;
    }
    memcpy(&query, &address, sizeof(address));
    status = query(&components, &count);
    printf("without a libuct: %s\n", (status == UCS_OK) ? "OK" : "error");
    library_open(&lib, path, RTLD_LOCAL);
    status = query(&components, &count);
    printf("with a libuct: %s\n", ((status == UCS_OK) && (count > 1)) ?
           "OK" : "error");
    if (status == UCS_OK) {
        address = symbol(lib.handle, "uct_release_component_list");
        memcpy(&release, &address, sizeof(address));
        release(components);
    }
}

int main(int argc, char **argv)
{
    const char *mode = (argc > 1) ? argv[1] : "";
    library_t libs[8];
    int i, round;

    if ((argc < 3) || (argc > 10)) {
        fprintf(stderr, "usage: hooks_late MODE LIBUCP...\n");
        return 2;
    }
    if (!strcmp(mode, "threads")) {
        run_threads(argv[2]);
        return 0;
    }
    if (!strcmp(mode, "uct")) {
        run_uct(argv[2]);
        return 0;
    }
    for (round = 0; round < (strcmp(mode, "reopen") ? 1 : 3); ++round) {
        for (i = 2; i < argc; ++i) {
            library_open(&libs[i - 2], argv[i],
                         strcmp(mode, "global") ? RTLD_LOCAL : RTLD_GLOBAL);
        }
        for (i = 2; i < argc; ++i) {
            printf("%s: %u md\n", basename(argv[i]),
                   library_ask(&libs[i - 2]));
        }
        for (i = 2; (i < argc) && !strcmp(mode, "reopen"); ++i) {
            dlclose(libs[i - 2].handle);
        }
    }
    return 0;
}

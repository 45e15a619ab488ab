/* SPDX-License-Identifier: BSD-3-Clause */
#include "info.h"

#include <command/options.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Stand-ins follow for the functions of UCX that the device's code calls, since
 * here is none: its messages are kept instead of logged. */
static char message[INFO_TEXT_MAX];

void host_stub_init(ucx_host_t *host)
{
    static const int level = UCS_LOG_LEVEL_WARN;

    host->log_level = &level;
}

const char *host_stub_message(void)
{
    return message;
}

void ucx_host_log(const ucx_host_t *host, const char *file, unsigned line,
                  const char *function, ucs_log_level_t level,
                  const char *format, ...)
{
    va_list ap;

    (void)host, (void)file, (void)line, (void)function, (void)level;
    va_start(ap, format);
    vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
}

int ucx_user_is_warned(void)
{
    return 1;
}

void ucx_host_absent(const ucx_host_t *host, const char *file, unsigned line,
                     const char *function, const char *name,
                     const char *format, ...)
{
    va_list ap;

    (void)host, (void)file, (void)line, (void)function, (void)name;
    va_start(ap, format);
    vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
}

void info_report(info_t *info, info_level_t level, const char *name,
                 const char *remedy, const char *format, ...)
{
    static const char *const words[] = {"ok", "warn", "FAIL", "skip"};
    char text[4 * INFO_TEXT_MAX];
    va_list ap;

    ++info->counts[level];
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    options_clean(text);
    printf("%-4s  %-14s %s\n", words[level], name, text);
    if (remedy != NULL) {
        printf("      %-14s remedy: %s\n", "", remedy);
    }
    json_object(&info->json, NULL);
    json_text(&info->json, "level", words[level]);
    json_text(&info->json, "name", name);
    json_text(&info->json, "text", text);
    json_text(&info->json, "remedy", remedy);
    json_end_object(&info->json);
}

void info_lane_words(const char *lane, char *text, size_t size)
{
    int transport      = (int)strcspn(lane, "/");
    const char *device = lane + transport + (lane[transport] == '/');

    snprintf(text, size, "%.*s on %.*s", transport, lane,
             (int)strcspn(device, ":. "), device);
}

void info_path(const info_t *info, const char *path, char full[PATH_MAX])
{
    if ((info->sysroot[0] == '\0') && !strncmp(path, "/sys/", 5)) {
        snprintf(full, PATH_MAX, "%s%s", efa_sysfs_root(), path + 4);
    } else {
        snprintf(full, PATH_MAX, "%s%s", info->sysroot, path);
    }
}

void info_device_path(const info_t *info, const char *path,
                      char full[PATH_MAX])
{
    snprintf(full, PATH_MAX, "%s%s%s",
             (getenv("SYSFS_PATH") != NULL) ? "" : info->sysroot,
             efa_sysfs_root(), path);
}

int info_read(const info_t *info, const char *path, char *text, size_t size)
{
    char full[PATH_MAX];
    size_t length;

    info_path(info, path, full);
    if (efa_file_read(full, text, size) != 0) {
        return -1;
    }
    length = strlen(text);
    while ((length > 0) && (text[length - 1] == '\n')) {
        --length;
    }
    text[length] = '\0';
    return 0;
}

void info_devices(info_t *info, char *why, size_t size)
{
    info->verbs = efa_verbs_get(why, size);
    if ((info->verbs != NULL) &&
        ((efa_device_list(info->verbs, &info->devices, &info->device_count) !=
          UCS_OK) || (info->device_count == 0))) {
        efa_device_explain_none(why, size);
    }
    if (info->device_count > INFO_DEVICES_MAX) {
        info->device_count = INFO_DEVICES_MAX;
    }
}

int info_exists(const info_t *info, const char *path)
{
    char full[PATH_MAX];

    info_path(info, path, full);
    return access(full, F_OK) == 0;
}

const char *info_lane(const probe_t *probe, const char *transport)
{
    size_t length = strlen(transport);
    unsigned i;

    for (i = 0; i < probe->lane_count; ++i) {
        if (!strncmp(probe->lanes[i], transport, length) &&
            (probe->lanes[i][length] == '/')) {
            return probe->lanes[i];
        }
    }
    return NULL;
}

int info_list_has(const char *list, const char *name)
{
    size_t length;

    while (*list != '\0') {
        length = strcspn(list, ",");
        if ((length == strlen(name)) && !strncmp(list, name, length)) {
            return 1;
        }
        list += length + (list[length] == ',');
    }
    return 0;
}

int info_wishes(const char *name, int yes)
{
    static const char *const words[2][4] = {{"n", "no", "0", "off"},
                                            {"y", "yes", "1", "on"}};
    const char *value = getenv(name);
    unsigned i;

    for (i = 0; (value != NULL) && (i < 4); ++i) {
        if (!strcasecmp(value, words[yes != 0][i])) {
            return 1;
        }
    }
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "namesake.h"
#include "fabric.h"
#include "folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nonzero if the folder `entry` of `root` is such a fabric. Anybody may make a
 * folder there: it counts only as its owner's. A file system of his that is
 * mounted there, and may never answer, is not asked. */
static int namesake_is(int root, const char *entry, const char *name,
                       unsigned *uid)
{
    unsigned layout;
    struct statx st;
    int length = 0;

    return (sscanf(entry, "efasim%u-%u-%n", &layout, uid, &length) == 2) &&
           (length > 0) && !strcmp(entry + length, name) &&
           (*uid != (unsigned)geteuid()) &&
           fabric_folder_look(root, entry, &st) &&
           S_ISDIR(st.stx_mode) && (st.stx_uid == *uid);
}

int fabric_namesake(const char *name, unsigned *uid)
{
    char path[FABRIC_PATH_MAX];
    struct dirent *entry;
    int found = 0;
    DIR *dir;

    fabric_path(name, path);
    *strrchr(path, '/') = '\0';
    dir                 = opendir(path);
    while ((dir != NULL) && !found && ((entry = readdir(dir)) != NULL)) {
        found = namesake_is(dirfd(dir), entry->d_name, name, uid);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

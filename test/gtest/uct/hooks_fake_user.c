/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the stand-in libucp given as argument and asks it twice. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *handle = dlopen((argc > 1) ? argv[1] : "", RTLD_LAZY | RTLD_LOCAL);
    void *address;
    unsigned (*ask)(void);

    if ((handle == NULL) ||
        ((address = dlsym(handle, "fake_ucp_components")) == NULL)) {
        fprintf(stderr, "hooks_fake_user: %s\n", dlerror());
        return 2;
    }
    memcpy(&ask, &address, sizeof(ask));
    printf("%u", ask());
    printf(" %u components\n", ask());
    return 0;
}

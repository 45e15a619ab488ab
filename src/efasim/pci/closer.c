/* SPDX-License-Identifier: BSD-3-Clause */
#include "closer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

struct closer_job { /* a pipe writes it whole */
    int                fd;
    struct pci_closer *closer;
};

static void *closer_run(void *arg)
{
    int queue = (int)(long)arg;
    struct closer_job job;

    while (read(queue, &job, sizeof(job)) == sizeof(job)) {
        close(job.fd);
        --job.closer->left;
    }
    return NULL;
}

/* The pipe has room for 4,096 jobs, more than there ever are: PCI_CLOSER_MOST
 * and one message's. */
static int closer_start(struct pci_closer *closer)
{
    sigset_t all, before;
    pthread_t thread;
    int ends[2], err;

    if (closer->queue > 0) {
        return 0;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }

    sigfillset(&all); /* they are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&thread, NULL, closer_run, (void*)(long)ends[0]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err != 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    pthread_detach(thread);
    closer->queue = ends[1];
    return 0;
}

void pci_closer_add(struct pci_closer *closer, int fd)
{
    struct closer_job job = { .fd = fd, .closer = closer };

    if (closer_start(closer) != 0) {
        close(fd);
        return;
    }
    ++closer->left;
    if (write(closer->queue, &job, sizeof(job)) != sizeof(job)) {
        --closer->left;
        close(fd);
    }
}

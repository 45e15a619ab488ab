/* SPDX-License-Identifier: BSD-3-Clause */
#include "keys.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Settings to restore when a signal ends the program. */
static struct termios keys_before;

static void keys_ended(int number)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &keys_before);
    signal(number, SIG_DFL);
    raise(number);
}

void keys_open(keys_t *keys, int is_wanted)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct termios   raw;
    unsigned         i;

    memset(keys, 0, sizeof(*keys));
    keys->is_live = is_wanted && isatty(STDOUT_FILENO) &&
                    (tcgetattr(STDIN_FILENO, &keys->before) == 0);
    if (!keys->is_live) {
        return;
    }
    keys_before = keys->before;
    for (i = 0; i < sizeof(signals) / sizeof(signals[0]); ++i) {
        signal(signals[i], keys_ended);
    }
    raw          = keys->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

void keys_close(keys_t *keys)
{
    if (keys->is_live) {
        tcsetattr(STDIN_FILENO, TCSANOW, &keys->before);
    }
}

/* Handles a key. Nonzero: it has a meaning. */
static int keys_take(keys_t *keys, char key)
{
    static const struct {
        char         key;
        view_order_t order;
    } orders[] = {{'s', VIEW_BY_STALLS},   {'o', VIEW_BY_AGE},
                  {'b', VIEW_BY_BYTES},    {'m', VIEW_BY_MESSAGES},
                  {'r', VIEW_BY_REFUSED},  {'l', VIEW_BY_LOST},
                  {'d', VIEW_BY_DEPTH}};
    unsigned i;

    if (key == 'q') {
        keys->quit = 1;
        return 1;
    }
    for (i = 0; i < sizeof(orders) / sizeof(orders[0]); ++i) {
        if (orders[i].key == key) {
            keys->order = orders[i].order;
            return 1;
        }
    }
    return key == ' ';
}

void keys_wait(keys_t *keys, int ms)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char          key;

    if (!keys->is_live) {
        (void)poll(NULL, 0, ms);
        return;
    }
    while (poll(&input, 1, ms) > 0) {
        if (read(STDIN_FILENO, &key, 1) != 1) {
            keys->quit = 1; /* the terminal is closed */
            return;
        }
        if (keys_take(keys, key)) {
            return;
        }
    }
}

void keys_page(const keys_t *keys)
{
    if (keys->is_live) {
        printf("\033[H\033[J");
    }
}

unsigned keys_lines(const keys_t *keys)
{
    struct winsize size;

    if (!keys->is_live || (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)) {
        return 0;
    }
    return size.ws_row;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_DEV_H
#define EFASIM_ENGINE_DEV_H

#include "objects.h"

/* The device's capabilities, less what a knob takes away. */
uint32_t sim_dev_caps(const struct sim_dev *dev);

/* Rings that a completion queue is made of. */
unsigned sim_dev_sub_cqs(const struct sim_dev *dev);

/*
 * Open a device on directory slot `slot` (claimed and live) of `nic`.
 * Returns NULL when memory is short. The directory, ops and env must outlive
 * the device.
 */
struct sim_dev *sim_dev_open(struct dir *dir, uint32_t slot, uint32_t nic,
                             const struct sim_env_ops *ops, void *env,
                             const struct sim_knobs *knobs);

/* Take over one knob, from the next request on. The injections of the device
 * count down in its own copy, so only `knob` is taken. */
void sim_dev_control(struct sim_dev *dev, const struct sim_knobs *knobs,
                     const struct sim_knob *knob);

/* Destroys what is left on it. The directory slot stays the caller's. */
void sim_dev_close(struct sim_dev *dev);

/*
 * Let the device work: take new requests, packets and answers, run timers.
 * Bounded work per call. Returns the number of things done, 0 when idle.
 */
unsigned sim_dev_progress(struct sim_dev *dev);

/* Count something of this device. */
static inline void sim_dev_count(struct sim_dev *dev, enum dir_counter counter,
                                 uint64_t n)
{
    dir_own_count(&dev->own->counter[counter], n);
}

/* Something is under way that needs progress calls (requests outstanding,
 * packets not yet taken, doorbells not yet seen). */
int sim_dev_is_busy(struct sim_dev *dev);

/* A line of the trace; costs a branch while nobody wants one. */
#define sim_dev_trace(_dev, ...) \
    do { \
        if ((_dev)->tracing) { \
            sim_dev_trace_line(_dev, __VA_ARGS__); \
        } \
    } while (0)

void sim_dev_trace_line(struct sim_dev *dev, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* One line for the user, without newline. */
void sim_dev_log(struct sim_dev *dev, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests: change, drive and read the emulated device of this process while
 * it runs. Not linked: look it up, it is there under `efasim run` and nowhere
 * else.
 *
 *     int (*control)(const char*, const char*) =
 *             (int (*)(const char*, const char*))
 *             dlsym(RTLD_DEFAULT, "efasim_control");
 *     control("inject", "send:13:1");
 */
#ifndef EFASIM_EFASIM_H
#define EFASIM_EFASIM_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Set one knob, named and written as the option of `efasim run`, from the
 * next request on. Returns 0; EINVAL for an unknown name or a bad value
 * (after one line on stderr); EBUSY for what is fixed once the device is open
 * (max-ah, no-rdma-read, ...).
 */
int efasim_control(const char *knob, const char *value);

/*
 * Let the device work once; needed only by programs that neither post nor poll
 * through verbs calls (they write the queues themselves) and do not want to
 * wait for the backstop thread. Returns 1 if something was done, else 0;
 * -1, at once, of a device that works by itself (--eager): no need to call it.
 * From the first call on the program is taken for one that calls after each of
 * its doorbells: it is held to max_tx_batch and to a CQ doorbell that tells how
 * far it has read.
 */
int efasim_progress(void);

/*
 * A counter, named as `efasim stat` prints it: "tx_pkts" of all devices that
 * this process has open, "rdmap16s6/tx_pkts" of that one. Returns
 * 0; ENOENT for an unknown name; ENODEV before the device is opened.
 */
int efasim_counter(const char *name, unsigned long long *value);

/*
 * Virtual time: from now on the device's clock stands at `ns` (of its own
 * count, which began at 1 when the process did this first), and moves only by
 * the next call. 0 gives it back to the real clock. For programs whose peers
 * are all in the same process: others keep their own time. Returns 0, or
 * EINVAL: time cannot go back.
 */
int efasim_clock(unsigned long long ns);

#ifdef __cplusplus
}
#endif

#endif

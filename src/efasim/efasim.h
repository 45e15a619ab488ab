/*
 * For tests: change the emulated device of this process while it runs. Not
 * linked: look it up, it is there under `efasim run` and nowhere else.
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
 * (max-ah, no-rdma-read).
 */
int efasim_control(const char *knob, const char *value);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODULE_CLOCK_H_
#define MODULE_CLOCK_H_

/* The program stands before libc's clock_gettime: the module's looks at the
 * clock are counted, and time passes for it as a test wishes. The clocks of CPU
 * time are the real ones. */

/* The module is loaded: its looks and calls are known from now on. */
void module_clock_start();

/* Whether it is the module that calls from there. */
bool module_is(const void *caller);

/* Does the emulated device work by itself, in real time, whatever the module's
 * clock says? */
bool device_has_own_time();

/* From now on so many microseconds pass, for the module, before each look. */
void module_clock_away(unsigned long us);

/* Looks of this thread. */
unsigned long module_clock_looks();

/* As long as there is one, time passes faster for the module, unless a test has
 * said how or the emulated device works by itself, as fast as it can. */
class FastClock {
public:
    FastClock();
    ~FastClock();

private:
    unsigned long m_away;
};

#endif

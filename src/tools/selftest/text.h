/* SPDX-License-Identifier: BSD-3-Clause */
/* What a probe has seen, in words. */
#ifndef SRD_SELFTEST_TEXT_H_
#define SRD_SELFTEST_TEXT_H_

/* "status 9", "nothing" for -1. */
const char *st_text_status(int status, char text[32]);

/* "12 us", "3.5 ms" */
const char *st_text_time(double seconds, char text[32]);

#endif

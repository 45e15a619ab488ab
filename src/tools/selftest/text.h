/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of a probe: a status, a time. */
#ifndef SRD_SELFTEST_TEXT_H_
#define SRD_SELFTEST_TEXT_H_

/* "status 9"; "success" for 0, "no completion" for -1. */
const char *st_text_status(int status, char text[32]);

/* "12 us", "3.5 ms" */
const char *st_text_time(double seconds, char text[32]);

#endif

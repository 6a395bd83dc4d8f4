/* given_clock.c -- see given_clock.h. Its function replaces that of the C library.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "given_clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t given_s;

void givenClockSet(int64_t unix_s) { given_s = unix_s; }

int clock_gettime(clockid_t clock, struct timespec *out) {
    if (clock != CLOCK_REALTIME || given_s == 0) return (int)syscall(SYS_clock_gettime, clock, out);
    *out = (struct timespec){.tv_sec = (time_t)given_s};
    return 0;
}

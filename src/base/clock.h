/* clock.h -- what time it is: a monotonic clock for durations, the wall clock for dates.
 *
 * The monotonic clock reads the processor's time stamp counter where it is constant (one
 * instruction, about 7 ns), else clock_gettime.
 * Threads     any, after clockInit(). A program that is over at once may leave that out: it reads the system's clock.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "platform.h"

typedef uint64_t monotime; /* opaque ticks of the monotonic clock */

/* Calibrate (takes about 10 ms at most). Boot, once. */
void clockInit(void);
/* What the monotonic clock is made of, as INFO's monotonic_clock says it: "POSIX clock_gettime" or
 * "X86 TSC @ 2000 ticks/us". */
const char *clockMonotonicInfo(void);

/* Ticks now; the difference of two readings goes through clockTicksToNs(). */
monotime clockTicks(void);
uint64_t clockTicksToNs(monotime ticks);
static inline uint64_t clockTicksToUs(monotime ticks) {
    return clockTicksToNs(ticks) / 1000;
}
/* Microseconds / milliseconds since an arbitrary point, never going back. */
uint64_t clockMonotonicUs(void);
uint64_t clockMonotonicMs(void);

/* Wall clock since 1970, read from the system at each call. */
int64_t clockWallUs(void);
int64_t clockWallMs(void);
/* Let the wall clock stand at `ms`, until it is set again; 0 lets it go on with the system's. Unit tests, which choose
 * what time commands see. */
void clockStopWall(int64_t ms);

/* Milliseconds that all processors of the machine together have been idle since it started, to a hundredth of a second;
 * -1 where the system does not tell. Reads a file of the system: a few microseconds. */
long long clockIdleMs(void);

/* Break `unix_s` into local time without a lock (localtime_r takes one, fatal after fork in a child), by the offset and
 * the daylight saving that clockRefreshTimezone() found last: clockInit() and the server's cron call it. */
struct tm;
void clockLocalTime(struct tm *out, int64_t unix_s);
void clockRefreshTimezone(void);

#endif

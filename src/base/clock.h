/* clock.h -- a monotonic clock for durations, and the wall clock for dates.
 *
 * The monotonic clock reads the processor's time stamp counter where it is constant (one
 * instruction, about 7 ns), else clock_gettime.
 * Threads     any, after clockInit(). A short-lived program may omit it: it then reads the system's clock.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "platform.h"

typedef uint64_t monotime; /* opaque ticks of the monotonic clock */

/* Calibrates the counter (takes at most about 10 ms). Call once, at startup. */
void clockInit(void);
/* Returns the source of the monotonic clock, as in INFO's monotonic_clock: "POSIX clock_gettime" or "X86 TSC @ 2000
 * ticks/us". */
const char *clockMonotonicInfo(void);

/* Returns the current tick; convert differences by clockTicksToNs(). */
monotime clockTicks(void);
uint64_t clockTicksToNs(monotime ticks); /* converts a difference of ticks */
static inline uint64_t clockTicksToUs(monotime ticks) { return clockTicksToNs(ticks) / 1000; }
/* Return microseconds and milliseconds since an arbitrary point; they never go back. */
uint64_t clockMonotonicUs(void);
uint64_t clockMonotonicMs(void);

/* Return the wall clock's time since 1970, read from the system at each call. */
int64_t clockWallUs(void);
int64_t clockWallMs(void);
/* Stops the wall clock at `ms` until it is set again; 0 makes it follow the system's again. For unit tests. */
void clockStopWall(int64_t ms);

/* Returns the milliseconds that all processors of the machine together have been idle since it started, to a hundredth
 * of a second; -1 if the system does not provide them. Reads a file of the system: a few microseconds. */
long long clockIdleMs(void);

/* Converts `unix_s` to local time without a lock (localtime_r takes one, which may hang a forked child). Uses the
 * offset and daylight saving that clockRefreshTimezone() found last; clockInit() and the server's cron call that. */
struct tm;
void clockLocalTime(struct tm *out, int64_t unix_s);
void clockRefreshTimezone(void);

#endif

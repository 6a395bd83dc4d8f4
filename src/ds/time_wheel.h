/* time_wheel.h -- numbers by a time, to get them when it has passed, or earlier.
 *
 * Cheaper than time_index.h, for a caller that can tell whether a number still matters: nothing is ever removed. A
 * number whose time has changed to a later one, or that no longer matters, comes out at its old time.
 *
 * Threads     one owner at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_TIME_WHEEL_H
#define DS_TIME_WHEEL_H

#include "platform.h"

typedef struct timeWheel timeWheel;

#define TIME_WHEEL_GRAIN_MS 16 /* numbers come out at most this long after their time */

/* Returns an empty wheel, whose clock stands at `now_ms`. */
timeWheel *timeWheelCreate(int64_t now_ms);
void timeWheelFree(timeWheel *w); /* NULL is allowed; any thread */
size_t timeWheelSize(const timeWheel *w);
size_t timeWheelMemUsage(const timeWheel *w); /* bytes; O(1) */

/* Adds a number, which may be in the wheel several times. A time in the past is allowed. */
void timeWheelAdd(timeWheel *w, int64_t when_ms, uint64_t number);
/* Sets the clock and removes up to `max` numbers, which it writes to `out`: those whose time has passed, with every
 * time below `now_ms` rounded down to the grain among them, and others, which have to be added again. Returns their
 * number; 0 once none is left. A clock that is set back stands still until it is as late again. */
size_t timeWheelTake(timeWheel *w, int64_t now_ms, uint64_t *out, size_t max);
/* Returns when timeWheelTake() will return a number whose time has passed, INT64_MAX if not within the next seconds
 * (the wheel must be visited each second even so). */
int64_t timeWheelNextMs(const timeWheel *w);
/* Returns the time at which its clock stands. */
int64_t timeWheelClockMs(const timeWheel *w);

/* Calls `fn` for each number, with the earliest time that a number in its place has. For tests and assertions. */
void timeWheelEach(const timeWheel *w, void (*fn)(void *arg, uint64_t number, int64_t from_ms), void *arg);
/* Asserts the invariants at the top of time_wheel.c. */
void timeWheelCheck(const timeWheel *w);

#endif

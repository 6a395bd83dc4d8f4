/* given_clock.h -- the wall clock stands where a test puts it: this program's own clock_gettime() takes the place of
 * the library's.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_GIVEN_CLOCK_H
#define TESTS_GIVEN_CLOCK_H

#include <stdint.h>

/* From now on the wall clock shows this second since 1970, and does not move; 0: it is the system's again. The
 * monotonic clock is always the system's. */
void givenClockSet(int64_t unix_s);

#endif

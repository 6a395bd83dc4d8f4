/* given_clock.h -- a wall clock that a test sets: clock_gettime() of the test program replaces that of the library.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_GIVEN_CLOCK_H
#define TESTS_GIVEN_CLOCK_H

#include <stdint.h>

/* Stops the wall clock at this second since 1970; 0: it is the system's again. The monotonic clock is always the
 * system's. */
void givenClockSet(int64_t unix_s);

#endif

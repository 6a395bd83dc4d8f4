/* write_throttle.h -- writers are slowed before a replica is sent away for its output limit (repl-slow-writers).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_WRITE_THROTTLE_H
#define REPL_WRITE_THROTTLE_H

/* Before output leaves, and at each tick: hold writers back if what is kept for a replica grows too fast. */
void writeThrottleCheck(void);
void writeThrottleInit(void); /* boot only */

#endif

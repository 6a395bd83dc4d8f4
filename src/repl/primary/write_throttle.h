/* write_throttle.h -- slows writers down before a replica exceeds its output limit (repl-slow-writers).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_WRITE_THROTTLE_H
#define REPL_WRITE_THROTTLE_H

/* Pauses writers if the bytes kept for a replica grow too fast, or resumes them. Call before output is sent, and at
 * each tick. */
void writeThrottleCheck(void);
/* Call at startup only. */
void writeThrottleInit(void);

#endif

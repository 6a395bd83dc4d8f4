/* stacks.h -- the stacks of all threads, written into the log while they go on.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_STACKS_H
#define BASE_STACKS_H

#include "platform.h"

/* Read what naming functions needs. Boot. */
void stacksInit(void);
/* Log `reason` and the stack of each other thread that threadStart() or threadAdopt() knows, a line for each frame.
 * Each is interrupted for some tens of microseconds; one that does not answer in time is named without a stack. Not
 * from a signal handler; one thread at a time. */
void stacksLog(const char *reason);

#endif

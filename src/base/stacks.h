/* stacks.h -- logs the stacks of all threads while they keep running.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_STACKS_H
#define BASE_STACKS_H

#include "platform.h"

/* Reads the program's symbol table. Call at startup. */
void stacksInit(void);
/* Logs `reason` and the stack of each other thread that was started by threadStart() or has called threadAdopt(), a
 * line per frame. Each is interrupted for some tens of microseconds; one that does not respond in time is listed
 * without a stack. Not for signal handlers; one thread at a time. */
void stacksLog(const char *reason);

#endif

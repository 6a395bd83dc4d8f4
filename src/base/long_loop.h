/* long_loop.h -- lets the caller of a long loop act in its middle.
 *
 * A loop over all elements of a value (to copy, write, read or measure it) calls longLoopStep() after each. That does
 * nothing unless this thread has set a function, which it does around the call that contains the loop. The function
 * must leave alone what the loop works on.
 *
 * Runs on: any thread; each has a function of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_LONG_LOOP_H
#define BASE_LONG_LOOP_H

#include "platform.h"

typedef void longLoopFn(void);

extern _Thread_local uint32_t long_loop_left; /* steps until the function is called; 0: none is set */

/* Sets the function, to be called after `steps` steps, and then again when that function has set it again. With 0 steps
 * none is set. */
void longLoopSet(longLoopFn *fn, uint32_t steps);
/* Calls the function, if one is set: for a step that takes as long as many. */
void longLoopPause(void);

static inline void longLoopStep(void) {
    if (unlikely(long_loop_left != 0) && --long_loop_left == 0) {
        longLoopPause();
    }
}

#endif

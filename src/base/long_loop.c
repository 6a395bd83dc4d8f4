/* long_loop.c -- lets the caller of a long loop act in its middle.
 *
 * Not here    the function that is called (engine/sliced.c).
 * Threads     any; each has its own state.
 * Tests       tests/unit/base/long_loop_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "long_loop.h"

_Thread_local uint32_t long_loop_left;
static _Thread_local longLoopFn *function; /* NULL iff none is left */

void longLoopSet(longLoopFn *fn, uint32_t steps) {
    function = steps ? fn : NULL;
    long_loop_left = steps;
}

void longLoopPause(void) {
    longLoopFn *fn = function;
    longLoopSet(NULL, 0);
    if (fn) fn();
}

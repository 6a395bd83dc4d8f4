/* long_loop_test.c -- the function of a long loop is called after so many steps, and not within itself.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "long_loop.h"

#include "unit.h"

static int calls, again;

static void onPause(void) {
    calls++;
    for (int i = 0; i < 100; i++) longLoopStep(); /* none is set meanwhile */
    longLoopPause();
    if (again-- > 0) longLoopSet(onPause, 3);
}

static void steps(int n) {
    for (int i = 0; i < n; i++) longLoopStep();
}

TEST(long_loop_calls_its_function_after_some_steps) {
    steps(100);
    longLoopPause();
    CHECK_EQ_INT(calls, 0);
    again = 2;
    longLoopSet(onPause, 10);
    steps(9);
    CHECK_EQ_INT(calls, 0);
    steps(1);
    CHECK_EQ_INT(calls, 1);
    steps(2);
    CHECK_EQ_INT(calls, 1);
    longLoopPause();
    CHECK_EQ_INT(calls, 2);
    steps(3);
    CHECK_EQ_INT(calls, 3);
    steps(100);
    CHECK_EQ_INT(calls, 3);
}

TEST(long_loop_without_a_function_does_nothing) {
    calls = 0;
    longLoopSet(onPause, 2);
    longLoopSet(NULL, 0);
    steps(10);
    longLoopPause();
    CHECK_EQ_INT(calls, 0);
}

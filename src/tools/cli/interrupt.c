/* interrupt.c -- turns Ctrl-C into a request to stop, for work that prints a result when it is stopped.
 *
 * Tests       tests/tools/cli_progress.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "interrupt.h"
#include <signal.h>

static volatile sig_atomic_t caught;

static void onInterrupt(int sig) {
    unused(sig);
    caught = 1;
}

void interruptCatch(void) {
    struct sigaction act = {.sa_handler = onInterrupt, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigaction(SIGINT, &act, NULL);
}

bool interruptCaught(void) { return caught; }

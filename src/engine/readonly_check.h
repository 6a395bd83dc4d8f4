/* readonly_check.h -- debug builds see that a command flagged readonly leaves everything as it is.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_READONLY_CHECK_H
#define ENGINE_READONLY_CHECK_H

#include "client.h"

#ifdef DEBUG_ASSERTIONS
typedef struct readonlyMark {
    bool on;
    uint64_t fingerprint;
    long long expired, commands;
    uint32_t errors;
} readonlyMark;

/* Before the command of `c` runs, and behind it. `commands`: how many have run so far, of whatever client. */
readonlyMark readonlyBegin(const client *c, long long commands);
void readonlyEnd(const client *c, const readonlyMark *before, long long commands);
#endif

#endif

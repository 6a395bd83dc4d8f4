/* readonly_check.h -- debug builds check that a command with the flag readonly changes nothing.
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

/* Call before and after the command of `c` runs. `commands` is the number of commands that have run so far, of all
 * clients. readonlyEnd() asserts that the command's keys have not changed. */
readonlyMark readonlyBegin(const client *c, long long commands);
void readonlyEnd(const client *c, const readonlyMark *before, long long commands);
#endif

#endif

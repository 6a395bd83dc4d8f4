/* hyperloglog_key.h -- strings that are HyperLogLogs, for the two files of their commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_HYPERLOGLOG_KEY_H
#define COMMANDS_HYPERLOGLOG_KEY_H

#include "hyperloglog.h"
#include "typed_key.h"

/* The bytes of a HyperLogLog; `digits` is room for those of a number, which is none. False after an error. */
bool checkHyperloglog(client *c, const robj *o, char digits[LONG_STR_SIZE], slice *hll) must_check;
void addReplyCorruptHyperloglog(client *c);

/* A HyperLogLog that is being changed. */
typedef struct openHll {
    hashedKey key;
    robj *o;
    slice bytes; /* what `o` holds */
} openHll;

/* Make a sparse one dense. False after an error. */
bool hyperloglogMakeDense(client *c, openHll *hll) must_check;

#endif

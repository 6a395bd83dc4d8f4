/* hyperloglog_key.h -- strings that are HyperLogLogs, for hyperloglog.c and hyperloglog_debug.c.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_HYPERLOGLOG_KEY_H
#define COMMANDS_HYPERLOGLOG_KEY_H

#include "hyperloglog.h"
#include "typed_key.h"

/* Sets *hll to the bytes of `o`. `digits` is a buffer for a string that is stored as an integer (which is no
 * HyperLogLog). Returns false, after an error reply, if `o` is no HyperLogLog. */
bool checkHyperloglog(client *c, const robj *o, char digits[LONG_STR_SIZE], slice *hll) must_check;
/* Sends the error for a HyperLogLog whose bytes are damaged. Returns false. */
bool addReplyCorruptHyperloglog(client *c);

/* A HyperLogLog that a command changes. */
typedef struct openHll {
    hashedKey key;
    robj *o;
    slice bytes; /* the bytes of `o` */
} openHll;

/* Converts a sparse HyperLogLog to the dense form. Returns false after an error reply. */
bool hyperloglogMakeDense(client *c, openHll *hll) must_check;

#endif

/* scan.h -- the arguments that SCAN and its sisters for one key have in common.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_SCAN_H
#define COMMANDS_SCAN_H

#include "client.h"

typedef enum { SCAN_KEYS, SCAN_HASH, SCAN_SET, SCAN_ZSET } scanKind;

typedef struct scanOptions {
    size_t count;  /* COUNT, at least 1: how many elements a call aims at */
    slice pattern; /* MATCH: borrowed from the arguments */
    bool has_pattern;
    bool keys_only; /* NOVALUES, NOSCORES */
    int type;       /* TYPE: an objectTypeId, or -1 */
} scanOptions;

/* The options from argument `first` on; TYPE, NOVALUES and NOSCORES belong to one kind each. False after an error. */
bool scanParseOptions(client *c, uint32_t first, scanKind kind, scanOptions *out) must_check;
/* Calls of dictScan() after which a walk over mostly empty buckets ends without `count` elements. */
size_t scanStepsMax(const scanOptions *options);

#endif

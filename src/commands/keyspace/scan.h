/* scan.h -- the arguments that SCAN and its sisters for one key have in common.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_SCAN_H
#define COMMANDS_SCAN_H

#include "client.h"
#include "dict.h"

typedef enum { SCAN_KEYS, SCAN_HASH, SCAN_SET, SCAN_ZSET } scanKind;

typedef struct scanOptions {
    size_t count;  /* COUNT, at least 1: how many elements a call aims at */
    slice pattern; /* MATCH: borrowed from the arguments */
    bool has_pattern;
    bool keys_only; /* NOVALUES, NOSCORES */
    int type;       /* TYPE: an objectTypeId, or -1 */
} scanOptions;

/* The cursor in argument `index`. False when it is none: then an error was sent. */
bool scanParseCursor(client *c, uint32_t index, uint64_t *cursor) must_check;
/* The options from argument `first` on; TYPE, NOVALUES and NOSCORES belong to one kind each. False after an error. */
bool scanParseOptions(client *c, uint32_t first, scanKind kind, scanOptions *out) must_check;
/* Calls of dictScanRead() after which a walk over mostly empty buckets ends without `count` elements. */
size_t scanStepsMax(const scanOptions *options);
/* Whether MATCH lets the name pass. */
bool scanWants(const scanOptions *options, slice name);
/* The reply's head: an array of two whose first is the cursor. The array of elements follows. */
void addReplyScanCursor(client *c, uint64_t cursor);

/* How entries of a table become elements of the reply. */
typedef struct scanElements {
    bool (*hidden)(const void *entry);                         /* NULL: none is */
    int parts;                                                 /* of an element: 2 for field and value */
    void (*add)(client *c, const void *entry, bool keys_only); /* adds `parts` bulks, 1 with keys_only */
} scanElements;
/* The whole reply of a call of HSCAN, SSCAN or ZSCAN over a table, whose entries' keys are what MATCH looks at. Where
 * there is no table, all elements are one call's: cursor 0. */
void scanReplyTable(client *c, const dict *d, uint64_t cursor, const scanOptions *options,
                    const scanElements *elements);

#endif

/* scan.h -- the arguments and replies that SCAN shares with HSCAN, SSCAN and ZSCAN.
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
    size_t count;  /* COUNT, at least 1: how many elements a call should return */
    slice pattern; /* MATCH: borrowed from the arguments */
    bool has_pattern;
    bool keys_only; /* NOVALUES, NOSCORES */
    int type;       /* TYPE: an objectTypeId, or -1 */
} scanOptions;

/* Parses the cursor in argument `index`. Returns false after an error reply. */
bool scanParseCursor(client *c, uint32_t index, uint64_t *cursor) must_check;
/* Parses the options from argument `first` on. TYPE is for SCAN_KEYS only, NOVALUES for SCAN_HASH, NOSCORES for
 * SCAN_ZSET. Returns false after an error reply. */
bool scanParseOptions(client *c, uint32_t first, scanKind kind, scanOptions *out) must_check;
/* Returns the number of calls of dictScanRead() after which a scan of mostly empty buckets ends with fewer than `count`
 * elements. */
size_t scanStepsMax(const scanOptions *options);
/* Returns whether the name matches MATCH. */
bool scanWants(const scanOptions *options, slice name);
/* Adds the start of the reply: an array of two, the first element of which is the cursor. The caller adds the array of
 * elements. */
void addReplyScanCursor(client *c, uint64_t cursor);

/* How entries of a table become elements of the reply. */
typedef struct scanElements {
    bool (*hidden)(const void *entry);                         /* whether to leave an entry out; NULL: none */
    int parts;                                                 /* bulks of an element: 2 for field and value */
    void (*add)(client *c, const void *entry, bool keys_only); /* adds `parts` bulks, 1 with keys_only */
} scanElements;
/* Adds the whole reply of a call of HSCAN, SSCAN or ZSCAN for a value with a table; MATCH is compared with the names of
 * the entries. (A value without a table is returned by one call, with cursor 0; its type's file does that.) */
void scanReplyTable(client *c, const dict *d, uint64_t cursor, const scanOptions *options,
                    const scanElements *elements);

#endif

/* scan.h -- the arguments and replies that SCAN shares with CLUSTERSCAN, HSCAN, SSCAN and ZSCAN.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_SCAN_H
#define COMMANDS_SCAN_H

#include "client.h"
#include "object.h"

typedef enum { SCAN_KEYS, SCAN_CLUSTER, SCAN_HASH, SCAN_SET, SCAN_ZSET } scanKind;

typedef struct scanOptions {
    size_t count;  /* COUNT, at least 1: how many elements a call should return */
    slice pattern; /* MATCH: borrowed from the arguments */
    bool has_pattern;
    bool keys_only;            /* NOVALUES, NOSCORES */
    int type;                  /* TYPE: an objectTypeId, or -1 */
    int slot;                  /* SLOT, or -1 */
    int first_slot, last_slot; /* of keys, in cluster mode; all slots after parsing */
} scanOptions;

/* Parses the options from argument `first` on. TYPE is for SCAN_KEYS and SCAN_CLUSTER only, SLOT for SCAN_CLUSTER,
 * NOVALUES for SCAN_HASH, NOSCORES for SCAN_ZSET. Returns false after an error reply. */
bool scanParseOptions(client *c, uint32_t first, scanKind kind, scanOptions *out) must_check;
/* Returns the number of calls of dictScanRead() after which a scan of mostly empty buckets ends with fewer than `count`
 * elements. */
size_t scanStepsMax(const scanOptions *options);
/* Returns the slot that every key has which the pattern matches; -1 if there may be several, or cluster mode is off. */
int scanPatternSlot(slice pattern);
/* Returns whether the name matches MATCH. */
bool scanMatches(const scanOptions *options, slice name);

/* Parses a decimal number as cursors have it; blanks before it, a sign and leading zeros are allowed. Returns false if
 * it is none. */
bool scanParseNumber(slice text, uint64_t *number) must_check;

/* Replies with a part of the keys of the database, those that pass the options, and with the cursor of the next part:
 * addCursor() adds one bulk for it, from the cursor of dbScanSlots(). */
typedef void scanCursorFn(client *c, uint64_t cursor, const scanOptions *options);
void scanKeys(client *c, uint64_t cursor, const scanOptions *options, scanCursorFn *addCursor);

/* How the elements of a hash, set or sorted set are added to the reply. */
typedef struct scanElements {
    scanKind kind;
    objectTypeId type;
    int parts;                                                 /* bulks of an element: 2 for field and value */
    bool (*hidden)(const void *entry);                         /* whether to leave an entry out; NULL: none */
    void (*add)(client *c, const void *entry, bool keys_only); /* adds `parts` bulks, 1 with keys_only */
    /* For a value without a table: adds all elements that match, and returns their number. */
    long long (*add_all)(client *c, const robj *o, const scanOptions *options);
} scanElements;
/* Runs HSCAN, SSCAN or ZSCAN: key cursor [options]. One call returns all of a value without a table, with cursor 0. */
void scanValue(client *c, const scanElements *elements);

#endif

/* cluster_scan.c -- CLUSTERSCAN: a walk over the keys of a cluster, of which each node serves the part in its slots.
 *
 *   0                    starts a walk; the reply has no keys, but the cursor of the first slot
 *   0-{06S}-0            the start of a slot, which the hash tag names
 *   k3Xw9a-{06S}-49152   a position in the tables of the process whose mark is k3Xw9a, in this slot or after it
 *
 * A cursor is routed like a key. So clients send each one to the node that owns its slot, and after the last of a
 * node's neighbouring slots the cursor names the next slot, whichever node has that. Positions are of use to servers
 * with the same hash key only, since it determines the order of keys: any other server starts the slot again, as each
 * key has to be returned at least once.
 *
 * Not here    routing (slot_check.c), options and filters (scan.c), the walk over slots (db_walk.c).
 * Owns        nothing.
 * Threads     main.
 * Cost        that of a SCAN, and a look at each slot of the node after that of the cursor: some microseconds.
 * Tests       tests/cluster/clusterscan.tcl, tests/differential/cluster
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "hash.h"
#include "reply.h"
#include "scan.h"
#include "slot_check.h"

#include <stdio.h>

#define MARK_LEN 6
#define CURSOR_MAX 40 /* bytes of a cursor: mark, tag, number of 20 digits, and what is between them */

/* Writes the mark of this process's cursors: letters and digits, equal only where the hash key is. */
static void writeMark(char out[MARK_LEN]) {
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const char of_what[] = "cursor of CLUSTERSCAN";
    uint64_t hash = hashBytes(of_what, sizeof(of_what));
    for (int i = 0; i < MARK_LEN; i++, hash /= sizeof(letters) - 1) out[i] = letters[hash % (sizeof(letters) - 1)];
}

/* Parses a cursor other than 0, whose slot is that of its middle part. Sets `*position` to 0 if the cursor only names
 * the slot, as that of another process does. */
static bool parseCursor(slice text, int *slot, uint64_t *position) {
    char mark[MARK_LEN];
    const char *end = text.ptr + text.len;
    const char *tag = text.len ? memchr(text.ptr, '-', text.len) : NULL;
    const char *number = tag ? memchr(tag + 1, '-', (size_t)(end - tag - 1)) : NULL;
    if (!number || !scanParseNumber(sliceOf(number + 1, (size_t)(end - number - 1)), position)) return false;
    *slot = keyHashSlot(tag + 1, (size_t)(number - tag - 1));
    writeMark(mark);
    if (!sliceEq(sliceOf(text.ptr, (size_t)(tag - text.ptr)), sliceOf(mark, MARK_LEN))) *position = 0;
    return true;
}

static void addPosition(client *c, const char *mark, int mark_len, int slot, uint64_t position) {
    char tag[4], text[CURSOR_MAX];
    keySlotTag(slot, tag);
    int len = snprintf(text, sizeof(text), "%.*s-{%s}-%llu", mark_len, mark, tag, (unsigned long long)position);
    addReplyBulk(c, sliceOf(text, (size_t)len));
}

static void addSlotStart(client *c, int slot) {
    if (slot < HASH_SLOTS) addPosition(c, "0", 1, slot, 0);
    else addReplyBulkCString(c, "0");
}

static void addNext(client *c, uint64_t cursor, const scanOptions *options) {
    char mark[MARK_LEN];
    if (cursor == 0) {
        addSlotStart(c, options->slot == -1 ? options->last_slot + 1 : HASH_SLOTS);
        return;
    }
    writeMark(mark);
    addPosition(c, mark, MARK_LEN, (int)(cursor & (HASH_SLOTS - 1)), cursor);
}

/* Replies with a cursor that leads to a slot, and without keys; HASH_SLOTS ends the walk. */
static void replyGoTo(client *c, int slot) {
    addReplyArrayLen(c, 2);
    addSlotStart(c, slot);
    addReplyEmptyArray(c);
}

/* Replies for a cursor of `slot`. */
static void replyPart(client *c, int slot, uint64_t position, scanOptions *options) {
    if (options->slot != -1 && options->slot != slot) {
        replyGoTo(c, options->slot > slot ? options->slot : HASH_SLOTS);
        return;
    }
    options->first_slot = slot;
    options->last_slot = options->slot == slot ? slot : (int)slotTableRunEnd((unsigned)slot);
    scanKeys(c, position > 0 ? position : (uint64_t)slot, options, addNext);
}

/* CLUSTERSCAN cursor [MATCH pattern] [COUNT count] [TYPE type] [SLOT slot] */
void clusterscanCommand(client *c) {
    scanOptions options;
    uint64_t position = 0;
    if (!slotsAreEnabled(c) || !scanParseOptions(c, 2, SCAN_CLUSTER, &options)) return;
    slice cursor = sliceOf(c->argv[1].ptr, strnlen(c->argv[1].ptr, c->argv[1].len));
    int slot = 0;
    bool starts = sliceIs(cursor, "0");
    if (!starts && !parseCursor(cursor, &slot, &position)) {
        addReplyError(c, "Invalid cursor");
        return;
    }
    if (!starts && options.slot != -1 && options.slot != slot) {
        addReplyError(c, "Cursor slot mismatch with SLOT argument");
        return;
    }
    int of_pattern = options.has_pattern ? scanPatternSlot(options.pattern) : -1;
    bool nowhere = of_pattern != -1 && options.slot != -1 && options.slot != of_pattern;
    if (of_pattern != -1) options.slot = of_pattern;
    if (nowhere) replyGoTo(c, HASH_SLOTS);
    else if (starts) replyGoTo(c, options.slot != -1 ? options.slot : 0);
    else replyPart(c, slot, position, &options);
}

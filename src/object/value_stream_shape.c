/* value_stream_shape.c -- the number of nodes of a plain radix tree over the keys of a stream's nodes.
 *
 * XINFO STREAM reports the number of nodes of Valkey's kind of tree: one for each key, one for each position at which
 * keys differ, and one for each run of bytes between these. Our tree is another, so the number is counted separately:
 * what one key adds depends only on its neighbours.
 *
 *   key          0 ....... d0 ............ l ............ d1 ........ 16
 *   neighbours   | part here |  run        |   run        | part here
 *                            with the key: run, part, run, and a run and an end of its own
 *
 * Not here    our tree (ds/rax.c).
 * Owns        nothing.
 * Threads     as value_stream_log.c.
 * Cost        two searches, once for each node that is added or removed.
 * Tests       tests/unit/object/value_stream_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_stream_internal.h"

uint64_t streamShapeEmpty(void) { return 1; }

static int commonBytes(slice a, const uint8_t *b) {
    int n = 0;
    while (n < STREAM_ID_BYTES && (uint8_t)a.ptr[n] == b[n]) n++;
    return n;
}

static int larger(int a, int b) { return a > b ? a : b; }

/* Returns the longest prefix that `key` has in common with another key; -1 if there is none. */
static int longestCommon(raxIterator *it, slice key) {
    int longest = -1;
    const uint8_t *bytes = (const uint8_t *)key.ptr;
    if (raxIterSeek(it, RAX_SEEK_LT, key)) longest = commonBytes(raxIterKey(it), bytes);
    if (raxIterSeek(it, RAX_SEEK_GT, key)) longest = larger(longest, commonBytes(raxIterKey(it), bytes));
    return longest;
}

int64_t streamShapeAdded(const rax *nodes, streamId id) {
    uint8_t key[STREAM_ID_BYTES], first[STREAM_ID_BYTES], last[STREAM_ID_BYTES];
    raxIterator it;
    if (!nodes) return 1;
    raxIterBegin(&it, nodes);
    int part = longestCommon(&it, streamIdBytes(id, key)), above = -1, below;
    if (part == -1) {
        raxIterEnd(&it);
        return 1;
    }

    /* The keys with that prefix: find where they differ from the others, and where from each other. */
    memcpy(first, key, sizeof(first));
    memcpy(last, key, sizeof(last));
    memset(first + part, 0, (size_t)(STREAM_ID_BYTES - part));
    memset(last + part, 0xff, (size_t)(STREAM_ID_BYTES - part));
    if (raxIterSeek(&it, RAX_SEEK_LT, sliceOf(first, sizeof(first)))) above = commonBytes(raxIterKey(&it), first);
    if (raxIterSeek(&it, RAX_SEEK_GT, sliceOf(last, sizeof(last))))
        above = larger(above, commonBytes(raxIterKey(&it), last));
    bool found = raxIterSeek(&it, RAX_SEEK_GE, sliceOf(first, sizeof(first)));
    if (found) memcpy(first, raxIterKey(&it).ptr, sizeof(first));
    if (found && raxIterSeek(&it, RAX_SEEK_LE, sliceOf(last, sizeof(last))))
        below = commonBytes(raxIterKey(&it), first);
    else below = STREAM_ID_BYTES;
    raxIterEnd(&it);

    int64_t own = 1 + (STREAM_ID_BYTES > part + 1);
    if (below == part) return own;
    return own + (part > above + 1) + (below > part + 1);
}

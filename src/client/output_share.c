/* output_share.c -- maxmemory-clients-share: unread output is paid for by the clients that do not read, not by the
 * dataset.
 *
 * The fair part needs no count of clients: with one client that does not read it is half of the share, with n of them
 * an n + 1st, because each sees what the others have taken.
 *
 * Values to which replies refer count while their keys live as the dataset, and after that as output, so nothing
 * counts twice and nothing is left out. If every reference counted as output at once, a thousand clients that wait for
 * one value of 1 MiB would let the dataset grow by a gigabyte beyond maxmemory.
 *
 * Not here    the waiting itself (output_limits.c, net/session/command_batch.c).
 * Owns        nothing.
 * Threads     main.
 * Invariants  1. Memory that counts for eviction = used memory - what is unread beyond the share.
 * Cost        a sum of three counters; nothing on the path of a reply that is sent at once.
 * Tests       tests/unit/client/output_share_test.c, tests/engine/slow_readers.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "output_share.h"

#include "evict.h"
#include "panic.h"
#include "reply_block.h"

long long output_share_percent; /* main: set from the row in client_settings.c */

static size_t (*requests)(void); /* const after startup; NULL without connections */
static size_t requests_waiting;  /* as of the last outputShareMeasure() */

/* Returns the share in bytes; SIZE_MAX if it is off. */
static size_t shareBytes(void) {
    size_t limit = evictLimit();
    if (limit == 0 || output_share_percent == OUTPUT_SHARE_OFF) return SIZE_MAX;
    return limit / 100 * (size_t)output_share_percent;
}

size_t outputUnread(void) {
    assertMainRole();
    return replyBlocksMemory() + object_orphan_bytes + requests_waiting;
}

size_t outputFairPart(void) {
    size_t share = shareBytes();
    if (share == SIZE_MAX) return SIZE_MAX;
    size_t unread = outputUnread(), left = unread < share ? share - unread : 0;
    return left > OUTPUT_PART_LEAST ? left : OUTPUT_PART_LEAST;
}

void outputShareMeasure(void) { requests_waiting = requests ? requests() : 0; }

static size_t beyondShare(void) {
    outputShareMeasure();
    size_t share = shareBytes(), unread = outputUnread();
    return unread > share ? unread - share : 0;
}

void outputShareInit(size_t (*fn)(void)) {
    requests = fn;
    evictAddUncounted(beyondShare);
}

/* snapshot_frame.c -- the framing of a snapshot (RDB) on a replication connection: its header and its end.
 *
 * Not here    sending one (repl/primary/full_sync.c); what the bytes mean (persist/rdb/rdb_scan.h).
 * Owns        nothing.
 * Threads     any.
 * Invariants  1. Bytes after a snapshot of known length are never read.
 * Tests       tests/unit/resp/snapshot_frame_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot_frame.h"

#include "numbers.h"
#include "panic.h"

#define MARK_HEAD "$EOF:"
#define MARK_HEAD_BYTES (sizeof(MARK_HEAD) - 1)

bool snapshotFrameParse(snapshotFrame *f, slice line) {
    long long length;
    *f = (snapshotFrame){0};
    if (line.len == MARK_HEAD_BYTES + SNAPSHOT_MARK_BYTES && !memcmp(line.ptr, MARK_HEAD, MARK_HEAD_BYTES)) {
        memcpy(f->mark, line.ptr + MARK_HEAD_BYTES, SNAPSHOT_MARK_BYTES);
        return true;
    }
    if (line.len < 2 || *line.ptr != '$' || !string2ll(line.ptr + 1, line.len - 1, &length) || length < 0) return false;
    f->has_length = true;
    f->length = (uint64_t)length;
    return true;
}

void snapshotFrameBegin(snapshotFrameScan *s, const snapshotFrame *f) {
    s->frame = *f;
    s->left = f->length;
    s->held_len = 0;
    s->ended = f->has_length && f->length == 0;
}

size_t snapshotFrameMost(const snapshotFrameScan *s, size_t capacity) {
    debugAssert(!s->ended);
    if (s->frame.has_length) return capacity < s->left ? capacity : (size_t)s->left;
    serverAssert(capacity > SNAPSHOT_MARK_BYTES);
    return capacity - SNAPSHOT_MARK_BYTES; /* the bytes withheld may go before it */
}

/* `n` bytes were received after those withheld: outputs all but the last SNAPSHOT_MARK_BYTES of both. */
static size_t releaseBytes(snapshotFrameScan *s, char *buf, size_t n) {
    char both[2 * SNAPSHOT_MARK_BYTES];
    if (n >= SNAPSHOT_MARK_BYTES) { /* outputs all withheld bytes, and withholds as many of the new ones */
        memcpy(both, buf + n - SNAPSHOT_MARK_BYTES, SNAPSHOT_MARK_BYTES);
        memmove(buf + s->held_len, buf, n - SNAPSHOT_MARK_BYTES);
        memcpy(buf, s->held, s->held_len);
        size_t out = s->held_len + n - SNAPSHOT_MARK_BYTES;
        memcpy(s->held, both, SNAPSHOT_MARK_BYTES);
        s->held_len = SNAPSHOT_MARK_BYTES;
        return out;
    }
    memcpy(both, s->held, s->held_len);
    memcpy(both + s->held_len, buf, n);
    size_t all = s->held_len + n, out = all > SNAPSHOT_MARK_BYTES ? all - SNAPSHOT_MARK_BYTES : 0;
    memcpy(buf, both, out);
    s->held_len = all - out;
    memcpy(s->held, both + out, s->held_len);
    return out;
}

size_t snapshotFrameTake(snapshotFrameScan *s, char *buf, size_t n) {
    if (!s->frame.has_length) {
        n = releaseBytes(s, buf, n);
        s->ended = s->held_len == SNAPSHOT_MARK_BYTES && !memcmp(s->held, s->frame.mark, SNAPSHOT_MARK_BYTES);
        return n;
    }
    debugAssert(n <= s->left);
    s->left -= n;
    s->ended = s->left == 0;
    return n;
}

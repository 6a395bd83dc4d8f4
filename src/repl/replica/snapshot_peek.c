/* snapshot_peek.c -- whether the RDB that a primary begins to send has keys, before anything is done for it.
 *
 * A replica that would rather keep its dataset than take an empty one (keep_dataset.h) has to know before it loads:
 * loading removes the dataset, or stops clients from being served. The bytes that are looked at stay with the
 * connection, for the code that loads or stores them.
 *
 * Libraries of functions stand before the keys of an RDB and are no keys.
 *
 * Not here    what an empty RDB leads to (keep_dataset.c).
 * Owns        nothing.
 * Threads     the job's.
 * Cost        one read in most cases: the number of keys stands in the first 300 bytes of an RDB without libraries.
 * Tests       tests/unit/repl/replica/snapshot_peek_test.c, tests/repl/keep_from_empty.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot_peek.h"

#include "panic.h"
#include "rdb_scan.h"

#include <errno.h>
#include <string.h>

#define PEEK_MAX ((size_t)1 << 20)
#define MAGIC_BYTES 9

typedef enum { PEEK_KEYS, PEEK_NO_KEYS, PEEK_UNKNOWN /* yet: more bytes are needed */ } peekResult;

/* The bytes that have arrived, as a source of a scanner. */
typedef struct arrived {
    const char *at;
    size_t left;
} arrived;

static ssize_t readArrived(void *arg, void *buf, size_t len) {
    arrived *a = arg;
    if (len > a->left) len = a->left;
    memcpy(buf, a->at, len);
    a->at += len;
    a->left -= len;
    return (ssize_t)len;
}

static void stopArrived(void *arg) { ((arrived *)arg)->left = 0; }

static bool tellsOfKeys(const rdbItem *item) {
    switch ((rdbItemKind)item->kind) {
    case RDB_ITEM_KEY: return true;
    case RDB_ITEM_RESIZE: return item->number > 0;
    case RDB_ITEM_AUX:
    case RDB_ITEM_DB:
    case RDB_ITEM_FUNCTION:
    case RDB_ITEM_MODULE_AUX:
    case RDB_ITEM_SLOT_INFO:
    case RDB_ITEM_SLOT_IMPORT:
    case RDB_ITEM_END: return false;
    }
    return false;
}

static peekResult judgePiece(const rdbPiece *piece) {
    for (size_t i = 0; i < piece->count; i++) {
        if (tellsOfKeys(&piece->items[i])) return PEEK_KEYS;
        if (piece->items[i].kind == RDB_ITEM_END) return PEEK_NO_KEYS;
    }
    return PEEK_UNKNOWN;
}

/* Returns whether a fault may only mean that the bytes after these have not arrived. */
static bool isOnlyCut(const rdbFault *f, size_t len) {
    return f->kind == RDB_FAULT_SHORT || (f->kind == RDB_FAULT_SIGNATURE && len < MAGIC_BYTES);
}

static peekResult judge(const char *bytes, size_t len) {
    arrived a = {bytes, len};
    const rdbSource source = {readArrived, stopArrived, &a, 0};
    const rdbScanOptions options = {.relaxed = true, .source = &source};
    rdbScanner *s = rdbScanCreate(-1, &options);
    rdbPiece piece = {0};
    peekResult result = PEEK_UNKNOWN;
    for (bool more = true; more && result == PEEK_UNKNOWN;) {
        more = rdbScanNext(s, &piece);
        result = judgePiece(&piece);
        if (result == PEEK_UNKNOWN && !more && !isOnlyCut(rdbScanFault(s), len)) result = PEEK_KEYS;
    }
    rdbPieceFree(&piece);
    rdbScanFree(s);
    return result;
}

bool snapshotPeek(linkJob *job) {
    const linkWire *w = &job->wire;
    uint64_t most = job->frame.has_length && job->frame.length < PEEK_MAX ? job->frame.length : PEEK_MAX;
    for (;;) {
        size_t len = w->early_len < most ? w->early_len : (size_t)most;
        peekResult result = judge(w->early, len);
        if (result != PEEK_UNKNOWN || len == most) {
            job->is_empty = result == PEEK_NO_KEYS;
            return true;
        }
        if (!linkReadMore(job)) return false;
    }
}

/* keyspace_events.c -- the observer lists of the keyspace, and the classes of keyspace events.
 *
 * Upper layers (WATCH, client-side caching, pub/sub, replication) must hear of every change, and the keyspace must not
 * know them.
 *
 * Not here    who calls: db.c, expire.c, evict.c, and the commands.
 * Owns        the lists, filled at boot.
 * Threads     main.
 * Cost        one call per observer and change; an event whose class is off costs one test.
 * Tests       tests/unit/store/keyspace_events_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "keyspace_events.h"

#include "panic.h"
#include "store_state.h"

#define OBSERVERS_MAX 8

static keyModifiedFn *modified[OBSERVERS_MAX];
static keyspaceEventFn *events[OBSERVERS_MAX];
static keyRemovedFn *removed[OBSERVERS_MAX];
static dbFlushedFn *flushed[OBSERVERS_MAX];
static unsigned modified_count, events_count, removed_count, flushed_count;

void storeObserveModified(keyModifiedFn *fn) {
    assertMainRole();
    serverAssert(modified_count < OBSERVERS_MAX);
    modified[modified_count++] = fn;
}

void storeObserveEvents(keyspaceEventFn *fn) {
    assertMainRole();
    serverAssert(events_count < OBSERVERS_MAX);
    events[events_count++] = fn;
}

void storeObserveRemoved(keyRemovedFn *fn) {
    assertMainRole();
    serverAssert(removed_count < OBSERVERS_MAX);
    removed[removed_count++] = fn;
}

void storeObserveFlushed(dbFlushedFn *fn) {
    assertMainRole();
    serverAssert(flushed_count < OBSERVERS_MAX);
    flushed[flushed_count++] = fn;
}

void signalModifiedKey(serverDb *db, slice key) {
    assertMainRole();
    for (unsigned i = 0; i < modified_count; i++) modified[i](db, key);
}

void notifyKeyspaceEvent(int type, const char *event, slice key, int dbid) {
    assertMainRole();
    if (likely(!(store_settings.notify_events & type))) return;
    for (unsigned i = 0; i < events_count; i++) events[i](type, event, key, dbid);
}

void keyspaceTellRemoved(serverDb *db, slice key, bool evicted) {
    assertMainRole();
    for (unsigned i = 0; i < removed_count; i++) removed[i](db, key, evicted);
}

void keyspaceTellFlushed(int dbid, bool async) {
    assertMainRole();
    for (unsigned i = 0; i < flushed_count; i++) flushed[i](dbid, async);
}

/* ---- The setting's text ---- */

/* The reference server's order of output. 'A' stands for the first ten together, and n is not shown beside it. */
static const struct {
    char letter;
    int class;
} class_letters[] = {{'g', NOTIFY_GENERIC},  {'$', NOTIFY_STRING},  {'l', NOTIFY_LIST},    {'s', NOTIFY_SET},
                     {'h', NOTIFY_HASH},     {'z', NOTIFY_ZSET},    {'x', NOTIFY_EXPIRED}, {'e', NOTIFY_EVICTED},
                     {'t', NOTIFY_STREAM},   {'d', NOTIFY_MODULE},  {'n', NOTIFY_NEW},     {'K', NOTIFY_KEYSPACE},
                     {'E', NOTIFY_KEYEVENT}, {'m', NOTIFY_KEY_MISS}};
enum {
    CLASSES_OF_A = NOTIFY_GENERIC | NOTIFY_STRING | NOTIFY_LIST | NOTIFY_SET | NOTIFY_HASH | NOTIFY_ZSET |
                   NOTIFY_EXPIRED | NOTIFY_EVICTED | NOTIFY_STREAM | NOTIFY_MODULE
};
static_assert(array_len(class_letters) + 1 < NOTIFY_TEXT_SIZE, "all letters and a NUL fit");

static int classOf(char letter) {
    if (letter == 'A') return CLASSES_OF_A;
    for (size_t i = 0; i < array_len(class_letters); i++)
        if (class_letters[i].letter == letter) return class_letters[i].class;
    return 0;
}

bool notifyParseClasses(slice text, int *classes) {
    int found = 0;
    for (size_t i = 0; i < text.len; i++) {
        int class = classOf(text.ptr[i]);
        if (!class) return false;
        found |= class;
    }
    *classes = found;
    return true;
}

size_t notifyPrintClasses(char *out, int classes) {
    size_t len = 0;
    int hidden = 0;
    if ((classes & CLASSES_OF_A) == CLASSES_OF_A) {
        out[len++] = 'A';
        hidden = CLASSES_OF_A | NOTIFY_NEW;
    }
    for (size_t i = 0; i < array_len(class_letters); i++)
        if (classes & ~hidden & class_letters[i].class) out[len++] = class_letters[i].letter;
    out[len] = '\0';
    return len;
}

/* keyspace_events.c -- reports every change of the keyspace.
 *
 * Upper layers (pub/sub, transactions, client-side caching, replication, persistence) must learn of every change, and
 * the keyspace must not know them. There is one call per change, not one per observer, so that a handler cannot
 * forget an observer.
 *
 *   handler --dbKeyChanged()--> count --> modified observers (WATCH, tracking)
 *                                     --> event observers    (notifications)
 *   db.c ----expired, evicted-------> the same, and removed observers (DEL to AOF and replicas)
 *
 * In debug builds db.c enters each key that it changes in a ledger, a report removes it, and the ledger must be empty
 * when a command ends. They also report lookups.
 *
 * Not here    the callers: db.c, evict.c, and the commands; the rules of access (engine/key_check.c).
 * Owns        the lists, filled at startup; the ledger.
 * Threads     main.
 * Cost        two tests without observers; one call per observer and change.
 * Tests       tests/unit/store/keyspace_events_test.c, tests/unit/commands/write_commands_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "keyspace_events_internal.h"

#include "panic.h"

#define OBSERVERS_MAX 8
#define LEDGER_MAX 64

static keyModifiedFn *modified[OBSERVERS_MAX];
static keyspaceEventFn *events[OBSERVERS_MAX];
static keyRemovedFn *removed[OBSERVERS_MAX];
static elementRemovedFn *elements_removed[OBSERVERS_MAX];
static dbFlushedFn *flushed[OBSERVERS_MAX];
static dbSwappedFn *swapped[OBSERVERS_MAX];
static keyReadyFn *ready[OBSERVERS_MAX];
unsigned keyspace_modified_observers;
static unsigned events_count, removed_count, elements_removed_count, flushed_count, swapped_count, ready_count;

/* Returns the position of one more observer in a list that has `count` of them. */
static unsigned nextObserver(unsigned *count) {
    assertMainRole();
    serverAssert(*count < OBSERVERS_MAX);
    return (*count)++;
}

void storeObserveModified(keyModifiedFn *fn) { modified[nextObserver(&keyspace_modified_observers)] = fn; }

void storeObserveEvents(keyspaceEventFn *fn) { events[nextObserver(&events_count)] = fn; }

void storeObserveRemoved(keyRemovedFn *fn) { removed[nextObserver(&removed_count)] = fn; }

void storeObserveElementsRemoved(elementRemovedFn *fn) { elements_removed[nextObserver(&elements_removed_count)] = fn; }

void storeObserveFlushed(dbFlushedFn *fn) { flushed[nextObserver(&flushed_count)] = fn; }

void storeObserveSwapped(dbSwappedFn *fn) { swapped[nextObserver(&swapped_count)] = fn; }

void storeObserveReady(keyReadyFn *fn) { ready[nextObserver(&ready_count)] = fn; }

/* ---- Debug builds: access of commands, and the ledger ---- */

#ifdef DEBUG_ASSERTIONS
static keyTouchedFn *touched;

void storeOnTouch(keyTouchedFn *fn) { touched = fn; }

void keyspaceTouched(const serverDb *db, uint64_t hash, keyTouch touch) {
    if (touched) touched(db, hash, touch);
}

static struct {
    struct {
        const serverDb *db;
        uint64_t hash;
    } owed[LEDGER_MAX];
    size_t count;
    bool full; /* it overflowed: no command changes so many keys before it reports one */
} ledger;

void keyspaceOwe(const serverDb *db, uint64_t hash) {
    for (size_t i = 0; i < ledger.count; i++)
        if (ledger.owed[i].hash == hash && ledger.owed[i].db == db) return;
    if (ledger.count == LEDGER_MAX) {
        ledger.full = true;
        return;
    }
    ledger.owed[ledger.count].db = db;
    ledger.owed[ledger.count++].hash = hash;
}

void keyspaceSettle(const serverDb *db, uint64_t hash) {
    for (size_t i = 0; i < ledger.count; i++) {
        if (ledger.owed[i].hash != hash || ledger.owed[i].db != db) continue;
        ledger.owed[i] = ledger.owed[--ledger.count];
        return;
    }
}

static void settleAll(void) {
    ledger.count = 0;
    ledger.full = false;
}

bool keyspaceAllNotified(void) { return ledger.count == 0 && !ledger.full; }
#else
static void settleAll(void) {}

bool keyspaceAllNotified(void) { return true; }
#endif

/* ---- Reporting ---- */

static void notifyModified(serverDb *db, hashedKey key, changeCause cause) {
    assertMainRole();
    keyspaceSettle(db, key.hash);
    for (unsigned i = 0; i < keyspace_modified_observers; i++) modified[i](db, key, cause);
}

void keyspaceNotifyEvent(serverDb *db, int event_class, const char *event, slice key) {
    assertMainRole();
    for (unsigned i = 0; i < events_count; i++) events[i](db, event_class, event, key);
}

static void notifyRemoved(serverDb *db, slice key, bool evicted) {
    for (unsigned i = 0; i < removed_count; i++) removed[i](db, key, evicted);
}

void keyspaceNotifyChanged(serverDb *db, hashedKey key, changeCause cause, int event_class, const char *event) {
    notifyModified(db, key, cause);
    notifyKeyspaceEvent(db, event_class, event, key.name);
}

void dbKeyMoved(serverDb *from_db, hashedKey from, const char *from_event, serverDb *to_db, hashedKey to,
                const char *to_event) {
    store_stats.dirty++;
    keyspaceTouched(from_db, from.hash, TOUCH_CHANGE);
    keyspaceTouched(to_db, to.hash, TOUCH_CHANGE);
    notifyModified(from_db, from, CHANGED_BY_COMMAND);
    notifyModified(to_db, to, CHANGED_BY_COMMAND);
    notifyKeyspaceEvent(from_db, NOTIFY_GENERIC, from_event, from.name);
    notifyKeyspaceEvent(to_db, NOTIFY_GENERIC, to_event, to.name);
}

static const robj *expired_value; /* borrowed; see keyspaceExpiredValue() */

const robj *keyspaceExpiredValue(void) { return expired_value; }

static void (*on_settled)(void); /* const after startup */

void storeOnSettled(void (*fn)(void)) {
    debugAssert(!on_settled);
    on_settled = fn;
}

void keyspaceSettled(void) {
    if (on_settled) on_settled();
}

/* Expiry by a command is propagated as that command; expiry by the server needs a DEL of its own. */
void keyspaceNotifyExpired(serverDb *db, const robj *entry, uint64_t hash, changeCause cause) {
    hashedKey key = {objectKey(entry), hash};
    if (cause == CHANGED_BY_COMMAND) keyspaceTouched(db, key.hash, TOUCH_CHANGE);
    expired_value = entry;
    notifyKeyspaceEvent(db, NOTIFY_EXPIRED, "expired", key.name);
    expired_value = NULL;
    notifyModified(db, key, cause);
    if (cause == CHANGED_BY_COMMAND) store_stats.dirty++;
    else notifyRemoved(db, key.name, false);
    store_stats.expired_keys++;
}

void keyspaceNotifyElementRemoved(serverDb *db, slice key, const slice *element) {
    for (unsigned i = 0; i < elements_removed_count; i++) elements_removed[i](db, key, element);
}

void keyspaceNotifyElementsExpired(serverDb *db, hashedKey key) {
    notifyKeyspaceEvent(db, NOTIFY_EXPIRED, "hexpired", key.name);
    notifyModified(db, key, CHANGED_BY_EXPIRY);
}

void keyspaceNotifyEmptied(serverDb *db, hashedKey key) {
    notifyKeyspaceEvent(db, NOTIFY_GENERIC, "del", key.name);
    notifyModified(db, key, CHANGED_BY_EXPIRY);
    notifyRemoved(db, key.name, false);
}

void keyspaceNotifyEvicted(serverDb *db, hashedKey key) {
    notifyModified(db, key, CHANGED_BY_EVICTION);
    notifyKeyspaceEvent(db, NOTIFY_EVICTED, "evicted", key.name);
    notifyRemoved(db, key.name, true);
    store_stats.evicted_keys++;
}

void dbKeyReady(serverDb *db, hashedKey key, int type) {
    assertMainRole();
    for (unsigned i = 0; i < ready_count; i++) ready[i](db, key, type);
}

void keyspaceNotifyFlushed(int dbid, bool async, long long keys) {
    assertMainRole();
    for (unsigned i = 0; i < flushed_count; i++) flushed[i](dbid, async);
    store_stats.dirty += keys;
    settleAll();
}

void keyspaceNotifySwapped(int a, int b) {
    assertMainRole();
    for (unsigned i = 0; i < swapped_count && a != b; i++) swapped[i](a, b);
    store_stats.dirty++;
}

/* keyspace_events.h -- reports every change of the keyspace.
 *
 * A command reports each change of a key here, once, which has all the effects of a change: it is counted, the running
 * command is propagated, watchers and client-side caches are notified of the key, subscribers of the event. Observers
 * are called on main, in the order of registration, at most 8 of each kind. They must not change the keyspace.
 * docs/design/keyspace_changes.md has the whole picture.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_KEYSPACE_EVENTS_H
#define STORE_KEYSPACE_EVENTS_H

#include "hash.h"
#include "object.h"
#include "slice.h"
#include "store_state.h"

typedef struct serverDb serverDb;

/* A key's name with its hash, which the parser of the command computes once. */
typedef struct hashedKey {
    slice name;
    uint64_t hash; /* keyHash() of name */
} hashedKey;
/* Computes the hash of a name. */
static inline hashedKey hashedKeyOf(slice name) { return (hashedKey){name, keyHash(name)}; }

/* The cause of a change: the running command, which has a client (callCurrentClient()); or the server itself, whichever
 * command has looked up the key. CHANGED_GROUPS: caused by the command, but only in a stream's data beside entries,
 * such as consumer groups, which WATCH ignores. CHANGED_BY_RECORDER: an event was added to the stream of events. */
typedef enum {
    CHANGED_BY_COMMAND,
    CHANGED_GROUPS,
    CHANGED_BY_EXPIRY,
    CHANGED_BY_EVICTION,
    CHANGED_BY_RECORDER
} changeCause;

typedef void keyModifiedFn(serverDb *db, hashedKey key, changeCause cause);
typedef void keyspaceEventFn(serverDb *db, int event_class, const char *event, slice key);
/* Called when the server has expired or evicted a key: propagate DEL or UNLINK, before the running command. */
typedef void keyRemovedFn(serverDb *db, slice key, bool evicted);
/* Called when an expired element of the key was removed: propagate HDEL. `element` is NULL after the last of one call;
 * if no element is left, the deletion of the key is reported before that. */
typedef void elementRemovedFn(serverDb *db, slice key, const slice *element);
/* dbid -1: all. Called before the keys are deleted, also if there are none: the command is propagated. */
typedef void dbFlushedFn(int dbid, bool async);
/* Called before two databases are swapped; not for a swap of one with itself. */
typedef void dbSwappedFn(int a, int b);
/* Called when a key is added, or has new elements, for which blocked clients may wait. Called in the middle of a
 * change: only note the key. */
typedef void keyReadyFn(serverDb *db, hashedKey key, int type);
/* Each registers an observer; call at startup. */
void storeObserveModified(keyModifiedFn *fn);
void storeObserveEvents(keyspaceEventFn *fn); /* only for classes enabled by notify-keyspace-events */
void storeObserveRemoved(keyRemovedFn *fn);
void storeObserveElementsRemoved(elementRemovedFn *fn);
void storeObserveFlushed(dbFlushedFn *fn);
void storeObserveSwapped(dbSwappedFn *fn);
void storeObserveReady(keyReadyFn *fn);

/* Returns the value that is being deleted because it has expired; NULL if the event that is being reported is another
 * one. Call in an observer of events. */
const robj *keyspaceExpiredValue(void);
/* Sets the function that is called when the server may have removed keys by itself, expired or evicted ones, and the
 * keyspace may be changed; at least once in each loop iteration. Startup only. */
void storeOnSettled(void (*fn)(void));

/* --- Access of commands, in debug builds ----------------------------------------------------------------- */

/* A lookup of a key, or a change by the running command; a whole database is read, or is emptied or swapped. Actions of
 * the server itself (expiry, eviction, loading) are not reported. */
typedef enum { TOUCH_LOOKUP, TOUCH_CHANGE, TOUCH_READ_ALL, TOUCH_CHANGE_ALL } keyTouch;
#ifdef DEBUG_ASSERTIONS
/* `hash` is that of the key; 0 if there is none. */
typedef void keyTouchedFn(const serverDb *db, uint64_t hash, keyTouch touch);
void storeOnTouch(keyTouchedFn *fn); /* sets the only one, at startup */
void keyspaceTouched(const serverDb *db, uint64_t hash, keyTouch touch);
#else
static inline void keyspaceTouched(const serverDb *db, uint64_t hash, keyTouch touch) {
    unused(db), unused(hash), unused(touch);
}
#endif

/* --- Reporting changes ----------------------------------------------------------------------------------- */

/* For the inlines below. */
extern unsigned keyspace_modified_observers;
void keyspaceNotifyChanged(serverDb *db, hashedKey key, changeCause cause, int event_class, const char *event);
void keyspaceNotifyEvent(serverDb *db, int event_class, const char *event, slice key);
#ifdef DEBUG_ASSERTIONS
/* Notes that the change of a key was reported. */
void keyspaceSettle(const serverDb *db, uint64_t hash);
#else
static inline void keyspaceSettle(const serverDb *db, uint64_t hash) { unused(db), unused(hash); }
#endif

/* Reports that the running command has changed `key` of `db`, as `event`. `changes` is added to
 * rdb_changes_since_last_save: 1, or the number of elements; a command that adds none is not propagated (0 is for
 * changes that must not be). Call when the change is done, once per key and change. */
static inline void dbKeyChanged(serverDb *db, hashedKey key, int event_class, const char *event, long long changes) {
    store_stats.dirty += changes;
    keyspaceTouched(db, key.hash, TOUCH_CHANGE);
    keyspaceSettle(db, key.hash);
    if (unlikely(keyspace_modified_observers != 0 || (store_settings.notify_events & event_class) != 0))
        keyspaceNotifyChanged(db, key, CHANGED_BY_COMMAND, event_class, event);
}

/* Like dbKeyChanged(), with CHANGED_GROUPS. */
static inline void dbKeyGroupsChanged(serverDb *db, hashedKey key, int event_class, const char *event,
                                      long long changes) {
    store_stats.dirty += changes;
    keyspaceTouched(db, key.hash, TOUCH_CHANGE);
    keyspaceSettle(db, key.hash);
    keyspaceNotifyChanged(db, key, CHANGED_GROUPS, event_class, event);
}

/* Sends a further event of a change that has been reported: "expire" after "set", "del" after the event that emptied a
 * list. */
static inline void dbKeyEvent(serverDb *db, hashedKey key, int event_class, const char *event) {
    if (unlikely(store_settings.notify_events & event_class)) keyspaceNotifyEvent(db, event_class, event, key.name);
}

/* Reports that the key, of type objectTypeId, has data for blocked clients. db.c calls it for each list, sorted set and
 * stream that is added; handlers call it if a present value gets such data (XADD, XGROUP). */
void dbKeyReady(serverDb *db, hashedKey key, int type);

/* Reports that a value has moved from one key to another: one change, two keys. */
void dbKeyMoved(serverDb *from_db, hashedKey from, const char *from_event, serverDb *to_db, hashedKey to,
                const char *to_event);

/* In debug builds, returns whether each key that db.c has changed was reported. Called after every command. */
bool keyspaceAllNotified(void);

#endif

/* keyspace_events.h -- the door through which every change of the keyspace is told.
 *
 * Who changes a key tells it here, once, and everything that a change means is done: it counts, it is what the running
 * command is propagated for, watchers and caches hear of the key, subscribers of the event. Observers are called on
 * main, in the order of registration, at most 8 of each kind. They must not change the keyspace.
 * docs/design/keyspace_changes.md has the whole picture.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_KEYSPACE_EVENTS_H
#define STORE_KEYSPACE_EVENTS_H

#include "hashed_key.h"
#include "keyspace_touch.h"
#include "store_state.h"

/* Whose doing a change is. That of the running command, by which its client is known (callCurrentClient()); or that of
 * the server, whoever happened to ask for the key. CHANGED_GROUPS: the command's, but what a stream knows beside its
 * entries, consumer groups and their like, which those who watch the key do not count. */
typedef enum { CHANGED_BY_COMMAND, CHANGED_GROUPS, CHANGED_BY_EXPIRY, CHANGED_BY_EVICTION } changeCause;

typedef void keyModifiedFn(serverDb *db, hashedKey key, changeCause cause);
typedef void keyspaceEventFn(serverDb *db, int event_class, const char *event, slice key);
/* Expired or evicted by the server: to be propagated as DEL or UNLINK, before the running command. */
typedef void keyRemovedFn(serverDb *db, slice key, bool evicted);
/* An element of the key whose time is over has been taken out: to be propagated as HDEL. NULL: that were all of this
 * time; the key itself, if none is left, has been told before that. */
typedef void elementRemovedFn(serverDb *db, slice key, const slice *element);
/* -1: all. Called before the keys go, also when there are none: the command is propagated. */
typedef void dbFlushedFn(int dbid, bool async);
/* Called before two databases change places. One that is swapped with itself is not told of. */
typedef void dbSwappedFn(int a, int b);
/* A key is there now, or has new elements, that commands may wait for. Called in the middle of a change: remember it,
 * do nothing else. */
typedef void keyReadyFn(serverDb *db, hashedKey key, int type);
void storeObserveModified(keyModifiedFn *fn);
void storeObserveEvents(keyspaceEventFn *fn); /* only classes that notify-keyspace-events names */
void storeObserveRemoved(keyRemovedFn *fn);
void storeObserveElementsRemoved(elementRemovedFn *fn);
void storeObserveFlushed(dbFlushedFn *fn);
void storeObserveSwapped(dbSwappedFn *fn);
void storeObserveReady(keyReadyFn *fn);

/* --- The door ----------------------------------------------------------------------------------- */

/* For the inlines below. */
extern unsigned keyspace_modified_observers;
void keyspaceNotifyChanged(serverDb *db, hashedKey key, changeCause cause, int event_class, const char *event);
void keyspaceNotifyEvent(serverDb *db, int event_class, const char *event, slice key);
#ifdef DEBUG_ASSERTIONS
void keyspaceSettle(const serverDb *db, uint64_t hash);
#else
static inline void keyspaceSettle(const serverDb *db, uint64_t hash) {
    unused(db), unused(hash);
}
#endif

/* `key` of `db` has been changed by the running command, as `event` says. `changes` is what that adds to
 * rdb_changes_since_last_save: 1, or the number of elements; a command that adds none has nothing to propagate (and 0
 * is for changes that are not to be). Told when the change is done, once for each key and change. */
static inline void dbKeyChanged(serverDb *db, hashedKey key, int event_class, const char *event, long long changes) {
    store_stats.dirty += changes;
    keyspaceTouched(db, key.hash, TOUCH_CHANGE);
    keyspaceSettle(db, key.hash);
    if (unlikely(keyspace_modified_observers != 0 || (store_settings.notify_events & event_class) != 0))
        keyspaceNotifyChanged(db, key, CHANGED_BY_COMMAND, event_class, event);
}

/* The same for CHANGED_GROUPS. */
static inline void dbKeyGroupsChanged(serverDb *db, hashedKey key, int event_class, const char *event,
                                      long long changes) {
    store_stats.dirty += changes;
    keyspaceTouched(db, key.hash, TOUCH_CHANGE);
    keyspaceSettle(db, key.hash);
    keyspaceNotifyChanged(db, key, CHANGED_GROUPS, event_class, event);
}

/* A further event of a change that has been told: "expire" after "set", "del" after the event that emptied a list. */
static inline void dbKeyEvent(serverDb *db, hashedKey key, int event_class, const char *event) {
    if (unlikely(store_settings.notify_events & event_class)) keyspaceNotifyEvent(db, event_class, event, key.name);
}

/* The key, of an objectTypeId, has something for those who wait. db.c says so of each list, sorted set and stream that
 * comes, by whatever command; the handler where a value that is there gets what can be waited for (XADD, XGROUP). */
void dbKeyReady(serverDb *db, hashedKey key, int type);

/* A value has gone from one key to another: one change, two keys. */
void dbKeyMoved(serverDb *from_db, hashedKey from, const char *from_event, serverDb *to_db, hashedKey to,
                const char *to_event);

/* Debug builds: whether each key that db.c has changed has been told of. Asked after every command. */
bool keyspaceAllNotified(void);

#endif

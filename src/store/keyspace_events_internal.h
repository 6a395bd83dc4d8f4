/* keyspace_events_internal.h -- what the keyspace itself tells: lookups, expiry, eviction, whole databases.
 *
 * Who changes a key by command has the door of keyspace_events.h instead, which leaves nothing out.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_KEYSPACE_EVENTS_INTERNAL_H
#define STORE_KEYSPACE_EVENTS_INTERNAL_H

#include "keyspace_events.h"

/* An event that is no change of a key's value: "new", "keymiss". */
static inline void notifyKeyspaceEvent(serverDb *db, int event_class, const char *event, slice key) {
    if (unlikely(store_settings.notify_events & event_class)) keyspaceNotifyEvent(db, event_class, event, key);
}

/* The key has been taken out because its time is over; by a command when that has set such a time. */
void keyspaceNotifyExpired(serverDb *db, hashedKey key, changeCause cause);
/* One of its elements goes because its time is over; NULL: no more. */
void keyspaceNotifyElementRemoved(serverDb *db, slice key, const slice *element);
/* Elements of its value have been taken out because their time is over; and nothing was left of it. */
void keyspaceNotifyElementsExpired(serverDb *db, hashedKey key);
void keyspaceNotifyEmptied(serverDb *db, hashedKey key);
void keyspaceNotifyEvicted(serverDb *db, hashedKey key);
/* Databases: `keys` of one or all (-1) are about to go; two are about to change places. */
void keyspaceNotifyFlushed(int dbid, bool async, long long keys);
void keyspaceNotifySwapped(int a, int b);

/* Debug builds: this key is being changed and must be told of before the command ends. */
#ifdef DEBUG_ASSERTIONS
void keyspaceOwe(const serverDb *db, uint64_t hash);
#else
static inline void keyspaceOwe(const serverDb *db, uint64_t hash) {
    unused(db), unused(hash);
}
#endif

#endif

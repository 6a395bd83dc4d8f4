/* keyspace_events_internal.h -- reports of the keyspace itself: lookups, expiry, eviction, whole databases.
 *
 * Commands that change a key use keyspace_events.h instead, which covers all effects.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_KEYSPACE_EVENTS_INTERNAL_H
#define STORE_KEYSPACE_EVENTS_INTERNAL_H

#include "keyspace_events.h"

/* Sends an event that is no change of a key's value: "new", "keymiss". */
static inline void notifyKeyspaceEvent(serverDb *db, int event_class, const char *event, slice key) {
    if (unlikely(store_settings.notify_events & event_class)) keyspaceNotifyEvent(db, event_class, event, key);
}

/* Reports that an expired key was deleted; with CHANGED_BY_COMMAND if the command itself has set that expire. */
void keyspaceNotifyExpired(serverDb *db, const robj *entry, uint64_t hash, changeCause cause);
/* Reports that an expired element was removed; NULL: there are no more. */
void keyspaceNotifyElementRemoved(serverDb *db, slice key, const slice *element);
/* Report that expired elements of its value were removed; and that none was left. */
void keyspaceNotifyElementsExpired(serverDb *db, hashedKey key);
void keyspaceNotifyEmptied(serverDb *db, hashedKey key);
void keyspaceNotifyEvicted(serverDb *db, hashedKey key);
/* Call at the end of a run that may have removed keys, outside of commands or between two of them. */
void keyspaceSettled(void);
/* Report databases: `keys` keys of one or all (-1) will be deleted; two will be swapped. */
void keyspaceNotifyFlushed(int dbid, bool async, long long keys);
void keyspaceNotifySwapped(int a, int b);

/* In debug builds, notes that this key is being changed and must be reported before the command ends. */
#ifdef DEBUG_ASSERTIONS
void keyspaceOwe(const serverDb *db, uint64_t hash);
#else
static inline void keyspaceOwe(const serverDb *db, uint64_t hash) { unused(db), unused(hash); }
#endif

#endif

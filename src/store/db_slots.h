/* db_slots.h -- the keys of one cluster slot: their number, their names, their deletion.
 *
 * Slots must be on (dbSetSlots()).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DB_SLOTS_H
#define STORE_DB_SLOTS_H

#include "db.h"

/* Returns the number of keys of the slot, including expired ones. O(1). */
size_t dbSlotSize(const serverDb *db, int slot);
/* Writes entries of the slot, at most `max`, including expired ones, in no order; borrowed until the next change of the
 * db. Returns their number: `max`, or all that the slot has. */
size_t dbSlotEntries(serverDb *db, int slot, const robj **entries, size_t max);
/* Returns the first slot from `from` on that has keys in this database; -1 if there is none. */
int dbSlotNext(const serverDb *db, int from);

/* Called for a key that was removed, before its value is freed: reports the change (keyspace_events.h), and propagates
 * it if that is wanted. It must not change the database. */
typedef void dbSlotKeyFn(void *arg, serverDb *db, hashedKey key);
/* Deletes keys of the slot until none is left or the time is used up, which is checked every few keys; large values
 * are freed in the background. Returns true if none is left. Call again from a later slice or tick otherwise: keys that
 * were added meanwhile are deleted as well. */
bool dbSlotDelete(serverDb *db, int slot, uint64_t deadline_us, dbSlotKeyFn *each, void *arg);

#endif

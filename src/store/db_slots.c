/* db_slots.c -- the keys of one cluster slot: their number, their names, their deletion.
 *
 * A slot that this node has lost, or that is flushed, may have a million keys. Each of them is a change of its own, of
 * which watchers, caches and replicas are notified by name. So the keys are deleted one by one, in slices, and not as
 * a table.
 *
 * A slice takes neighbouring keys from a random bucket on. From the first bucket on, each slice would pass all that the
 * earlier ones have emptied.
 *
 * Not here    which slots a node has (the cluster); the dicts (slot_dicts.c).
 * Threads     main.
 * Cost        a key without an expire: a search, and what its observers do; 32 keys between two looks at the clock.
 * Tests       tests/unit/store/db_slots_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "db_slots.h"

#include "clock.h"
#include "db_internal.h"
#include "panic.h"

#define DELETED_AT_ONCE 32

size_t dbSlotSize(const serverDb *db, int slot) { return slotDictsSizeOf(db->slots, slot); }

int dbSlotNext(const serverDb *db, int from) { return slotDictsNext(db->slots, from); }

size_t dbSlotEntries(serverDb *db, int slot, const robj **entries, size_t max) {
    assertMainRole();
    keyspaceTouched(db, 0, TOUCH_READ_ALL);
    dictIterator it;
    size_t n = 0;
    dictIterBegin(&it, slotDictsAt(db->slots, slot), false);
    for (const robj *o; n < max && (o = dictIterNext(&it));) entries[n++] = o;
    dictIterEnd(&it);
    return n;
}

static void deleteEntry(serverDb *db, robj *entry, dbSlotKeyFn *each, void *arg) {
    hashedKey key = hashedKeyOf(objectKey(entry));
    serverAssert(dbTakeEntry(db, entry, key.hash));
    each(arg, db, key);
    objectReleaseLazily(entry);
}

bool dbSlotDelete(serverDb *db, int slot, uint64_t deadline_us, dbSlotKeyFn *each, void *arg) {
    assertMainRole();
    void *entries[DELETED_AT_ONCE];
    size_t n;
    while ((n = dictSampleEntries(slotDictsAt(db->slots, slot), entries, DELETED_AT_ONCE)) > 0) {
        for (size_t i = 0; i < n; i++) prefetchRead(entries[i]);
        for (size_t i = 0; i < n; i++) deleteEntry(db, entries[i], each, arg);
        if (clockMonotonicUs() >= deadline_us) break;
    }
    return dbSlotSize(db, slot) == 0;
}

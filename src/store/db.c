/* db.c -- the keyspace: lookups, and every way in which a key is added, changed or deleted.
 *
 * A database is three dicts of the same entries: all keys, those with an expire, and those with elements that have
 * a TTL. An entry stores its own expire, so a lookup never needs the second dict; it exists for the expire
 * cycle and for the volatile-* policies, like the third for the part of the cycle that removes elements. With slots, a
 * set of dicts (slot_dicts.c) replaces the first one.
 *
 * Not here    finding expired keys that are not looked up (expire.c); choosing keys to evict (evict.c);
 *             freeing objects (lazyfree.c).
 * Owns        the databases, from dbInit() on.
 * Threads     main.
 * Invariants  (dbCheck() asserts the first three and the fifth)
 *             1. An entry is in `expires` exactly if it is in `keys` and objectExpire() is not -1.
 *             2. An entry in `keys` has a key, a reference and LRU bits other than 0.
 *             3. An entry is in `volatile_items` exactly if its in_volatile is set, and if objectHasTtls(). All
 *                three dicts are valid (dictCheck()).
 *             4. A command reports its changes (keyspace_events.h); expiry and eviction are reported here, when
 *                they are done, with a key that is valid until the observers return.
 *             5. `due` knows each entry of `expires` (due_keys.c), or has no index; `due_items` those of
 *                `volatile_items`.
 * Cost        lookup: one dictFind, one comparison, at most one store. Overwrite: one dictFindRef and a pointer
 *             exchange, plus one search in `expires` if either side has an expire.
 * Tests       tests/unit/store/db_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "db_internal.h"

#include "keyspace_events_internal.h"
#include "lru.h"
#include "replica_expires.h"
#include "panic.h"
#include "store_latency.h"
#include "zmalloc.h"

#define REHASH_TICK_US 1000
#define RESIZE_DBS_PER_TICK 16
#define RANDOM_TRIES_MAX 100
#define CROWDED_FILL 2.0 /* entries per slot from which on a table may grow past maxmemory: chains of three buckets */
#define SPARSE_FILL 0.5  /* below this fill a resize shrinks */
#define DEBUG_CHECK_KEYS_MAX 2000
#define BACKGROUND_TABLE_BYTES ((size_t)2 << 20) /* tables of this size and more use huge pages */

static serverDb *dbs;
static serverDb *shadow; /* owned: the second set; NULL: none */
static int db_count;
static bool slots_on; /* const after startup */

/* ---- Tables ---- */

/* A table doubles by allocating its whole size at once; under maxmemory that would evict keys to get memory for slots.
 * It is delayed until there is memory or the chains become long. */
static bool tableResizeAllowed(size_t bytes, double fill) {
    if (likely(store_settings.maxmemory == 0) || fill < SPARSE_FILL || fill > CROWDED_FILL) return true;
    return zmallocUsed() + bytes <= (unsigned long long)store_settings.maxmemory;
}

static const dictType keys_type = {
    .entryKey = objectEntryKey,
    .hash = keyHash,
    .entryFree = lazyfreeDropEntry,
    .prefetchKey = objectPrefetchKey,
    .key_within = OBJ_KEY_WITHIN,
    .prefetchValue = objectPrefetchValue,
    .resizeAllowed = tableResizeAllowed,
};
static const dictType expires_type = {
    .entryKey = objectEntryKey,
    .hash = keyHash,
    .prefetchKey = objectPrefetchKey,
    .key_within = OBJ_KEY_WITHIN,
    .resizeAllowed = tableResizeAllowed,
};

/* 183 keys of a slot (3 million in all) are on average 96 % of what 32 buckets take at the usual fill: a third of the
 * slots would have 64 buckets, and a key 3 bytes more. */
#define SLOT_FILL_PERCENT 120

static const dictType slot_keys_type = {
    .entryKey = objectEntryKey,
    .hash = keyHash,
    .entryFree = lazyfreeDropEntry,
    .prefetchKey = objectPrefetchKey,
    .key_within = OBJ_KEY_WITHIN,
    .prefetchValue = objectPrefetchValue,
    .resizeAllowed = tableResizeAllowed,
    .max_fill_percent = SLOT_FILL_PERCENT,
};

static void dictJob(void (*job)(void *arg), void *arg) { bioSubmit(BIO_LAZY_FREE, job, arg); }

static void makeKeys(serverDb *db) {
    db->slots = slots_on ? slotDictsCreate(&slot_keys_type) : NULL;
    db->slots_mask = slots_on ? SLOT_DICTS_MASK : 0;
    db->keys = slots_on ? slotDictsAt(db->slots, 0) : dictCreate(&keys_type);
}

static void releaseKeys(serverDb *db) {
    if (db->slots) slotDictsRelease(db->slots);
    else dictRelease(db->keys);
}

static serverDb *makeDbs(void) {
    serverDb *set = zcalloc((size_t)db_count, sizeof(*set));
    for (int i = 0; i < db_count; i++) {
        set[i] = (serverDb){.id = i,
                            .expires = dictCreate(&expires_type),
                            .volatile_items = dictCreate(&expires_type),
                            .due_items = {.of_elements = true},
                            .selected = i == 0};
        makeKeys(&set[i]);
    }
    return set;
}

void dbInit(int count) {
    assertMainRole();
    serverAssert(!dbs && count > 0);
    dictSetBackground(dictJob, BACKGROUND_TABLE_BYTES);
    objectSetElementDrop(lazyfreeDropElement);
    db_count = count;
    dbs = makeDbs();
}

void dbSetSlots(bool on) {
    serverAssert(!shadow);
    slots_on = on;
    keyHashSetSlots(on);
    for (int i = 0; i < db_count; i++) {
        serverAssert(dbSize(&dbs[i]) == 0);
        releaseKeys(&dbs[i]);
        makeKeys(&dbs[i]);
    }
}

int dbCount(void) { return db_count; }

serverDb *dbGet(int id) {
    assertMainRole();
    return id >= 0 && id < db_count ? &dbs[id] : NULL;
}

serverDb *dbSelect(int id) {
    serverDb *db = dbGet(id);
    if (db) db->selected = true;
    return db;
}

int dbId(const serverDb *db) { return db->id; }

const dict *dbDict(const serverDb *db, uint64_t hash) { return dbKeysOf(db, hash); }

size_t dbSize(const serverDb *db) { return likely(!db->slots) ? dictSize(db->keys) : slotDictsSize(db->slots); }

bool dbHasSlots(void) { return slots_on; }

/* With slots the total says little about each of them. */
bool dbExpand(serverDb *db, size_t keys) { return slots_on || dictExpand(db->keys, keys); }

bool dbExpandSlot(serverDb *db, int slot, size_t keys) {
    if (!slots_on) return true;
    return keys == 0 || slotDictsExpand(db->slots, slot, slotDictsSizeOf(db->slots, slot) + keys);
}

/* ---- One key ---- */

static inline robj *findKey(const serverDb *db, hashedKey key) {
    return dictFind(dbKeysOf(db, key.hash), key.name, key.hash);
}

static inline void addKey(serverDb *db, robj *entry, uint64_t hash) {
    if (likely(!db->slots)) dictAddNew(db->keys, entry, hash);
    else slotDictsAddNew(db->slots, entry, hash);
}

static inline robj *popKey(serverDb *db, hashedKey key) {
    if (likely(!db->slots)) return dictPop(db->keys, key.name, key.hash);
    return slotDictsPop(db->slots, key.name, key.hash);
}

static inline bool popKeyEntry(serverDb *db, const robj *entry, uint64_t hash) {
    if (likely(!db->slots)) return dictPopEntry(db->keys, entry, hash);
    return slotDictsPopEntry(db->slots, entry, hash);
}

/* ---- Invariants ---- */

/* Checks the entries of one dict, and counts those that are in the other tables. */
static void checkKeys(const serverDb *db, dict *keys, size_t *with_expire, size_t *with_ttls) {
    dictIterator it;
    dictIterBegin(&it, keys, false);
    for (const robj *o; (o = dictIterNext(&it));) {
        serverAssert(o->has_key && o->refcount > 0 && o->lru != 0);
        hashedKey key = hashedKeyOf(objectKey(o));
        const robj *in_expires = dictFind(db->expires, key.name, key.hash);
        serverAssert(in_expires == (objectExpire(o) == -1 ? NULL : o));
        *with_expire += in_expires != NULL;
        bool volatile_items = dictHoldsEntry(db->volatile_items, o, key.hash);
        serverAssert(volatile_items == o->in_volatile && volatile_items == objectHasTtls(o));
        *with_ttls += volatile_items;
    }
    dictIterEnd(&it);
}

void dbCheck(const serverDb *db) {
    assertMainRole();
    size_t with_expire = 0, with_ttls = 0;
    serverAssert((db->slots != NULL) == slots_on && db->slots_mask == (slots_on ? SLOT_DICTS_MASK : 0));
    dictCheck(db->expires);
    dictCheck(db->volatile_items);
    if (db->slots) {
        serverAssert(db->keys == slotDictsAt(db->slots, 0));
        slotDictsCheck(db->slots);
        for (int slot = -1; (slot = slotDictsNext(db->slots, slot + 1)) != -1;)
            checkKeys(db, slotDictsAt(db->slots, slot), &with_expire, &with_ttls);
    } else {
        dictCheck(db->keys);
        checkKeys(db, db->keys, &with_expire, &with_ttls);
    }
    serverAssert(dictSize(db->expires) == with_expire && dictSize(db->volatile_items) == with_ttls);
    dueKeysCheck(&db->due, db->expires);
    dueKeysCheck(&db->due_items, db->volatile_items);
}

/* Checks one database per tick, in debug builds, while it is small. */
static void checkOneAtTick(void) {
#ifdef DEBUG_ASSERTIONS
    static int next;
    const serverDb *db = &dbs[next++ % db_count];
    next %= db_count;
    if (dbSize(db) <= DEBUG_CHECK_KEYS_MAX) dbCheck(db);
#endif
}

void dbResizeTick(void) {
    assertMainRole();
    checkOneAtTick();
    static int next_shrink, next_rehash;
    int n = db_count < RESIZE_DBS_PER_TICK ? db_count : RESIZE_DBS_PER_TICK;
    for (int i = 0; i < n; i++) {
        serverDb *db = &dbs[next_shrink++ % db_count];
        if (db->slots) slotDictsTick(db->slots);
        else dictShrinkIfNeeded(db->keys);
        dictShrinkIfNeeded(db->expires);
        dictShrinkIfNeeded(db->volatile_items);
    }
    next_shrink %= db_count;
    if (!store_settings.activerehashing) return;
    for (int i = 0; i < n; i++) {
        serverDb *db = &dbs[next_rehash];
        dict *d = !db->slots && dictIsRehashing(db->keys) ? db->keys
                  : dictIsRehashing(db->expires)          ? db->expires
                  : dictIsRehashing(db->volatile_items)   ? db->volatile_items
                                                          : NULL;
        if (d) dictRehashMicroseconds(d, REHASH_TICK_US);
        if (d || (db->slots && slotDictsRehash(db->slots, REHASH_TICK_US))) return; /* its millisecond is used up */
        next_rehash = (next_rehash + 1) % db_count;
    }
}

/* ---- Expire ---- */

/* Removes an entry from `expires`. An entry with an expire that is not found there was searched by a wrong hash: it
 * would stay there after it is freed. */
static void popExpire(serverDb *db, const robj *entry, uint64_t hash) {
    serverAssert(dictPopEntry(db->expires, entry, hash));
}

/* ---- TTLs of elements ---- */

static void trackTtls(serverDb *db, robj *entry, uint64_t hash) {
    entry->in_volatile = 1;
    dictAddNew(db->volatile_items, entry, hash);
    dueKeysElements(&db->due_items, entry, hash, true);
}

static void untrackTtls(serverDb *db, robj *entry, uint64_t hash) {
    serverAssert(dictPopEntry(db->volatile_items, entry, hash));
    entry->in_volatile = 0;
}

void dbFieldTtlsChanged(serverDb *db, robj *entry, hashedKey key) {
    assertMainRole();
    bool has = objectHasTtls(entry);
    if (has == entry->in_volatile) {
        if (has) dueKeysElements(&db->due_items, entry, key.hash, false);
        return;
    }
    if (has) trackTtls(db, entry, key.hash);
    else untrackTtls(db, entry, key.hash);
}

/* An entry was removed from `keys`: removes it from the other tables. */
static void popFromOthers(serverDb *db, robj *entry, uint64_t hash) {
    keyspaceOwe(db, hash);
    if (objectExpire(entry) != -1) popExpire(db, entry, hash);
    if (unlikely(entry->in_volatile)) untrackTtls(db, entry, hash);
}

bool dbTakeEntry(serverDb *db, robj *entry, uint64_t hash) {
    assertMainRole();
    if (!popKeyEntry(db, entry, hash)) return false;
    popFromOthers(db, entry, hash);
    return true;
}

static bool dropExpired(serverDb *db, robj *entry, uint64_t hash, changeCause cause) {
    assertMainRole();
    uint64_t began_us = storeLatencyBegin();
    if (!dbTakeEntry(db, entry, hash)) return false;
    keyspaceNotifyExpired(db, entry, hash, cause);
    if (store_settings.lazyfree_expire) objectReleaseLazily(entry);
    else objectReleaseNow(entry);
    storeLatencyEnd("expire-del", began_us);
    return true;
}

typedef struct elementsOf {
    serverDb *db;
    slice key;
} elementsOf;

static void elementRemoved(void *arg, slice element) {
    const elementsOf *of = arg;
    keyspaceNotifyElementRemoved(of->db, of->key, &element);
}

size_t dbExpireElements(serverDb *db, robj *entry, uint64_t hash, size_t max) {
    assertMainRole();
    bool empty;
    hashedKey key = {objectKey(entry), hash};
    elementsOf of = {db, key.name};
    size_t dropped = objectExpireElements(entry, store_expire_cutoff_ms, max, &empty, elementRemoved, &of);
    if (dropped == 0) return 0;
    keyspaceOwe(db, hash);
    dbFieldTtlsChanged(db, entry, key);
    store_stats.expired_fields += (long long)dropped;
    keyspaceNotifyElementsExpired(db, key);
    if (empty) {
        serverAssert(dbTakeEntry(db, entry, hash));
        keyspaceNotifyEmptied(db, key);
    }
    keyspaceNotifyElementRemoved(db, key.name, NULL);
    if (empty) objectReleaseNow(entry);
    return dropped;
}

bool dbDropExpired(serverDb *db, robj *entry, uint64_t hash) { return dropExpired(db, entry, hash, CHANGED_BY_EXPIRY); }

void dbExpireNow(serverDb *db, robj *entry, hashedKey key) {
    serverAssert(dropExpired(db, entry, key.hash, CHANGED_BY_COMMAND));
}

bool expireIfNeeded(serverDb *db, robj *entry, hashedKey key) {
    assertMainRole();
    if (!keyIsExpired(entry) || !expireDeletionAllowed()) return false;
    return dbDropExpired(db, entry, key.hash);
}

/* ---- Lookup ---- */

/* Not inlined, so that a hit needs fewer registers and instructions. */
static __attribute__((noinline)) robj *readMissed(serverDb *db, robj *expired, hashedKey key, int flags) {
    if (expired && flags & LOOKUP_HIDDEN && !expireDeletionAllowed()) return expired;
    if (expired && !(flags & LOOKUP_NOEXPIRE)) {
        /* A write deletes it in any case: otherwise what the command adds would be mixed with the expired value. */
        if (flags & LOOKUP_WRITE) dbDropExpired(db, expired, key.hash);
        else expireIfNeeded(db, expired, key);
    }
    if (flags & LOOKUP_WRITE) return NULL;
    if (!(flags & LOOKUP_NONOTIFY)) notifyKeyspaceEvent(db, NOTIFY_KEY_MISS, "keymiss", key.name);
    if (!(flags & LOOKUP_NOSTATS)) store_stats.keyspace_misses++;
    return NULL;
}

robj *lookupKeyRead(serverDb *db, hashedKey key) {
    assertMainRole();
    keyspaceTouched(db, key.hash, TOUCH_LOOKUP);
    robj *o = findKey(db, key);
    if (unlikely(!o || keyIsExpired(o))) return readMissed(db, o, key, LOOKUP_NONE);
    lruTouch(o);
    store_stats.keyspace_hits++;
    return o;
}

robj *lookupKeyReadWithFlags(serverDb *db, hashedKey key, int flags) {
    assertMainRole();
    keyspaceTouched(db, key.hash, TOUCH_LOOKUP);
    robj *o = findKey(db, key);
    if (unlikely(!o || keyIsExpired(o))) return readMissed(db, o, key, flags);
    if (!(flags & LOOKUP_NOTOUCH)) lruTouch(o);
    if (!(flags & (LOOKUP_NOSTATS | LOOKUP_WRITE))) store_stats.keyspace_hits++;
    return o;
}

robj *lookupKeyWrite(serverDb *db, hashedKey key) {
    assertMainRole();
    keyspaceTouched(db, key.hash, TOUCH_LOOKUP);
    robj *o = findKey(db, key);
    if (unlikely(!o || keyIsExpired(o))) return o ? readMissed(db, o, key, LOOKUP_WRITE) : NULL;
    lruTouch(o);
    return o;
}

robj *lookupKeyWriteWithFlags(serverDb *db, hashedKey key, int flags) {
    return lookupKeyReadWithFlags(db, key, flags | LOOKUP_WRITE);
}

bool dbExists(serverDb *db, hashedKey key) {
    assertMainRole();
    keyspaceTouched(db, key.hash, TOUCH_LOOKUP);
    return findKey(db, key) != NULL;
}

robj *dbFindByHash(const serverDb *db, uint64_t hash) {
    assertMainRole();
    keyspaceTouched(db, hash, TOUCH_LOOKUP);
    return dictFindByHash(dbKeysOf(db, hash), hash);
}

/* Deletes expired keys on the way. If that is not allowed and every key has an expire, all keys may be expired: after
 * some tries one of them is returned. */
robj *dbRandomKey(serverDb *db) {
    assertMainRole();
    keyspaceTouched(db, 0, TOUCH_READ_ALL);
    robj *o;
    for (int tries = 0; (o = dictRandomEntry(dbDrawDict(db))); tries++) {
        if (likely(!keyIsExpired(o))) return o;
        if (expireDeletionAllowed()) {
            dbDropExpired(db, o, entryHash(o));
        } else if (tries >= RANDOM_TRIES_MAX && dictSize(db->expires) == dbSize(db)) {
            return o;
        }
    }
    return NULL;
}

/* ---- Add and overwrite ---- */

/* Call when a command has set the expire of the key. */
static void noteExpireSet(const serverDb *db, const robj *entry) {
    if (unlikely(store_following.on)) replicaExpiresNote(dbId(db), objectKey(entry), objectExpire(entry));
}

/* Adds an entry, which has an expire, to `expires`. */
static void addExpire(serverDb *db, robj *entry, uint64_t hash) {
    dictAddNew(db->expires, entry, hash);
    dueKeysChanged(&db->due, hash, -1, objectExpire(entry));
}

/* `entry` has replaced `old` in `keys`: updates `expires`. Neither is freed yet. */
static void exchangeExpires(serverDb *db, const robj *old, robj *entry, hashedKey key) {
    int64_t old_ms = objectExpire(old), when_ms = objectExpire(entry);
    bool has = when_ms != -1;
    if (has) noteExpireSet(db, entry);
    if (old_ms == -1) {
        if (has) addExpire(db, entry, key.hash);
        return;
    }
    if (!has) {
        popExpire(db, old, key.hash);
        return;
    }
    void **ref = dictFindRef(db->expires, key.name, key.hash);
    serverAssert(ref && *ref == old);
    *ref = entry;
    dueKeysChanged(&db->due, key.hash, old_ms, when_ms);
}

/* Reports a new value of a type that blocked clients may wait for. */
static void reportIfReady(serverDb *db, const robj *entry, uint64_t hash) {
    if (likely(entry->type != OBJ_LIST && entry->type != OBJ_ZSET && entry->type != OBJ_STREAM)) return;
    dbKeyReady(db, (hashedKey){objectKey(entry), hash}, entry->type);
}

static void addNew(serverDb *db, robj *entry, uint64_t hash) {
    keyspaceOwe(db, hash);
    if (entry->lru == 0) entry->lru = lruInitialBits() & LRU_CLOCK_MAX;
    addKey(db, entry, hash);
    if (unlikely(objectExpire(entry) != -1)) {
        addExpire(db, entry, hash);
        noteExpireSet(db, entry);
    }
    if (unlikely(entry->type != OBJ_STRING && objectHasTtls(entry))) trackTtls(db, entry, hash);
    notifyKeyspaceEvent(db, NOTIFY_NEW, "new", objectKey(entry));
    reportIfReady(db, entry, hash);
}

void dbAddTake(serverDb *db, robj *entry, hashedKey key) {
    assertMainRole();
    debugAssert(sliceEq(objectKey(entry), key.name));
    addNew(db, entry, key.hash);
}

/* ---- Loading keys from a file ---- */

#define LOADED_AHEAD 24 /* lines prefetched at once: more than a core can have in flight gain nothing */

/* Sets the use like RESTORE. A long idle time wraps with the clock. */
static void applyUse(robj *entry, int64_t use) {
    if (store_settings.maxmemory_policy & MAXMEMORY_FLAG_LFU) lfuSetFrequency(entry, (unsigned)use);
    else lruSetIdle(entry, use & LRU_CLOCK_MAX);
}

static void prefetchLoaded(const serverDb *db, const loadedKey *k) {
    dictPrefetchAdd(dbKeysOf(db, k->hash), k->hash);
    if (unlikely(k->has_expire)) dictPrefetchAdd(db->expires, k->hash);
    if (unlikely(k->use >= 0)) prefetchWrite(k->entry);
}

static void *addLoaded(serverDb *db, const loadedKey *k) {
    if (likely(!db->slots)) return dictAddUnread(db->keys, k->entry, k->hash);
    return slotDictsAddUnread(db->slots, k->entry, k->hash);
}

/* The index by time is made when loading has ended: that is faster than adding each key. */
size_t dbAddLoaded(serverDb *db, const loadedKey *keys, size_t n) {
    assertMainRole();
    dueKeysDrop(&db->due);
    dueKeysDrop(&db->due_items);
    for (size_t i = 0; i < n && i < LOADED_AHEAD; i++) prefetchLoaded(db, &keys[i]);
    for (size_t i = 0; i < n; i++) {
        const loadedKey *k = &keys[i];
        if (i + LOADED_AHEAD < n) prefetchLoaded(db, &keys[i + LOADED_AHEAD]);
        if (unlikely(addLoaded(db, k) != NULL)) return i;
        if (unlikely(k->use >= 0)) applyUse(k->entry, k->use);
        if (unlikely(k->has_expire)) dictAddNew(db->expires, k->entry, k->hash);
        if (unlikely(k->has_ttls)) trackTtls(db, k->entry, k->hash);
    }
    return n;
}

void dbExpandLoaded(serverDb *db, size_t keys, size_t with_expire) {
    assertMainRole();
    if (keys && !dbExpand(db, dbSize(db) + keys)) return;
    /* Without memory for it, the second table grows step by step. */
    if (with_expire && !dictExpand(db->expires, dictSize(db->expires) + with_expire)) return;
}

bool setKeyTake(serverDb *db, robj *entry, hashedKey key, bool keep_ttl) {
    assertMainRole();
    debugAssert(sliceEq(objectKey(entry), key.name));
    void **ref = dictFindRef(dbKeysOf(db, key.hash), key.name, key.hash);
    robj *old = ref ? *ref : NULL;
    bool is_new = !old || keyIsExpired(old);
    if (unlikely(old && is_new && expireIfNeeded(db, old, key))) old = NULL;
    if (!old) {
        addNew(db, entry, key.hash);
        return true;
    }
    keyspaceOwe(db, key.hash);
    int64_t old_expire_ms = objectExpire(old);
    bool had = old_expire_ms != -1;
    if (unlikely(had && keep_ttl && !is_new)) entry = objectSetExpireTake(entry, old_expire_ms);
    entry->lru = old->lru;
    lruTouch(entry); /* a write counts as a use */
    *ref = entry;
    if (unlikely(had || objectExpire(entry) != -1)) exchangeExpires(db, old, entry, key);
    if (unlikely(old->in_volatile)) untrackTtls(db, old, key.hash);
    if (unlikely(entry->type != OBJ_STRING && objectHasTtls(entry))) trackTtls(db, entry, key.hash);
    reportIfReady(db, entry, key.hash);
    objectRelease(old);
    return is_new;
}

/* Removes an entry that may have been freed. It is found by its address; no rehash step may run before it is removed,
 * since that would read its key. */
static bool popFreed(dict *d, const robj *freed, uint64_t hash) {
    if (dictSize(d) == 0) return false;
    dictPauseRehash(d);
    bool found = dictPopEntry(d, freed, hash);
    dictResumeRehash(d);
    return found;
}

void dbReplaceEntry(serverDb *db, robj *old, robj *entry, hashedKey key) {
    assertMainRole();
    keyspaceOwe(db, key.hash);
    if (likely(old == entry)) return;
    dict *keys = dbKeysOf(db, key.hash); /* the count of a slot stays */
    serverAssert(popFreed(keys, old, key.hash));
    bool had_expire = popFreed(db->expires, old, key.hash);
    if (entry->lru == 0) entry->lru = lruInitialBits() & LRU_CLOCK_MAX;
    dictAddNew(keys, entry, key.hash);
    if (unlikely(db->slots != NULL)) slotDictsChanged(db->slots, key.hash);
    if (objectExpire(entry) == -1) return;
    if (had_expire) dictAddNew(db->expires, entry, key.hash); /* the same expire: `due` knows it */
    else addExpire(db, entry, key.hash);
}

/* ---- Defragmentation ---- */

/* Replaces the address `from`, which is not read, by `to` in a dict that contains it. */
static void entryMoved(dict *d, const robj *from, robj *to, uint64_t hash) {
    serverAssert(popFreed(d, from, hash));
    dictAddNew(d, to, hash);
}

/* Besides the dicts only the pool of evict.c knows addresses, and it uses none that a dict does not confirm. */
robj *dbDefragEntry(serverDb *db, void **ref, blockMover *move) {
    assertMainRole();
    debugAssert(objectMayMove(*ref));
    robj *old = *ref, *entry = move(old);
    if (!entry) return old;
    *ref = entry;
    bool expires = objectExpire(entry) != -1;
    if (likely(!expires && !entry->in_volatile)) return entry;
    uint64_t hash = entryHash(entry);
    if (expires) entryMoved(db->expires, old, entry, hash);
    if (entry->in_volatile) entryMoved(db->volatile_items, old, entry, hash);
    return entry;
}

/* ---- Delete ---- */

robj *dbUnlink(serverDb *db, hashedKey key) {
    assertMainRole();
    robj *o = popKey(db, key);
    if (o) popFromOthers(db, o, key.hash);
    return o;
}

static inline bool deleteKey(serverDb *db, hashedKey key, void (*release)(robj *o)) {
    robj *o = dbUnlink(db, key);
    if (o) release(o);
    return o != NULL;
}

bool dbDelete(serverDb *db, hashedKey key) { return deleteKey(db, key, objectRelease); }

bool dbDeleteSync(serverDb *db, hashedKey key) { return deleteKey(db, key, objectReleaseNow); }

bool dbDeleteAsync(serverDb *db, hashedKey key) { return deleteKey(db, key, objectReleaseLazily); }

/* ---- Expire of a key ---- */

/* Gives the entry an expire slot, and thereby a new address. */
static robj *moveForExpire(serverDb *db, robj *entry, hashedKey key, int64_t when_ms) {
    bool volatile_items = entry->in_volatile;
    void **ref = dictFindRef(dbKeysOf(db, key.hash), objectKey(entry), key.hash);
    serverAssert(ref && *ref == entry);
    if (volatile_items) untrackTtls(db, entry, key.hash);
    *ref = entry = objectSetExpireTake(entry, when_ms);
    if (volatile_items) trackTtls(db, entry, key.hash);
    return entry;
}

robj *dbSetExpire(serverDb *db, robj *entry, hashedKey key, int64_t when_ms) {
    assertMainRole();
    if (when_ms == -1) {
        dbRemoveExpire(db, entry, key);
        return entry;
    }
    keyspaceOwe(db, key.hash);
    int64_t old_ms = objectExpire(entry);
    if (unlikely(!entry->has_expire_slot)) entry = moveForExpire(db, entry, key, when_ms);
    else entry = objectSetExpireTake(entry, when_ms);
    if (old_ms == -1) dictAddNew(db->expires, entry, key.hash);
    dueKeysChanged(&db->due, key.hash, old_ms, when_ms);
    noteExpireSet(db, entry);
    return entry;
}

bool dbRemoveExpire(serverDb *db, robj *entry, hashedKey key) {
    assertMainRole();
    if (objectExpire(entry) == -1) return false;
    keyspaceOwe(db, key.hash);
    popExpire(db, entry, key.hash);
    robj *same = objectSetExpireTake(entry, -1);
    debugAssert(same == entry);
    unused(same);
    return true;
}

/* ---- Whole databases ---- */

typedef enum {
    EMPTY_NOW,
    EMPTY_ASYNC,
    EMPTY_UNCOUNTED /* in the background as well, but INFO does not count it */
} emptyWay;

static void emptyOne(serverDb *db, emptyWay way) {
    if (way != EMPTY_NOW && dbSize(db) > 0) {
        lazyfreeDicts(db->slots ? NULL : db->keys, db->slots, db->expires, way == EMPTY_ASYNC);
        dictRelease(db->volatile_items);
        makeKeys(db);
        db->expires = dictCreate(&expires_type);
        db->volatile_items = dictCreate(&expires_type);
    } else {
        dictEmpty(db->volatile_items, NULL);
        dictEmpty(db->expires, NULL);
        if (db->slots) slotDictsEmpty(db->slots);
        else dictEmpty(db->keys, NULL);
    }
    dueKeysDrop(&db->due);
    dueKeysDrop(&db->due_items);
    db->avg_ttl_ms = 0;
    db->expire_cursor = 0;
    db->ttls_cursor = 0;
}

static long long emptyThese(int id, emptyWay way) {
    assertMainRole();
    if (id != -1 && !dbGet(id)) return 0;
    int from = id == -1 ? 0 : id, to = id == -1 ? db_count : id + 1;
    long long keys = 0;
    for (int i = from; i < to; i++) keys += (long long)dbSize(&dbs[i]);
    keyspaceNotifyFlushed(id, way != EMPTY_NOW, keys);
    for (int i = from; i < to; i++) {
        keyspaceTouched(&dbs[i], 0, TOUCH_CHANGE_ALL);
        emptyOne(&dbs[i], way);
    }
    return keys;
}

long long dbEmpty(int id, bool async) { return emptyThese(id, async ? EMPTY_ASYNC : EMPTY_NOW); }

void dbEmptyThen(int id, bioJob *freed) {
    emptyThese(id, EMPTY_UNCOUNTED);
    bioSubmitJob(BIO_LAZY_FREE, freed);
}

void dbShadowBegin(void) {
    assertMainRole();
    serverAssert(!shadow);
    shadow = makeDbs();
}

serverDb *dbShadow(int id) { return id >= 0 && id < db_count ? &shadow[id] : NULL; }

void dbShadowDrop(bool async) {
    assertMainRole();
    for (int i = 0; i < db_count; i++) {
        emptyOne(&shadow[i], async ? EMPTY_ASYNC : EMPTY_NOW);
        releaseKeys(&shadow[i]);
        dictRelease(shadow[i].expires);
        dictRelease(shadow[i].volatile_items);
    }
    zfree(shadow);
    shadow = NULL;
}

void dbShadowTake(bool async) {
    dbEmpty(-1, async);
    for (int i = 0; i < db_count; i++) {
        serverDb emptied = dbs[i];
        dbs[i] = shadow[i];
        dbs[i].selected = emptied.selected || dbSize(&dbs[i]) > 0;
        shadow[i] = emptied;
    }
    dbShadowDrop(false);
}

bool dbSwap(int a, int b) {
    assertMainRole();
    if (!dbGet(a) || !dbGet(b)) return false;
    keyspaceTouched(&dbs[a], 0, TOUCH_CHANGE_ALL);
    keyspaceTouched(&dbs[b], 0, TOUCH_CHANGE_ALL);
    keyspaceNotifySwapped(a, b);
    serverDb was_a = dbs[a];
    dbs[a] = dbs[b];
    dbs[b] = was_a;
    dbs[a].id = a;
    dbs[b].id = b;
    dbs[a].selected = dbs[b].selected = true;
    replicaExpiresSwap(a, b);
    return true;
}

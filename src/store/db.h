/* db.h -- the keyspace: databases of keys, each key with an optional time to live.
 *
 * Lookups hide expired keys, and delete them if that is allowed.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DB_H
#define STORE_DB_H

#include "bio.h"
#include "dict.h"
#include "keyspace_events.h"
#include "lazyfree.h"
#include "object.h"
#include "store_state.h"

/* Creates the databases; call at startup. */
void dbInit(int count);
/* Sets whether each database has a dict of keys for each cluster slot, and whether hashes of keys contain the slot
 * (keyHashSetSlots()). Call at startup before dbInit(), or after it while all databases are empty; in either case
 * before a key is hashed, as that of notify-keyspace-events-stream is when the option is applied. */
void dbSetSlots(bool on);
bool dbHasSlots(void);
int dbCount(void);       /* number of databases */
serverDb *dbGet(int id); /* NULL out of range */
/* Like dbGet(), for a client that selects it (SELECT, MOVE ...): from then on the database counts as in use. */
serverDb *dbSelect(int id);
int dbId(const serverDb *db); /* index of the database */
/* Returns the table that has the key with that hash if the database has it, for prefetching; never NULL. */
const dict *dbDict(const serverDb *db, uint64_t hash);

/* --- Lookup ------------------------------------------------------------------------------------ */
enum {
    LOOKUP_NONE = 0,
    LOOKUP_NOTOUCH = 1,  /* do not update LRU/LFU */
    LOOKUP_NOSTATS = 2,  /* do not count hits and misses */
    LOOKUP_NONOTIFY = 4, /* no keymiss event */
    LOOKUP_WRITE = 8,
    LOOKUP_NOEXPIRE = 16, /* do not delete an expired key, only hide it */
    LOOKUP_HIDDEN = 32,   /* return an expired key that is hidden and not deleted, for commands that delete it */
    LOOKUP_PEEK = LOOKUP_NOTOUCH | LOOKUP_NOSTATS | LOOKUP_NONOTIFY | LOOKUP_NOEXPIRE
};
/* Return the value of a key that is not expired, or NULL. Read counts hits and misses; Write does not. The value is
 * borrowed until the next change of the db. */
robj *lookupKeyRead(serverDb *db, hashedKey key);
robj *lookupKeyReadWithFlags(serverDb *db, hashedKey key, int flags);
robj *lookupKeyWrite(serverDb *db, hashedKey key);
robj *lookupKeyWriteWithFlags(serverDb *db, hashedKey key, int flags);
bool dbExists(serverDb *db, hashedKey key); /* no side effects; expired keys count as present */
/* Returns the entry of the key with that hash, for callers that do not know its name. No side effects; expired keys
 * count as present. */
robj *dbFindByHash(const serverDb *db, uint64_t hash);

/* --- Change ------------------------------------------------------------------------------------ */
/* These functions change the dicts only. Commands must also report the change (keyspace_events.h). */
/* Adds an entry (takes the reference). The key must be absent. The entry is added to `expires` if its expire is set. */
void dbAddTake(serverDb *db, robj *entry, hashedKey key);
/* Sets the key to the entry, whether or not it is present (takes the reference). With keep_ttl the new entry gets the
 * old expire. The thread that made the old value frees it. Returns true if the key is new. */
bool setKeyTake(serverDb *db, robj *entry, hashedKey key, bool keep_ttl);
/* Replaces the entry of a present key by `entry`, the result of an object...Take() function (same key), also in
 * `expires`. No-op if both are equal. Must be the first call into the db after that function: until then the db may
 * hold a dead entry. Does not read `old` and key.name. */
void dbReplaceEntry(serverDb *db, robj *old, robj *entry, hashedKey key);
/* Deletes a key. Returns false if it is absent. Async frees the value on a background thread if that is worth it. */
bool dbDelete(serverDb *db, hashedKey key); /* as set by lazyfree-lazy-server-del */
bool dbDeleteSync(serverDb *db, hashedKey key);
bool dbDeleteAsync(serverDb *db, hashedKey key); /* in the background if that is worth it */
/* Removes the entry and passes the reference to the caller (RENAME, MOVE, GETDEL by reference). Returns NULL if the key
 * is absent. */
robj *dbUnlink(serverDb *db, hashedKey key);

/* Sets the expire of a key and returns the entry that is now in the dict. */
robj *dbSetExpire(serverDb *db, robj *entry, hashedKey key, int64_t when_ms);
bool dbRemoveExpire(serverDb *db, robj *entry, hashedKey key); /* PERSIST; false if it had none */

/* Call after elements of the entry's value have got a TTL, or may have lost it: updates the table of such entries. */
void dbFieldTtlsChanged(serverDb *db, robj *entry, hashedKey key);

/* Removes up to `max` expired elements of the entry's value and returns their number; deletes the key if none is
 * left. */
size_t dbExpireElements(serverDb *db, robj *entry, uint64_t hash, size_t max);

/* Empties one database (or all, id -1); returns the number of keys removed. async: a background thread frees the
 * tables. */
long long dbEmpty(int id, bool async);
/* Empties one database (or all, id -1), and runs `freed` on the background thread when it has freed all of it. The
 * objects do not count as lazily freed in INFO. */
void dbEmptyThen(int id, bioJob *freed);
bool dbSwap(int a, int b); /* false if out of range */
size_t dbSize(const serverDb *db);
/* Reserves capacity for `keys` keys in all. Returns false if there is no memory or it is not allowed. With slots it
 * does nothing: call dbExpandSlot(), with the number of keys to come, which does nothing without slots. */
bool dbExpand(serverDb *db, size_t keys);
bool dbExpandSlot(serverDb *db, int slot, size_t keys);
/* Returns a random key that is not expired; NULL if there is none. */
robj *dbRandomKey(serverDb *db);
/* Asserts the numbered invariants at the top of db.c. Visits every key. */
void dbCheck(const serverDb *db);
/* For cron: shrinks sparse tables, and continues rehashing (1 ms, if activerehashing is set). */
void dbResizeTick(void);
/* For expire.c and evict.c: removes exactly this entry from the db, without reading it before it is found. Returns
 * false if it is absent. The reference passes to the caller. */
bool dbTakeEntry(serverDb *db, robj *entry, uint64_t hash);

/* --- Loading keys from a file --------------------------------------------------------------------- */
/* Loading sends no event and counts no change; the caller is responsible for these. */
typedef struct loadedKey {
    robj *entry; /* owned: its LRU bits are set, unless `use` is; read as late as possible */
    uint64_t hash;
    int64_t use;     /* -1; or, depending on the policy, seconds since the last use or the frequency */
    bool has_expire; /* objectExpire() is not -1 */
    bool has_ttls;   /* objectHasTtls() */
} loadedKey;
/* Adds keys in order, up to the first one that is already present (takes the added entries). Returns how many: less
 * than `n` if the next one is present. */
size_t dbAddLoaded(serverDb *db, const loadedKey *keys, size_t n);
/* Reserves capacity for this many more keys, and keys with an expire, as far as there is memory. */
void dbExpandLoaded(serverDb *db, size_t keys, size_t with_expire);

/* Begins a second set of empty databases, to be filled by the functions above while the first set is in use. It then
 * replaces the first set at once, which is reported as a flush of all; or it is dropped. */
void dbShadowBegin(void);
serverDb *dbShadow(int id);    /* NULL if out of range */
void dbShadowTake(bool async); /* replaces the first set */
void dbShadowDrop(bool async); /* frees the second set */

/* --- Expire ------------------------------------------------------------------------------------- */
static inline bool keyIsExpired(const robj *entry) {
    int64_t when_ms = objectExpire(entry);
    return when_ms != -1 && when_ms < store_expire_cutoff_ms;
}
/* Deletes an expired key as lookups do. Returns false if nothing was deleted. */
bool expireIfNeeded(serverDb *db, robj *entry, hashedKey key);
/* Deletes `entry`, which is expired. Returns false if it is not in the db. */
bool dbDropExpired(serverDb *db, robj *entry, uint64_t hash);
/* Call when the running command sets a TTL in the past: deletes the key immediately. */
void dbExpireNow(serverDb *db, robj *entry, hashedKey key);
/* While expiry is paused, or the dataset is a copy of another server's, expired keys are hidden but not deleted, except
 * by a lookup for writing. */
static inline bool expireDeletionAllowed(void) { return !store_following.on && !storeExpiryPaused(); }
#endif

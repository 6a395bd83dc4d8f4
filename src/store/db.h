/* db.h -- the keyspace: databases of keys, each key with an optional time to live.
 *
 * Lookups hide keys whose time is over and delete them where that is allowed.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DB_H
#define STORE_DB_H

#include "dict.h"
#include "keyspace_events.h"
#include "lazyfree.h"
#include "object.h"
#include "store_state.h"

/* Boot: makes the databases. */
void dbInit(int count);
int dbCount(void);
serverDb *dbGet(int id); /* NULL out of range */
/* The same for a client that names it (SELECT, MOVE ...): from now on the database counts as in use. */
serverDb *dbSelect(int id);
int dbId(const serverDb *db);
/* The table in which the keys of a cluster slot are found (-1: no slot), to look ahead in it. Today one for all. */
const dict *dbDict(const serverDb *db, int slot);

/* --- Lookup ------------------------------------------------------------------------------------ */
enum {
    LOOKUP_NONE = 0,
    LOOKUP_NOTOUCH = 1,  /* leave LRU/LFU alone */
    LOOKUP_NOSTATS = 2,  /* do not count hits and misses */
    LOOKUP_NONOTIFY = 4, /* no keymiss event */
    LOOKUP_WRITE = 8,
    LOOKUP_NOEXPIRE = 16, /* do not delete an expired key, only hide it */
    LOOKUP_HIDDEN = 32    /* an expired key that is hidden and not deleted is there: for who deletes it */
};
/* The live value, or NULL. Read counts hits and misses; Write does not. Borrowed until the next change of the db. */
robj *lookupKeyRead(serverDb *db, hashedKey key);
robj *lookupKeyReadWithFlags(serverDb *db, hashedKey key, int flags);
robj *lookupKeyWrite(serverDb *db, hashedKey key);
robj *lookupKeyWriteWithFlags(serverDb *db, hashedKey key, int flags);
bool dbExists(serverDb *db, hashedKey key); /* no side effect, expired keys count as there */
/* The entry of the key with that hash, whose name is not known. No side effect, expired keys count as there. */
robj *dbFindByHash(const serverDb *db, uint64_t hash);

/* --- Change ------------------------------------------------------------------------------------ */
/* These move entries. Who calls them by command tells what it has done through the door of keyspace_events.h. */
/* Add an entry (takes the reference). The key must not exist. Its expire slot decides membership in `expires`. */
void dbAddTake(serverDb *db, robj *entry, hashedKey key);
/* Set key to entry whatever was there (takes the reference). With keep_ttl the old expire goes over into the new
 * entry. The old value is freed by its owner thread. Returns true when the key is new. */
bool setKeyTake(serverDb *db, robj *entry, hashedKey key, bool keep_ttl);
/* Exchange the entry of an existing key for `entry`, which an object...Take function made out of it (same key).
 * Fixes `expires` too. No-op when equal. Must be the first call into the db after that function: until then the db
 * may hold a dead entry. `old` and key.name are not read. */
void dbReplaceEntry(serverDb *db, robj *old, robj *entry, hashedKey key);
/* Delete. False when the key does not exist. Async frees on a background thread when that is worth it. */
bool dbDelete(serverDb *db, hashedKey key); /* as lazyfree-lazy-server-del says */
bool dbDeleteSync(serverDb *db, hashedKey key);
bool dbDeleteAsync(serverDb *db, hashedKey key);
/* Take the entry out and keep the reference (RENAME, MOVE, GETDEL by reference). NULL when there is none. */
robj *dbUnlink(serverDb *db, hashedKey key);

/* Expire of the key's entry: -1 none. dbSetExpire returns the entry now in the dict. */
robj *dbSetExpire(serverDb *db, robj *entry, hashedKey key, int64_t when_ms);
bool dbRemoveExpire(serverDb *db, robj *entry, hashedKey key); /* PERSIST: false when none */

/* Elements of the entry's value have got times, or may have none any more: keeps the table of such entries in step. */
void dbFieldTtlsChanged(serverDb *db, robj *entry, hashedKey key);

/* Take out up to `max` elements of the entry whose time is over; with the last element the key goes. Returns how many
 * it were. */
size_t dbExpireElements(serverDb *db, robj *entry, uint64_t hash, size_t max);

/* Empty one database (or all, id -1); returns keys removed. async: tables go to a background thread. */
long long dbEmpty(int id, bool async);
bool dbSwap(int a, int b); /* false out of range */
size_t dbSize(const serverDb *db);
/* Make room for `keys` more at once; false if the memory cannot be had or is not allowed. */
bool dbExpand(serverDb *db, size_t keys);
/* A random key that is not expired; NULL when there is none. */
robj *dbRandomKey(serverDb *db);
/* Assert the numbered invariants at the top of db.c. Visits every key. */
void dbCheck(const serverDb *db);
/* Cron: shrink tables that have become sparse, and move on tables that are being resized (1 ms, as activerehashing
 * says). */
void dbResizeTick(void);
/* Exact entries, for expire.c and evict.c: take `entry` out of db, without reading it before it is found there;
 * false when it is not there. The reference goes to the caller. */
bool dbTakeEntry(serverDb *db, robj *entry, uint64_t hash);

/* --- Keys of a file that is read ------------------------------------------------------------------ */
/* No event, no change that counts: whoever reads the file answers for that. */
typedef struct loadedKey {
    robj *entry; /* owns: its LRU bits are set, unless `use` is; not read where that can be helped */
    uint64_t hash;
    int64_t use;     /* -1; or seconds since it was used, or how often, as the policy means it */
    bool has_expire; /* objectExpire() is not -1 */
    bool has_times;  /* objectHasTimes() */
} loadedKey;
/* Add keys in order, as many as are new (takes these entries): less than `n` when the next one is there already. */
size_t dbAddLoaded(serverDb *db, const loadedKey *keys, size_t n);
/* Make room for so many more keys, and so many of them with an expire; as far as there is memory. */
void dbExpandLoaded(serverDb *db, size_t keys, size_t with_expire);

/* A second set of databases, empty at first, to be filled by the functions above while the first one is in use. Then it
 * takes the first one's place, at once, which is told as if all had been flushed; or is dropped. */
void dbShadowBegin(void);
serverDb *dbShadow(int id); /* NULL out of range */
void dbShadowTake(bool async);
void dbShadowDrop(bool async);

/* --- Expire ------------------------------------------------------------------------------------- */
static inline bool keyIsExpired(const robj *entry) {
    int64_t when_ms = objectExpire(entry);
    return when_ms != -1 && when_ms < store_expire_cutoff_ms;
}
/* The kind of deletion that lookups do; false when nothing was deleted. */
bool expireIfNeeded(serverDb *db, robj *entry, hashedKey key);
/* Delete `entry`, whose time is over. False when it is not in db. */
bool dbDropExpired(serverDb *db, robj *entry, uint64_t hash);
/* The running command gives a key a time that is over: the key goes at once. */
void dbExpireNow(serverDb *db, robj *entry, hashedKey key);
/* While the dataset stands still, or follows another's, keys whose time is over are hidden but not deleted: only who
 * looks one up in order to write deletes it. */
static inline bool expireDeletionAllowed(void) {
    return !store_following.on && !storeStandsStill();
}
#endif

/* keys.c -- commands that work on keys with any type of value: DEL, EXISTS, KEYS, RENAME, COPY, OBJECT and others.
 *
 * Not here    SCAN (scan.c); expires (expire_cmds.c); DUMP and RESTORE (dump.c); whole databases (db_cmds.c).
 * Threads     main.
 * Invariants  1. An entry that gets another name or database loses its LRU and LFU bits, and keeps its expire.
 *             2. Every change is reported (keyspace_events.h).
 * Tests       tests/unit/commands/keyspace/keys_test.c, tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_memory.h"
#include "commands.h"
#include "db_walk.h"
#include "lru.h"
#include "panic.h"
#include "propagate.h"
#include "reply.h"
#include "scan.h"
#include "slice.h"
#include "sliced.h"
#include "typed_key.h"
#include "value_hash.h"

#define MS_PER_S 1000

/* ---- DEL, UNLINK, EXISTS, TOUCH ---- */

static void unlinkEntry(serverDb *db, robj *o, uint64_t hash) {
    bool found = dbTakeEntry(db, o, hash);
    serverAssert(found);
}

/* Deletes the key. If this server may not delete expired keys, as on a replica, an expired key counts as present: the
 * command comes from the server that may. */
static bool deleteOne(serverDb *db, hashedKey key, bool lazily) {
    robj *o = lookupKeyWriteWithFlags(db, key, LOOKUP_NOTOUCH | LOOKUP_HIDDEN);
    if (!o) return false;
    unlinkEntry(db, o, key.hash);
    if (lazily) objectReleaseLazily(o);
    else objectReleaseNow(o);
    dbKeyChanged(db, key, NOTIFY_GENERIC, "del", 1);
    return true;
}

static void deleteGeneric(client *c, bool lazily) {
    long long deleted = 0;
    uint32_t count = c->argc - 1;
    for (uint32_t i = 0, ready = 0; i < count; i++) {
        if (i == ready) ready += keysPrefetch(c, 1 + i, 1, count - i);
        deleted += deleteOne(c->db, clientKeyAt(c, 1 + i), lazily);
    }
    addReplyLongLong(c, deleted);
}

void delCommand(client *c) { deleteGeneric(c, store_settings.lazyfree_user_del); }
void unlinkCommand(client *c) { deleteGeneric(c, true); }

static void countGeneric(client *c, int lookup_flags) {
    long long found = 0;
    uint32_t count = c->argc - 1;
    for (uint32_t i = 0, ready = 0; i < count; i++) {
        if (i == ready) ready += keysPrefetch(c, 1 + i, 1, count - i);
        found += lookupKeyReadWithFlags(c->db, clientKeyAt(c, 1 + i), lookup_flags) != NULL;
    }
    addReplyLongLong(c, found);
}

void existsCommand(client *c) { countGeneric(c, LOOKUP_NOTOUCH); }
void touchCommand(client *c) { countGeneric(c, LOOKUP_NONE); }

/* ---- TYPE, KEYS, RANDOMKEY ---- */

void typeCommand(client *c) {
    const robj *o = lookupKeyReadWithFlags(c->db, clientKeyAt(c, 1), LOOKUP_NOTOUCH);
    addReplyStatus(c, o ? objectTypeName(o) : "none");
}

/* Leaves out expired keys, and does not delete them: nothing may be deleted during the walk. */
void keysCommand(client *c) {
    slice pattern = c->argv[1];
    bool all = pattern.len == 1 && pattern.ptr[0] == '*';
    int slot = all ? -1 : scanPatternSlot(pattern);
    long long found = 0;
    void *deferred = addReplyDeferredLen(c);
    dbIterator it;
    if (slot != -1) dbIterBeginSlot(&it, c->db, slot, false);
    else dbIterBegin(&it, c->db, false);
    for (const robj *o; !replyIsDropped(c) && (o = dbIterNext(&it));) {
        slice name = objectKey(o);
        if ((!all && !globMatch(pattern, name, false)) || keyIsExpired(o)) continue;
        addReplyBulk(c, name);
        found++;
    }
    dbIterEnd(&it);
    setDeferredArrayLen(c, deferred, found);
}

void randomkeyCommand(client *c) {
    const robj *o = dbRandomKey(c->db);
    if (o) addReplyBulk(c, objectKey(o));
    else addReplyNull(c);
}

/* ---- RENAME, MOVE, COPY ---- */

static void renameGeneric(client *c, bool only_if_free) {
    hashedKey from = clientKeyAt(c, 1), to = clientKeyAt(c, 2);
    robj *o = lookupKeyWrite(c->db, from);
    if (!o) {
        addReplyNoKeyError(c);
        return;
    }
    bool same = sliceEq(from.name, to.name), taken = same || lookupKeyWrite(c->db, to);
    if (only_if_free && taken) {
        addReplyZero(c);
        return;
    }
    /* If replies still refer to the value, it is not renamed in place; the new key gets a copy. */
    if (!same && !commandMemoryReserve(c, (o->refcount > 1 ? objectMemUsage(o, 0) : 0) + to.name.len)) return;
    if (!same) {
        if (taken) dbDelete(c->db, to);
        unlinkEntry(c->db, o, from.hash);
        o = objectRenameTake(o, to.name);
        o->lru = 0;
        dbAddTake(c->db, o, to);
        dbKeyMoved(c->db, from, "rename_from", c->db, to, "rename_to");
    }
    if (only_if_free) addReplyOne(c);
    else addReplyOk(c);
}

void renameCommand(client *c) { renameGeneric(c, false); }
void renamenxCommand(client *c) { renameGeneric(c, true); }

/* Selects the database whose number is argument `index`. Returns NULL after an error reply. */
static serverDb *dbFromArg(client *c, uint32_t index) {
    int id;
    if (!getIntFromArg(c, index, &id, NULL)) return NULL;
    serverDb *db = dbSelect(id);
    if (!db) addReplyError(c, "DB index is out of range");
    return db;
}

static void addReplySameObject(client *c) { addReplyError(c, "source and destination objects are the same"); }

/* MOVE key db */
void moveCommand(client *c) {
    serverDb *from = c->db, *to = dbFromArg(c, 2);
    if (!to) return;
    if (to == from) {
        addReplySameObject(c);
        return;
    }
    hashedKey key = clientKeyAt(c, 1);
    robj *o = lookupKeyWrite(from, key);
    if (!o || lookupKeyWrite(to, key)) {
        addReplyZero(c);
        return;
    }
    unlinkEntry(from, o, key.hash);
    o->lru = 0;
    dbAddTake(to, o, key);
    dbKeyMoved(from, key, "move_from", to, key, "move_to");
    addReplyOne(c);
}

static bool parseCopyOptions(client *c, serverDb **to, bool *replace) {
    for (uint32_t i = 3; i < c->argc; i++) {
        if (sliceIs(c->argv[i], "replace")) {
            *replace = true;
        } else if (i + 1 < c->argc && sliceIs(c->argv[i], "db")) {
            if (!(*to = dbFromArg(c, ++i))) return false;
        } else {
            return addReplySyntaxError(c);
        }
    }
    return true;
}

/* Propagates COPY of a hash with expired fields. They are not copied here; a replica may copy them, so HDEL deletes
 * them there. */
static void propagateCopy(const client *c, const robj *from, const robj *copy, const serverDb *to_db, slice to) {
    if (from->type != OBJ_HASH || hashLength(from) == hashLength(copy) || !propagateRewritten(c)) return;
    propagateArgs(c, 1, c->argc);
    propagateDone();
    propagateBegin(dbId(to_db), sliceStr("HDEL"));
    propagateArg(to);
    hashIter it;
    hashIterBegin(&it, from);
    for (const hashPair *pair; (pair = hashIterNext(&it));)
        if (hashTimeExpired(pair->when_ms)) propagateCopied(pair->name);
    hashIterEnd(&it);
    propagateDone();
}

/* Returns a copy under another key; NULL after an error reply. */
static robj *copyOf(client *c, const robj *o, slice to) {
    size_t needs = objectMemUsage(o, 0) + to.len;
    /* The allocator leaves unused pages between large blocks, which objectMemUsage() does not count: at most a quarter
     * of the smallest large block. */
    if (!commandMemoryReserve(c, needs + needs / 4)) return NULL;
    robj *copy = objectDup(o, to);
    copy->lru = 0;
    return copy;
}

/* Does the same for a large value, and serves other clients meanwhile. Replies 0 and returns NULL if the source was
 * deleted meanwhile: the command counts as the first one after that. */
static robj *copyInSlices(client *c, const robj *o, hashedKey from, slice to) {
    slicedLoops(c);
    robj *copy = copyOf(c, o, to);
    slicedEnd(c);
    if (copy && dbExists(c->db, from)) return copy;
    propagateNothing(); /* changes of others do not count as its own */
    if (!copy) return NULL;
    objectReleaseLazily(copy);
    addReplyZero(c);
    return NULL;
}

/* COPY source destination [DB db] [REPLACE] */
void copyCommand(client *c) {
    serverDb *to_db = c->db;
    bool replace = false;
    if (!parseCopyOptions(c, &to_db, &replace)) return;
    hashedKey from = clientKeyAt(c, 1), to = clientKeyAt(c, 2);
    if (to_db == c->db && sliceEq(from.name, to.name)) {
        addReplySameObject(c);
        return;
    }
    robj *o = lookupKeyRead(c->db, from);
    bool taken = o && lookupKeyWrite(to_db, to);
    if (!o || (taken && !replace)) {
        addReplyZero(c);
        return;
    }
    slicedStart slices = slicedBegin(c, o, slicedElements(o));
    if (unlikely(slices == SLICED_POSTPONED)) return;
    robj *copy = slices == SLICED_YES ? copyInSlices(c, o, from, to.name) : copyOf(c, o, to.name);
    if (!copy) return;
    if (taken) dbDelete(to_db, to);
    dbAddTake(to_db, copy, to);
    dbKeyChanged(to_db, to, NOTIFY_GENERIC, "copy_to", 1);
    propagateCopy(c, o, copy, to_db, to.name);
    addReplyOne(c);
}

/* ---- OBJECT ---- */

/* Looks up the key in argument 2 without counting it as used. Returns NULL after a null reply. */
static robj *lookupInspected(client *c) {
    robj *o = lookupKeyReadWithFlags(c->db, clientKeyAt(c, 2), LOOKUP_NOTOUCH | LOOKUP_NONOTIFY);
    if (!o) addReplyNull(c);
    return o;
}

#define POLICY_NOTE \
    " Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."

void objectEncodingCommand(client *c) {
    const robj *o = lookupInspected(c);
    if (o) addReplyBulkCString(c, objectEncodingName(o));
}

void objectRefcountCommand(client *c) {
    const robj *o = lookupInspected(c);
    if (o) addReplyLongLong(c, o->refcount);
}

void objectIdletimeCommand(client *c) {
    const robj *o = lookupInspected(c);
    if (!o) return;
    if (store_settings.maxmemory_policy & MAXMEMORY_FLAG_LFU)
        addReplyError(c, "An LFU maxmemory policy is selected, idle time not tracked." POLICY_NOTE);
    else addReplyLongLong(c, (long long)(lruIdleMs(o) / MS_PER_S));
}

void objectFreqCommand(client *c) {
    const robj *o = lookupInspected(c);
    if (!o) return;
    if (!(store_settings.maxmemory_policy & MAXMEMORY_FLAG_LFU))
        addReplyError(c, "An LFU maxmemory policy is not selected, access frequency not tracked." POLICY_NOTE);
    else addReplyLongLong(c, lfuFrequency(o));
}

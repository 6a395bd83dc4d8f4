/* tracking.c -- client-side caching: notifies clients when keys change that they may have cached.
 *
 * Without BCAST, a reading command adds its keys to the table (tracking_table.c). A key that changes is removed from
 * it, and its readers are sent an invalidation at once. The client whose command has changed the key gets it when that
 * has ended, in the protocol and to the target that it has then, as EXEC may have changed both: until then the names
 * are kept in `waiting`. With BCAST, changes are collected (tracking_prefixes.c) and sent before the output of a batch.
 *
 * An invalidation has the name of the key. The code that changes a key has it. When a key is removed because there are
 * too many, the keyspace is searched by the hash; a key that was absent when it was read has its name in the table.
 *
 * Not here    the commands (commands/connection/client_tracking.c).
 * Owns        clients' trackingStates, the table.
 * Threads     main.
 * Invariants  1. CLIENT_TRACKING is set exactly while a client's state is in the list of those with tracking on.
 *             2. A key without a name in the table is in the keyspace, as every removal from the keyspace is reported
 *                to this file. Where that does not hold a client is sent "all keys", which is never wrong.
 *             3. `waiting` has names only while the client's command runs (CLIENT_PUSHES_HELD).
 *             4. A client has prefixes only with BCAST, and no mode while tracking is off.
 *             5. tracking_has_keys is set exactly while the table has keys.
 * Cost        nothing until the first client tracks; then a lookup in the table for each change while it has keys, and
 *             for each key that is read by a client with tracking on.
 * Tests       tests/engine/tracking.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tracking.h"

#include "acl.h"
#include "client_describe.h"
#include "command_table.h"
#include "engine_settings.h"
#include "panic.h"
#include "reply.h"
#include "tracking_table.h"
#include "zmalloc.h"

bool tracking_has_keys;

static trackingTable *table;    /* owns; created, like the observers, for the first client that tracks */
static trackingState *tracking; /* list of the states with tracking on */
static client *(*running_client)(void);
static const serverCommand *container; /* the command CLIENT */

/* ---- Checks ---- */

#define TABLE_CHECKED 1000 /* a table with more keys is not checked */

static size_t slot; /* const after startup */

static trackingState **stateOf(const client *c) { return clientSlot(c, slot); }

/* Asserts the invariants that concern one client; NULL if it has never tracked. */
static void stateCheck(const trackingState *s) {
    debugAssert(tracking_has_keys == (table && trackingTableKeys(table) > 0));
    debugAssert(!tracking || (table && !tracking->prev));
    if (!s) return;
    bool on = s->c->flags & CLIENT_TRACKING;
    debugAssert(*stateOf(s->c) == s && readerState(s->reader) == s);
    debugAssert(!on || (s->prev ? s->prev->next == s : tracking == s));
    debugAssert(on || (!(s->mode & ~(uint32_t)TRACKING_BROKEN) && tracking != s));
    debugAssert(s->prefixes.count == 0 || s->mode & TRACKING_BCAST);
    debugAssert(!(s->mode & TRACKING_OPTIN && s->mode & TRACKING_OPTOUT));
    debugAssert(!s->waiting || s->c->flags & CLIENT_PUSHES_HELD);
    unused(on);
}

/* ---- States of clients ---- */

trackingState *trackingOf(const client *c) { return *stateOf(c); }

static trackingState *makeState(client *c) {
    trackingState *s = zcalloc(1, sizeof(*s));
    s->c = c;
    s->reader = readerNew(s);
    *stateOf(c) = s;
    stateCheck(s);
    return s;
}

/* ---- Messages ---- */

/* Contents of a message to several clients: names of keys in RESP; ptr is NULL if all keys may have changed. */
typedef struct invalidation {
    slice names;
    robj *shared; /* replyShare() of the names */
} invalidation;

static void addHeading(client *to) {
    if (to->resp > 2) {
        addReplyPushLen(to, 2);
        addReplyBulkCString(to, "invalidate");
    } else {
        addReplyArrayLen(to, 3);
        addReplyBulkCString(to, "message");
        addReplyBulkCString(to, "__redis__:invalidate");
    }
}

static void sendBroken(trackingState *s) {
    s->mode |= TRACKING_BROKEN;
    if (s->c->resp < 3) return;
    pushBegin(s->c);
    addReplyPushLen(s->c, 2);
    addReplyBulkCString(s->c, "tracking-redir-broken");
    addReplyLongLong(s->c, (long long)s->redirect);
    pushEnd(s->c);
}

/* Begins an invalidation for the client that gets those of `s`. Returns NULL if there is none. RESP2 has no push
 * messages except those of subscriptions: a RESP2 client gets invalidations only for another client, while it has
 * subscriptions. */
static client *beginMessage(trackingState *s) {
    client *to = s->redirect ? clientById(s->redirect) : s->c;
    if (!to) {
        sendBroken(s);
        return NULL;
    }
    if (to->resp < 3 && !(s->redirect && to->flags & CLIENT_PUBSUB)) return NULL;
    pushBegin(to);
    addHeading(to);
    return to;
}

static void sendNames(trackingState *s, invalidation what) {
    client *to = beginMessage(s);
    if (!to) return;
    if (what.names.ptr) addReplyShared(to, what.names, what.shared);
    else addReplyNull(to);
    pushEnd(to);
}

/* Sends the invalidation of a key. name.ptr is NULL if the name is unknown; `large` is a long name as a value, or
 * NULL. */
static void sendKey(trackingState *s, slice name, robj *large) {
    client *to = beginMessage(s);
    if (!to) return;
    if (name.ptr) {
        addReplyArrayLen(to, 1);
        if (large) addReplyBulkObject(to, large);
        else addReplyBulk(to, name);
    } else {
        addReplyNull(to);
    }
    pushEnd(to);
}

/* Of `waiting`, in which each name follows its length. */
#define WAITING_BYTES_MAX 16384
#define ANY_KEY UINT32_MAX

static void sendWaiting(trackingState *s) {
    sds waiting = s->waiting;
    s->waiting = NULL;
    for (size_t at = 0; at < sdsLen(waiting);) {
        uint32_t len;
        debugAssert(sdsLen(waiting) - at >= sizeof(len));
        memcpy(&len, waiting + at, sizeof(len));
        at += sizeof(len);
        debugAssert(len == ANY_KEY || len <= sdsLen(waiting) - at);
        sendKey(s, len == ANY_KEY ? sliceOf(NULL, 0) : sliceOf(waiting + at, len), NULL);
        if (len != ANY_KEY) at += len;
    }
    sdsFree(waiting);
}

/* Invalidates a key for a client, after the running command if that is the client's own. name.ptr is NULL if the name
 * is unknown or all keys may have changed. If too many names would be waiting they are sent now. */
static void invalidateKey(trackingState *s, slice name, robj *large) {
    size_t waiting = s->waiting ? sdsLen(s->waiting) : 0;
    bool waits = s->c == running_client();
    if (waits && waiting + name.len > WAITING_BYTES_MAX) {
        if (s->waiting) sendWaiting(s);
        waits = false;
    }
    if (!waits) {
        sendKey(s, name, large);
        return;
    }
    uint32_t len = name.ptr ? (uint32_t)name.len : ANY_KEY;
    if (!s->waiting) s->waiting = sdsEmpty();
    s->waiting = sdsCatLen(s->waiting, &len, sizeof(len));
    if (name.len) s->waiting = sdsCatLen(s->waiting, name.ptr, name.len);
    s->c->flags |= CLIENT_PUSHES_HELD;
    stateCheck(s);
}

void trackingReleasePushes(client *c) {
    assertMainRole();
    trackingState *s = trackingOf(c);
    pushesRelease(c);
    if (!s || !s->waiting) return;
    sendWaiting(s);
    if (c->flags & CLIENT_PUSHES_HELD) pushesRelease(c);
    debugAssert(!s->waiting);
    stateCheck(s);
}

/* Invalidates a key that was removed from the table for its readers, except for a client with NOLOOP that has changed
 * it itself (`by`). */
static void invalidateReaders(trackedKey *k, slice name, const client *by) {
    uint32_t at = 0, reader;
    robj *large = replyShare(name);
    while ((reader = trackedKeyNext(k, &at)) != 0) {
        trackingState *s = readerState(reader);
        if (!s || !(s->c->flags & CLIENT_TRACKING) || s->mode & TRACKING_BCAST) continue;
        if (s->c == by && s->mode & TRACKING_NOLOOP) continue;
        invalidateKey(s, name, large);
    }
    if (large) decrRefCount(large);
    trackedKeyFree(k);
}

/* ---- Changes ---- */

/* A key that expires or is evicted while a command runs is not changed by the command's client. */
static void keyModified(serverDb *db, hashedKey key, changeCause cause) {
    const client *by = cause == CHANGED_BY_COMMAND || cause == CHANGED_GROUPS ? running_client() : NULL;
    trackedKey k;
    if (tracking_has_keys && trackingTableTake(table, key.hash, &k)) {
        tracking_has_keys = trackingTableKeys(table) != 0;
        invalidateReaders(&k, key.name, by);
    }
    if (tracking_prefix_count) prefixesNote(key.name, dbId(db), by ? by->id : 0);
}

static void databaseFlushed(int dbid, bool async) {
    unused(dbid), unused(async);
    trackingTableEmpty(table);
    tracking_has_keys = false;
    for (trackingState *s = tracking, *next; s; s = next) {
        next = s->next;
        invalidateKey(s, sliceOf(NULL, 0), NULL);
    }
}

/* The client for which names are selected: without those that it has changed itself (NOLOOP), and those that its user
 * may not read. */
typedef struct recipient {
    const client *c;
    uint64_t without; /* id of the client whose changes are left out; 0: none */
    int dbid;
} recipient;

static bool mayReceive(void *arg, slice key, uint64_t by) {
    const recipient *r = arg;
    return (!r->without || r->without != by) && aclMayReadKey(r->c, key, r->dbid);
}

/* Sends a BCAST client the changes of one prefix. If the database of the changes is unknown and the client's user may
 * not read all of them, the client is sent "all keys may have changed", which is never wrong. */
static void sendChanges(void *owner, const prefixNews *news) {
    trackingState *s = owner;
    bool own = s->mode & TRACKING_NOLOOP && prefixNewsMayBeOf(news, s->c->id);
    bool unknown = news->dbid == -1 && !aclDbsAreAlike(s->c);
    if (!news->keys.ptr || unknown || (!own && !aclIsRestricted(s->c))) {
        sendNames(s, unknown ? (invalidation){{NULL, 0}, NULL} : (invalidation){news->keys, news->shared});
        return;
    }
    bool failed;
    recipient r = {s->c, own ? s->c->id : 0, news->dbid};
    sds some = prefixNewsOnly(news, mayReceive, &r, &failed);
    if (some || failed) sendNames(s, (invalidation){failed ? sliceOf(NULL, 0) : sdsSlice(some), NULL});
    sdsFree(some);
}

void trackingSendInvalidations(void) {
    assertMainRole();
    prefixesForEach(sendChanges);
}

/* ---- Too many keys ---- */

#define FORGET_AT_ONCE 100

static slice nameInKeyspace(uint64_t hash) {
    for (int i = 0; i < dbCount(); i++) {
        const robj *o = dbFindByHash(dbGet(i), hash);
        if (o) return objectKey(o);
    }
    return sliceOf(NULL, 0);
}

/* Removes any `max` keys from the table, or as many as there are above the limit, and invalidates them. */
static void forgetSome(size_t max) {
    size_t limit = (size_t)engine_settings.tracking_table_max_keys;
    trackedKey k;
    debugAssert(max > 0);
    if (limit == 0) return;
    for (; max && trackingTableKeys(table) > limit && trackingTableTakeAny(table, &k); max--) {
        slice name = trackedKeyName(&k);
        invalidateReaders(&k, name.ptr ? name : nameInKeyspace(k.hash), NULL);
    }
}

void trackingTick(void) {
    assertMainRole();
    if (!table) return;
    forgetSome(FORGET_AT_ONCE * 10);
#ifdef DEBUG_ASSERTIONS
    if (trackingTableKeys(table) < TABLE_CHECKED) trackingTableCheck(table);
#endif
}

/* ---- Keys that are read ---- */

static bool wantsKeys(const trackingState *s) {
    if (s->mode & TRACKING_BCAST) return false;
    if (s->mode & TRACKING_OPTIN) return s->mode & TRACKING_CACHING;
    return !(s->mode & TRACKING_OPTOUT && s->mode & TRACKING_CACHING);
}

void trackingRemember(client *c, serverDb *db, const parsedCommand *req) {
    assertMainRole();
    debugAssert(c->flags & CLIENT_TRACKING && req->cmd);
    const trackingState *s = trackingOf(c);
    if (!(req->cmd->flags & CMD_READONLY) || !wantsKeys(s)) return;
    size_t added = 0;
    for (uint32_t i = 0; i < req->nkeys; i++) {
        hashedKey key = {req->argv[req->keys[i].index], req->keys[i].hash};
        if (likely(!trackingTableAdd(table, key.hash, s->reader))) continue;
        added++;
        tracking_has_keys = true;
        if (!dbExists(db, key)) trackingTableName(table, key.hash, key.name);
    }
    if (added) forgetSome(added + FORGET_AT_ONCE);
    stateCheck(s);
}

void trackingCommandEnded(client *c) {
    trackingState *s = trackingOf(c);
    stateCheck(s);
    if (likely(!(s->mode & TRACKING_CACHING))) return;
    if (c->flags & (CLIENT_MULTI | CLIENT_BLOCKED) || (c->cmd && c->cmd->parent == container)) return;
    s->mode &= ~(uint32_t)TRACKING_CACHING;
}

void trackingPrefetch(uint64_t hash) {
    if (table) trackingTablePrefetch(table, hash);
}

void trackingPrefetchReaders(uint64_t hash) {
    if (table) trackingTablePrefetchReaders(table, hash);
}

/* ---- On and off ---- */

static void makeTable(void) {
    debugAssert(running_client); /* trackingInit() */
    table = trackingTableCreate(readerExists);
    storeObserveModified(keyModified);
    storeObserveFlushed(databaseFlushed);
}

static void listAdd(trackingState *s) {
    s->prev = NULL;
    s->next = tracking;
    if (s->next) s->next->prev = s;
    tracking = s;
}

static void listRemove(trackingState *s) {
    if (s->prev) s->prev->next = s->next;
    else tracking = s->next;
    if (s->next) s->next->prev = s->prev;
}

void trackingOn(client *c, uint32_t mode, uint64_t redirect) {
    assertMainRole();
    debugAssert(mode <= (TRACKING_BCAST | TRACKING_OPTIN | TRACKING_OPTOUT | TRACKING_NOLOOP));
    if (!table) makeTable();
    trackingState *s = trackingOf(c) ? trackingOf(c) : makeState(c);
    if (!(c->flags & CLIENT_TRACKING)) listAdd(s);
    c->flags |= CLIENT_TRACKING;
    s->mode = mode | (mode & (TRACKING_OPTIN | TRACKING_OPTOUT) ? s->mode & TRACKING_CACHING : 0);
    s->redirect = redirect;
    stateCheck(s);
}

bool trackingAddPrefixes(client *c, const slice *prefixes, size_t count) {
    assertMainRole();
    debugAssert(c->flags & CLIENT_TRACKING && trackingOf(c)->mode & TRACKING_BCAST);
    return prefixesJoin(&trackingOf(c)->prefixes, trackingOf(c), prefixes, count);
}

/* The client keeps its number, so that keys that it has read before are invalidated when it tracks again, and its
 * target, for invalidations that wait for the end of a transaction. */
void trackingOff(client *c) {
    assertMainRole();
    trackingState *s = trackingOf(c);
    stateCheck(s);
    if (!(c->flags & CLIENT_TRACKING)) return;
    c->flags &= ~CLIENT_TRACKING;
    listRemove(s);
    prefixesLeave(&s->prefixes);
    s->mode = 0;
    stateCheck(s);
}

static void trackingFreed(client *c) {
    trackingOff(c);
    trackingState *s = trackingOf(c);
    if (!s) return;
    readerForget(s->reader);
    sdsFree(s->waiting);
    zfree(s);
    *stateOf(c) = NULL;
}

static void trackingClientInfo(const client *c, clientInfoExtra *extra) {
    const trackingState *s = trackingOf(c);
    if (!s) return;
    extra->other_bytes += sizeof(*s) + s->prefixes.bytes + (s->waiting ? sdsAllocSize(s->waiting) : 0);
    extra->tracking_broken_redirect = s->mode & TRACKING_BROKEN; /* may be set although tracking is off */
    if (!(c->flags & CLIENT_TRACKING)) return;
    extra->redirect = (long long)s->redirect;
    extra->tracking_bcast = s->mode & TRACKING_BCAST;
}

trackingTotals trackingGetTotals(void) {
    assertMainRole();
    if (!table) return (trackingTotals){0, 0, 0};
    return (trackingTotals){trackingTableKeys(table), trackingTableItems(table), tracking_prefix_count};
}

size_t trackingMemory(void) { return (table ? trackingTableMemory(table) : 0) + readersMemory(); }

void trackingInit(client *(*running)(void)) {
    assertMainRole();
    running_client = running;
    slot = clientSlotRegister(sizeof(trackingState *));
    container = commandNamed("client");
    clientOnFree(trackingFreed);
    clientOnReset(trackingOff);
    clientOnInfo(trackingClientInfo);
}

/* tracking.c -- client-side caching: clients hear when keys change that they may have cached.
 *
 * Without BCAST: a read command remembers its keys (tracking_table.c); a key that changes is forgotten, and its readers
 * are told at once. The client whose command it was is told when that has ended, in the protocol and to whom it wants
 * to be told then, as EXEC may have changed both: what it is to hear waits as names. With BCAST: changes are collected
 * (tracking_prefixes.c) and told before the output of a batch is sent.
 *
 * A message needs the name of the key. What changes a key has it. What forgets a key because there are too many has
 * not: then the keyspace is asked by the hash, and a key that was not there when it was read has its name in the table.
 *
 * Not here    the commands (commands/connection/client_tracking.c).
 * Owns        clients' trackingStates, the table.
 * Threads     main.
 * Invariants  1. CLIENT_TRACKING is set exactly while a client's state is in the list of those with tracking on.
 *             2. A key without a name in the table is in the keyspace: all that takes keys out of it is told here.
 *                Where that does not hold a client is told to forget everything, which is never wrong.
 *             3. `waiting` has names only while the client's command runs (CLIENT_PUSHES_HELD).
 *             4. A client has prefixes only with BCAST, and no mode while tracking is off.
 *             5. tracking_has_keys is set exactly while the table has keys.
 * Cost        nothing until the first client tracks; then a look-up in the table for each change while it has keys; of
 *             a read a look-up for each key.
 * Tests       tests/engine/tracking.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tracking.h"

#include "acl.h"
#include "client_describe.h"
#include "command_table.h"
#include "engine_settings.h"
#include "panic.h"
#include "push.h"
#include "reply.h"
#include "tracking_readers.h"
#include "tracking_table.h"
#include "zmalloc.h"

bool tracking_has_keys;

static trackingTable *table;    /* owns; made with the first client, and so are the observers */
static trackingState *tracking; /* those with tracking on */
static client *(*running_client)(void);
static const serverCommand *container; /* CLIENT */

/* ---- What holds ---- */

#define TABLE_CHECKED 1000 /* keys: a table of more is not looked through */

static size_t slot; /* const after boot */

static trackingState **stateOf(const client *c) {
    return clientSlot(c, slot);
}

/* Asserts the invariants as far as they are about one client; NULL: it has never tracked. */
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

/* ---- Who tracks ---- */

trackingState *trackingOf(const client *c) {
    return *stateOf(c);
}

static trackingState *makeState(client *c) {
    trackingState *s = zcalloc(1, sizeof(*s));
    s->c = c;
    s->reader = readerNew(s);
    *stateOf(c) = s;
    stateCheck(s);
    return s;
}

/* ---- Messages ---- */

/* What messages to several clients say: names of keys as RESP, or, ptr NULL, that all keys may have changed. */
typedef struct forgetting {
    slice names;
    robj *shared; /* replyShare() of them */
} forgetting;

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

static void tellBroken(trackingState *s) {
    s->mode |= TRACKING_BROKEN;
    if (s->c->resp < 3) return;
    pushBegin(s->c);
    addReplyPushLen(s->c, 2);
    addReplyBulkCString(s->c, "tracking-redir-broken");
    addReplyLongLong(s->c, (long long)s->redirect);
    pushEnd(s->c);
}

/* Begin a message to whom the client's messages go; NULL: to nobody. RESP2 has no messages but those of subscriptions:
 * a client that speaks it gets them for another one, while it is subscribed to something. */
static client *beginMessage(trackingState *s) {
    client *to = s->redirect ? clientById(s->redirect) : s->c;
    if (!to) {
        tellBroken(s);
        return NULL;
    }
    if (to->resp < 3 && !(s->redirect && to->flags & CLIENT_PUBSUB)) return NULL;
    pushBegin(to);
    addHeading(to);
    return to;
}

static void tellNames(trackingState *s, forgetting what) {
    client *to = beginMessage(s);
    if (!to) return;
    if (what.names.ptr) addReplyShared(to, what.names, what.shared);
    else addReplyNull(to);
    pushEnd(to);
}

/* name.ptr NULL: nobody knows which key it was. `large`: the name as a value, if it is to be referred to. */
static void tellKeyNow(trackingState *s, slice name, robj *large) {
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

/* Lengths and names, one behind the other. */
#define WAITING_BYTES_MAX 16384
#define ANY_KEY UINT32_MAX

static void tellWaiting(trackingState *s) {
    sds waiting = s->waiting;
    s->waiting = NULL;
    for (size_t at = 0; at < sdsLen(waiting);) {
        uint32_t len;
        debugAssert(sdsLen(waiting) - at >= sizeof(len));
        memcpy(&len, waiting + at, sizeof(len));
        at += sizeof(len);
        debugAssert(len == ANY_KEY || len <= sdsLen(waiting) - at);
        tellKeyNow(s, len == ANY_KEY ? sliceOf(NULL, 0) : sliceOf(waiting + at, len), NULL);
        if (len != ANY_KEY) at += len;
    }
    sdsFree(waiting);
}

/* name.ptr NULL: nobody knows which key it was, or all may have changed. What is too much to wait is told now. */
static void tellKey(trackingState *s, slice name, robj *large) {
    size_t waiting = s->waiting ? sdsLen(s->waiting) : 0;
    bool waits = s->c == running_client();
    if (waits && waiting + name.len > WAITING_BYTES_MAX) {
        if (s->waiting) tellWaiting(s);
        waits = false;
    }
    if (!waits) {
        tellKeyNow(s, name, large);
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
    tellWaiting(s);
    if (c->flags & CLIENT_PUSHES_HELD) pushesRelease(c);
    debugAssert(!s->waiting);
    stateCheck(s);
}

/* Tell the readers of a key that has left the table, but for one that does not want to hear of what it has done
 * itself. */
static void tellReaders(trackedKey *k, slice name, const client *by) {
    uint32_t at = 0, reader;
    robj *large = replyShare(name);
    while ((reader = trackedKeyNext(k, &at)) != 0) {
        trackingState *s = readerState(reader);
        if (!s || !(s->c->flags & CLIENT_TRACKING) || s->mode & TRACKING_BCAST) continue;
        if (s->c == by && s->mode & TRACKING_NOLOOP) continue;
        tellKey(s, name, large);
    }
    if (large) decrRefCount(large);
    trackedKeyFree(k);
}

/* ---- What changes ---- */

/* What expires or is evicted while a command runs is nobody's doing. */
static void keyModified(serverDb *db, hashedKey key, changeCause cause) {
    const client *by = cause == CHANGED_BY_COMMAND || cause == CHANGED_GROUPS ? running_client() : NULL;
    trackedKey k;
    if (tracking_has_keys && trackingTableTake(table, key.hash, &k)) {
        tracking_has_keys = trackingTableKeys(table) != 0;
        tellReaders(&k, key.name, by);
    }
    if (tracking_prefix_count) prefixesNote(key.name, dbId(db), by ? by->id : 0);
}

static void databaseFlushed(int dbid, bool async) {
    unused(dbid), unused(async);
    trackingTableEmpty(table);
    tracking_has_keys = false;
    for (trackingState *s = tracking, *next; s; s = next) {
        next = s->next;
        tellKey(s, sliceOf(NULL, 0), NULL);
    }
}

/* Which names are for whom: not what it has done itself with NOLOOP, nor what its user may not read. */
typedef struct hearer {
    const client *c;
    uint64_t without; /* 0: nobody */
    int dbid;
} hearer;

static bool mayHear(void *arg, slice key, uint64_t by) {
    const hearer *h = arg;
    return (!h->without || h->without != by) && aclMayReadKey(h->c, key, h->dbid);
}

/* It forgets everything where it may not know what has changed, as it is not known in which database it was: that is
 * never wrong. */
static void tellOwner(void *owner, const prefixNews *news) {
    trackingState *s = owner;
    bool own = s->mode & TRACKING_NOLOOP && prefixNewsMayBeOf(news, s->c->id);
    bool unknown = news->dbid == -1 && !aclDbsAreAlike(s->c);
    if (!news->keys.ptr || unknown || (!own && !aclIsRestricted(s->c))) {
        tellNames(s, unknown ? (forgetting){{NULL, 0}, NULL} : (forgetting){news->keys, news->shared});
        return;
    }
    bool failed;
    hearer h = {s->c, own ? s->c->id : 0, news->dbid};
    sds some = prefixNewsOnly(news, mayHear, &h, &failed);
    if (some || failed) tellNames(s, (forgetting){failed ? sliceOf(NULL, 0) : sdsSlice(some), NULL});
    sdsFree(some);
}

void trackingSendInvalidations(void) {
    assertMainRole();
    prefixesForEach(tellOwner);
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

/* Forget any `max` keys, or as many as there are above the limit. */
static void forgetSome(size_t max) {
    size_t limit = (size_t)engine_settings.tracking_table_max_keys;
    trackedKey k;
    debugAssert(max > 0);
    if (limit == 0) return;
    for (; max && trackingTableKeys(table) > limit && trackingTableTakeAny(table, &k); max--) {
        slice name = trackedKeyName(&k);
        tellReaders(&k, name.ptr ? name : nameInKeyspace(k.hash), NULL);
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

/* ---- What is read ---- */

static bool wantsKeys(const trackingState *s) {
    if (s->mode & TRACKING_BCAST) return false;
    if (s->mode & TRACKING_OPTIN) return s->mode & TRACKING_CACHING;
    return !(s->mode & TRACKING_OPTOUT && s->mode & TRACKING_CACHING);
}

static void remember(const client *c, serverDb *db, const parsedCommand *req) {
    const trackingState *s = trackingOf(c);
    if (!(req->cmd->flags & CMD_READONLY) || !wantsKeys(s)) return;
    size_t came = 0;
    for (uint32_t i = 0; i < req->nkeys; i++) {
        hashedKey key = {req->argv[req->keys[i].index], req->keys[i].hash};
        if (likely(!trackingTableAdd(table, key.hash, s->reader))) continue;
        came++;
        tracking_has_keys = true;
        if (!dbExists(db, key)) trackingTableName(table, key.hash, key.name);
    }
    if (came) forgetSome(came + FORGET_AT_ONCE);
    stateCheck(s);
}

void trackingRemember(client *c) {
    assertMainRole();
    debugAssert(c->flags & CLIENT_TRACKING);
    remember(c, c->db, c->req);
}

void trackingRememberProgram(client *c, serverDb *db, const parsedCommand *req) {
    assertMainRole();
    debugAssert(c->flags & CLIENT_TRACKING && req->cmd);
    remember(c, db, req);
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
    table = trackingTableCreate(readerIsAlive);
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

/* Its number stays, so that keys it has read before are told when it tracks again; and to whom its messages go, for
 * those that wait for the end of a transaction. */
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

static void freed(client *c) {
    trackingOff(c);
    trackingState *s = trackingOf(c);
    if (!s) return;
    readerForget(s->reader);
    sdsFree(s->waiting);
    zfree(s);
    *stateOf(c) = NULL;
}

static void shown(const client *c, clientInfoExtra *extra) {
    const trackingState *s = trackingOf(c);
    if (!s) return;
    extra->other_bytes += sizeof(*s) + s->prefixes.bytes + (s->waiting ? sdsAllocSize(s->waiting) : 0);
    extra->tracking_broken_redirect = s->mode & TRACKING_BROKEN; /* perhaps seen when it was off already */
    if (!(c->flags & CLIENT_TRACKING)) return;
    extra->redirect = (long long)s->redirect;
    extra->tracking_bcast = s->mode & TRACKING_BCAST;
}

trackingTotals trackingGetTotals(void) {
    assertMainRole();
    if (!table) return (trackingTotals){0, 0, 0};
    return (trackingTotals){trackingTableKeys(table), trackingTableItems(table), tracking_prefix_count};
}

size_t trackingMemory(void) {
    return (table ? trackingTableMemory(table) : 0) + readersMemory();
}

void trackingInit(client *(*running)(void)) {
    assertMainRole();
    running_client = running;
    slot = clientSlotRegister(sizeof(trackingState *));
    container = commandNamed("client");
    clientOnFree(freed);
    clientOnReset(trackingOff);
    clientOnInfo(shown);
}

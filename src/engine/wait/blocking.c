/* blocking.c -- blocked clients: they wait for a key (BLPOP, BZPOPMIN, XREAD BLOCK ...), or for an owner.
 *
 * A `waiter` is the entry of one blocked client in the list of one key:
 *
 *   tables[db]: dict of waitedKey --first--> `waiter` --next--> `waiter`      of one key, in the order of arrival
 *                                               ^ blockingState.`waiters`[]   of one client
 *   deadlines: a heap of clients that wait with a deadline, or whose command runs again at a time, the earliest first
 *
 * A change of a key only marks it as ready (ready list). When the command that changed it has ended, the clients that
 * wait for it are served: key by key in the order in which they became ready, client by client in the order of arrival.
 * A served command may mark other keys (BLMOVE); they go to the end of the list, so a chain of any length is a loop.
 *
 * A client that waits for an owner is in no key's list: only its deadline and its end are handled here.
 *
 * A client with a blockingState:
 *
 *   WAITS --its key is ready--> RUNS AGAIN --it finds nothing--> WAITS
 *     | a pause holds its command    ^    `--it has its reply--> no state
 *     `--> HELD ---the pause ends----'
 *
 * Not here    how a command runs again (callServeBlocked() in call.c), when (net/session/command_batch.c).
 * Owns        the tables, the heap, the records of blocked clients.
 * Threads     main.
 * Invariants  1. CLIENT_BLOCKED is set while a client waits, but not while its command runs again or is held.
 *             2. A key is in a table as long as a client waits for it, it is ready, or it is being served.
 *             3. A client is in a key's list once, however often its command names the key.
 *             4. A client that is held or waits for an owner is in no key's list; one that is not held is in the heap
 *                if it has a deadline or a time to run again.
 *             5. blocking_ready is set while a key is ready or is being served.
 * Cost        nothing until the first client blocks; a ready key costs a step for each client that waits for it, up to
 *             the one that empties it; a command runs again once for all its keys that have become ready together; a
 *             deadline costs the logarithm of their number.
 * Tests       tests/unit/engine/wait/blocking_test.c, tests/engine/blocking.tcl, tests/persist/waitaof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "blocking.h"

#include "client_describe.h"
#include "clock.h"
#include "command_record.h"
#include "command_table.h"
#include "commandlog.h"
#include "engine_settings.h"
#include "heap.h"
#include "latency.h"
#include "panic.h"
#include "reply.h"
#include "zmalloc.h"

#include <limits.h>
#include <math.h>

typedef struct waitedKey {
    struct waiter *first, *last; /* owned by the clients' states */
    struct waitedKey *next_ready;
    size_t nokey;    /* clients that are also woken when it is deleted */
    uint64_t marked; /* ready.marks when it was last marked */
    int dbid;
    bool ready;   /* on the ready list */
    bool serving; /* its clients are being served: the entry stays even if none is left */
    size_t len;
    char name[];
} waitedKey;

typedef struct waiter {
    client *c; /* borrowed */
    waitedKey *key;
    struct waiter *prev, *next; /* of the same key */
} waiter;

typedef struct blockingState {
    parsedCommand *record; /* owns: the command as it was sent; with an owner, NULL if there was no memory */
    slice *args;           /* owns: arguments to run with again in place of record->argv; NULL: the same */
    uint64_t ns;           /* run time so far */
    const blockOwner *owner;
    void *wait;      /* passed to the owner's functions */
    waiter *waiters; /* owns the array; as many as the command names keys */
    uint32_t count;  /* number in use: one for each different key */
    size_t bytes;    /* size of these and of their keys, although other clients may wait for them too */
    uint64_t run_at; /* ready.marks when its command last ran again: it has seen the keys marked until then */
    objectTypeId type;
    bool until_deleted;
    bool again;          /* its command is running again */
    bool held;           /* it is to run again later: it is in no key's list and not in the heap */
    int64_t deadline_ms; /* 0: none */
    int64_t again_ms;    /* when it runs again although no key is ready; 0: never */
    size_t heap_index;
} blockingState;

blockingTotals blocking_totals;
bool blocking_ready;

static dict **tables; /* owns: one for each database, NULL until it is needed */
static void (*on_unblocked)(client *c);
static void (*on_deadline)(int64_t wall_ms);

/* ---- Keys that clients wait for ---- */

static slice waitedName(const void *entry) {
    const waitedKey *k = entry;
    return sliceOf(k->name, k->len);
}

static const dictType waited_type = {.entryKey = waitedName, .hash = keyHash, .entryFree = zfree};

static struct {
    waitedKey *head, *tail;
    waitedKey *serving; /* the key whose clients are being served, and the next of them */
    waiter *cursor;
    uint64_t marks; /* number of marks so far */
} ready;

static void markReady(waitedKey *k) {
    k->marked = ++ready.marks;
    if (k->ready) return;
    k->ready = true;
    k->next_ready = NULL;
    if (ready.tail) ready.tail->next_ready = k;
    else ready.head = k;
    ready.tail = k;
    blocking_ready = true;
}

static void forgetIfUnused(waitedKey *k) {
    if (k->first || k->ready || k->serving) return;
    slice name = waitedName(k);
    dictDelete(tables[k->dbid], name, keyHash(name));
}

static waitedKey *findWaited(int dbid, hashedKey key) {
    return tables[dbid] ? dictFind(tables[dbid], key.name, key.hash) : NULL;
}

static void keyReady(serverDb *db, hashedKey key, int type) {
    unused(type);
    waitedKey *k = findWaited(dbId(db), key);
    if (k) markReady(k);
}

static void keyModified(serverDb *db, hashedKey key, changeCause cause) {
    unused(cause);
    if (blocking_totals.nokey == 0) return;
    waitedKey *k = findWaited(dbId(db), key);
    if (k && k->nokey) markReady(k);
}

static void markAll(int dbid, bool nokey_only) {
    if (!tables[dbid]) return;
    dictIterator it;
    dictIterBegin(&it, tables[dbid], false);
    for (waitedKey *k; (k = dictIterNext(&it)) != NULL;)
        if (k->nokey || !nokey_only) markReady(k);
    dictIterEnd(&it);
}

static void databaseFlushed(int dbid, bool async) {
    unused(async);
    if (blocking_totals.nokey == 0) return;
    for (int i = 0; i < dbCount(); i++)
        if (dbid == -1 || dbid == i) markAll(i, true);
}

static void databasesSwapped(int a, int b) {
    markAll(a, false);
    markAll(b, false);
}

static dict *tableOf(int dbid) {
    if (!tables) {
        tables = zcalloc((size_t)dbCount(), sizeof(dict *));
        storeObserveReady(keyReady);
        storeObserveModified(keyModified);
        storeObserveFlushed(databaseFlushed);
        storeObserveSwapped(databasesSwapped);
    }
    if (!tables[dbid]) tables[dbid] = dictCreate(&waited_type);
    return tables[dbid];
}

static waitedKey *findOrAdd(int dbid, hashedKey key) {
    dict *table = tableOf(dbid);
    waitedKey *k = dictFind(table, key.name, key.hash);
    if (k) return k;
    k = zmalloc(sizeof(*k) + key.name.len);
    *k = (waitedKey){.dbid = dbid, .len = key.name.len};
    if (k->len) memcpy(k->name, key.name.ptr, k->len);
    dictAddNew(table, k, key.hash);
    return k;
}

/* ---- The lists of keys ---- */

/* Returns the size of a waited key with its slots in the table. */
static size_t costOf(const waitedKey *k) { return sizeof(*k) + k->len + 4 * sizeof(void *); }

static size_t slot; /* const after startup */

static blockingState **stateOf(const client *c) { return clientSlot(c, slot); }

/* Returns NULL if the client is not blocked. */
static blockingState *blockingOf(const client *c) { return *stateOf(c); }

/* Appends the client to a key's list. A client's keys are added together: if it is in this list already, it is the last
 * one. */
static void addWaiter(client *c, hashedKey key) {
    blockingState *b = blockingOf(c);
    waitedKey *k = findOrAdd(dbId(c->db), key);
    if (k->last && k->last->c == c) return;
    debugAssert(b->count < b->record->argc);
    waiter *w = &b->waiters[b->count++];
    *w = (waiter){.c = c, .key = k, .prev = k->last};
    b->bytes += costOf(k);
    if (k->last) k->last->next = w;
    else k->first = w;
    k->last = w;
    if (!w->prev) blocking_totals.keys++;
    if (b->until_deleted && k->nokey++ == 0) blocking_totals.nokey++;
}

static void removeWaiter(waiter *w, bool until_deleted) {
    waitedKey *k = w->key;
    debugAssert(!until_deleted || k->nokey > 0);
    if (ready.cursor == w) ready.cursor = w->next;
    if (w->prev) w->prev->next = w->next;
    else k->first = w->next;
    if (w->next) w->next->prev = w->prev;
    else k->last = w->prev;
    if (!k->first) blocking_totals.keys--;
    if (until_deleted && --k->nokey == 0) blocking_totals.nokey--;
    forgetIfUnused(k);
}

/* ---- Deadlines: a heap ---- */

/* Returns the earlier of the two times; 0 if there is none. */
static int64_t dueMs(const blockingState *b) {
    if (!b->again_ms || (b->deadline_ms && b->deadline_ms < b->again_ms)) return b->deadline_ms;
    return b->again_ms;
}

static int64_t deadlineOf(const void *element) { return dueMs(blockingOf(*(client *const *)element)); }

static bool endsSooner(const void *a, const void *b) { return deadlineOf(a) < deadlineOf(b); }

static void noteIndex(const void *element, size_t index) { blockingOf(*(client *const *)element)->heap_index = index; }

static const heapType deadline_type = {.size = sizeof(client *), .before = endsSooner, .moved = noteIndex};
static heap deadlines = {.type = &deadline_type}; /* borrowed clients */

static client *deadlineClient(size_t index) { return ((client **)deadlines.at)[index]; }

static void addDeadline(client *c) {
    heapAdd(&deadlines, &c);
    blocking_totals.timeouts = deadlines.count;
    if (blockingOf(c)->heap_index == 0 && on_deadline) on_deadline(dueMs(blockingOf(c)));
}

static void removeDeadline(const client *c) {
    serverAssert(deadlines.count > 0 && deadlineClient(blockingOf(c)->heap_index) == c);
    heapRemove(&deadlines, blockingOf(c)->heap_index);
    blocking_totals.timeouts = deadlines.count;
}

/* ---- Checks ---- */

#define WAITERS_CHECKED 32

static void checkWaiters(const client *c) {
    const blockingState *b = blockingOf(c);
    uint32_t count = b->count < WAITERS_CHECKED ? b->count : WAITERS_CHECKED;
    for (uint32_t i = 0; i < count; i++) {
        const waiter *w = &b->waiters[i];
        debugAssert(w->c == c && w->key->first && w->key->last);
        debugAssert(w->prev ? w->prev->next == w : w->key->first == w);
        debugAssert(w->next ? w->next->prev == w : w->key->last == w);
        debugAssert(!b->until_deleted || w->key->nokey > 0);
        debugAssert(!w->next || w->next->c != c); /* a client is in a key's list once */
        unused(w);
    }
}

/* Asserts the invariants that concern one client. */
static void clientCheck(const client *c) {
#ifdef DEBUG_ASSERTIONS
    const blockingState *b = blockingOf(c);
    debugAssert(blocking_ready == (ready.head || ready.serving) && !ready.head == !ready.tail);
    debugAssert(blocking_totals.timeouts == deadlines.count);
    debugAssert(blocking_totals.nokey <= blocking_totals.keys);
    debugAssert(b || !(c->flags & CLIENT_BLOCKED));
    if (!b) return;
    debugAssert(c->flags & CLIENT_BLOCKED ? !b->held : b->held || b->again);
    debugAssert(b->owner ? !b->waiters && !b->again : b->record && b->waiters);
    debugAssert(b->count == 0 || !(b->held || b->owner));
    checkWaiters(c);
    if (b->held || !dueMs(b)) return;
    debugAssert(b->heap_index < deadlines.count && deadlineClient(b->heap_index) == c);
    size_t parent = b->heap_index ? (b->heap_index - 1) / 2 : 0;
    debugAssert(dueMs(blockingOf(deadlineClient(0))) <= dueMs(b));
    debugAssert(dueMs(blockingOf(deadlineClient(parent))) <= dueMs(b));
#else
    unused(c);
    unused(checkWaiters);
#endif
}

/* ---- Beginning and ending a wait ---- */

static void waitForAll(client *c, const blockFor *what) {
    blockingState *b = blockingOf(c);
    for (uint32_t i = 0; i < what->keys; i++) addWaiter(c, clientKeyAt(c, what->first_key + i));
    if (dueMs(b)) addDeadline(c);
}

/* Sets when the command of a client that waits runs again. */
static void setAgain(client *c, int64_t again_ms) {
    blockingState *b = blockingOf(c);
    if (b->again_ms == again_ms) return;
    if (dueMs(b)) removeDeadline(c);
    b->again_ms = again_ms;
    if (dueMs(b)) addDeadline(c);
}

static void waitForNothing(client *c) {
    blockingState *b = blockingOf(c);
    if (b->held) return;
    for (uint32_t i = 0; i < b->count; i++) {
        debugAssert(b->bytes >= costOf(b->waiters[i].key));
        b->bytes -= costOf(b->waiters[i].key);
        removeWaiter(&b->waiters[i], b->until_deleted);
    }
    b->count = 0;
    if (dueMs(b)) removeDeadline(c);
}

static void stateFree(client *c) {
    blockingState *b = blockingOf(c);
    waitForNothing(c);
    if (b->owner) b->owner->forget(c, b->wait);
    recordFree(b->record);
    zfree(b->args);
    zfree(b->waiters);
    zfree(b);
    *stateOf(c) = NULL;
    c->flags &= ~CLIENT_BLOCKED;
}

/* Returns a record of the running command that outlives its request; NULL if there is no memory. */
static parsedCommand *copyCommand(const client *c) {
    parsedCommand copy = *c->req;
    return recordDetach(&copy);
}

/* Does the same as copyCommand(), and makes `args` that point to the request's arguments point to the record's. */
static parsedCommand *copyCommandWith(const client *c, slice *args) {
    for (uint32_t i = 0; args && i < c->argc; i++)
        if (args[i].ptr == c->req->argv[i].ptr) args[i].ptr = NULL;
    parsedCommand *record = copyCommand(c);
    for (uint32_t i = 0; record && args && i < c->argc; i++)
        if (!args[i].ptr) args[i] = record->argv[i];
    return record;
}

void blockForKeys(client *c, const blockFor *what) {
    assertMainRole();
    debugAssert(!(c->flags & CLIENT_BLOCKED) && what->keys > 0 && what->first_key + what->keys <= c->argc);
    blockingState *b = blockingOf(c);
    if (b || c->flags & CLIENT_DENY_BLOCKING) zfree(what->args);
    if (b) {
        serverAssert(b->again);
        c->flags |= CLIENT_BLOCKED;
        if (b->held) {
            b->again_ms = what->again_ms;
            waitForAll(c, what);
        } else {
            setAgain(c, what->again_ms);
        }
        b->held = false;
        clientCheck(c);
        return;
    }
    if (c->flags & CLIENT_DENY_BLOCKING) {
        if (what->null_bulk) addReplyNull(c);
        else addReplyNullArray(c);
        return;
    }
    waiter *waiters = ztrymalloc(what->keys * sizeof(*waiters));
    parsedCommand *record = waiters ? copyCommandWith(c, what->args) : NULL;
    if (!record) {
        zfree(what->args);
        zfree(waiters);
        addReplyNoMemory(c);
        return;
    }
    b = *stateOf(c) = zmalloc(sizeof(*b));
    *b = (blockingState){.record = record,
                         .args = what->args,
                         .waiters = waiters,
                         .bytes = what->keys * sizeof(*waiters) + (what->args ? zmallocSize(what->args) : 0),
                         .type = what->type,
                         .until_deleted = what->until_deleted,
                         .deadline_ms = what->deadline_ms,
                         .again_ms = what->again_ms};
    c->flags |= CLIENT_BLOCKED;
    waitForAll(c, what);
    clientCheck(c);
}

void blockOnOwner(client *c, const blockOwner *owner, void *wait, int64_t deadline_ms) {
    assertMainRole();
    serverAssert(!blockingOf(c) && !(c->flags & CLIENT_DENY_BLOCKING));
    debugAssert(owner->reply && owner->forget);
    blockingState *b = *stateOf(c) = zmalloc(sizeof(*b));
    *b = (blockingState){.record = copyCommand(c), .owner = owner, .wait = wait, .deadline_ms = deadline_ms};
    c->flags |= CLIENT_BLOCKED;
    if (deadline_ms) addDeadline(c);
    clientCheck(c);
}

bool blockingRunsAgain(const client *c) { return blockingOf(c) && blockingOf(c)->again; }

slice *blockingArgs(const client *c) { return blockingOf(c)->args; }

void blockingNoteTime(client *c, uint64_t ns) { blockingOf(c)->ns += ns; }

static void blockingFinish(client *c) {
    stateFree(c);
    clientCheck(c);
    c->flags &= ~CLIENT_REPLY_SKIP; /* it was for the reply that has been added */
    on_unblocked(c);
}

/* Counts a command that ends without having run again. Its run time, without the wait, is in the command's sum
 * already. */
static void countEnded(client *c, bool refused, size_t reply_bytes) {
    const serverCommand *cmd = c->last_cmd;
    const blockingState *b = blockingOf(c);
    cmd->stats->calls++;
    if (refused) cmd->stats->rejected_calls++;
    engine_stats.commands_processed++;
    if (engine_settings.latency_tracking) latencyTrackCommand(cmd->stats, b->ns);
    if (!b->record || cmd->flags & CMD_SKIP_COMMANDLOG) return;
    if (!commandlogWanted(b->ns, b->record->wire_len, reply_bytes)) return;
    const parsedCommand *outer = c->req;
    c->req = b->record;
    commandlogRecord(c, b->ns, b->record->wire_len, reply_bytes);
    c->req = outer;
}

bool blockingEnd(client *c, const char *error) {
    assertMainRole();
    clientCheck(c);
    if (!(c->flags & CLIENT_BLOCKED)) return false;
    size_t output_before = c->output_bytes;
    if (error) addReplyError(c, error);
    else if (blockingOf(c)->owner) blockingOf(c)->owner->reply(c, blockingOf(c)->wait);
    else addReplyNullArray(c);
    countEnded(c, error != NULL, c->output_bytes - output_before);
    blockingFinish(c);
    return true;
}

bool blockingForAnyRole(const client *c) {
    const blockOwner *owner = blockingOf(c)->owner;
    return owner && owner->any_role;
}

int64_t blockingExpire(int64_t wall_ms) {
    assertMainRole();
    for (int n = 0; n < BLOCKING_EXPIRE_MAX && deadlines.count && deadlineOf(deadlines.at) <= wall_ms; n++) {
        client *c = deadlineClient(0);
        const blockingState *b = blockingOf(c);
        if (b->deadline_ms && b->deadline_ms <= wall_ms) {
            blockingEnd(c, NULL);
        } else {
            setAgain(c, 0);
            markReady(b->waiters[0].key);
        }
    }
    return deadlines.count ? deadlineOf(deadlines.at) : 0;
}

static void blockingFreed(client *c) {
    clientCheck(c);
    if (blockingOf(c)) stateFree(c);
}

static void blockingClientInfo(const client *c, clientInfoExtra *extra) {
    const blockingState *b = blockingOf(c);
    if (b) extra->other_bytes += sizeof(*b) + b->bytes + (b->record ? recordMemory(b->record) : 0);
}

/* ---- Serving ---- */

/* Returns whether the value of the key, or its absence, wakes the client. It does not if the command has run since the
 * key was marked, because of another key, or if the client is to be closed. */
static bool concerns(const waiter *w, const robj *o) {
    const blockingState *b = blockingOf(w->c);
    if (b->run_at >= w->key->marked) return false;
    if (w->c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY)) return false;
    return (o && o->type == b->type) || b->until_deleted;
}

static void beginKey(void) {
    waitedKey *k = ready.head;
    debugAssert(k->ready && !k->serving && !ready.serving);
    ready.head = k->next_ready;
    if (!ready.head) ready.tail = NULL;
    k->ready = false;
    k->serving = true;
    ready.serving = k;
    ready.cursor = k->first;
}

static void endKey(void) {
    waitedKey *k = ready.serving;
    debugAssert(k->serving);
    ready.serving = NULL;
    k->serving = false;
    forgetIfUnused(k);
}

/* Returns the next client to serve for the key; NULL if there is no value or no client left. */
static client *nextOfKey(void) {
    const waitedKey *k = ready.serving;
    const robj *o = lookupKeyReadWithFlags(dbGet(k->dbid), hashedKeyOf(waitedName(k)), LOOKUP_PEEK);
    if (!o && k->nokey == 0) return NULL;
    while (ready.cursor && !concerns(ready.cursor, o)) ready.cursor = ready.cursor->next;
    if (!ready.cursor) return NULL;
    client *c = ready.cursor->c;
    debugAssert(c->flags & CLIENT_BLOCKED && ready.cursor->key == k);
    ready.cursor = ready.cursor->next;
    return c;
}

client *blockingNext(void) {
    assertMainRole();
    while (ready.serving || ready.head) {
        if (!ready.serving) beginKey();
        client *c = nextOfKey();
        if (c) return c;
        endKey();
    }
    blocking_ready = false;
    return NULL;
}

const parsedCommand *blockingRun(client *c) {
    assertMainRole();
    blockingState *b = blockingOf(c);
    debugAssert(!b->owner && (b->held || c->flags & CLIENT_BLOCKED));
    clientCheck(c);
    b->again = true;
    b->run_at = ready.marks;
    c->flags &= ~CLIENT_BLOCKED;
    clientCheck(c);
    return b->record;
}

void blockingHasRun(client *c) {
    assertMainRole();
    blockingState *b = blockingOf(c);
    debugAssert(b->again);
    clientCheck(c);
    b->again = false;
    if (!(c->flags & CLIENT_BLOCKED)) blockingFinish(c);
}

const parsedCommand *blockingCommand(const client *c) {
    assertMainRole();
    return blockingOf(c)->record;
}

void blockingHold(client *c) {
    assertMainRole();
    debugAssert(!blockingOf(c)->owner);
    clientCheck(c);
    waitForNothing(c);
    blockingOf(c)->held = true;
    c->flags &= ~CLIENT_BLOCKED;
    clientCheck(c);
}

bool blockingIsHeld(const client *c) {
    assertMainRole();
    return blockingOf(c) && blockingOf(c)->held;
}

void blockingInit(void (*unblocked)(client *c)) {
    assertMainRole();
    debugAssert(!on_unblocked);
    on_unblocked = unblocked;
    slot = clientSlotRegister(sizeof(blockingState *));
    clientOnFree(blockingFreed);
    clientOnInfo(blockingClientInfo);
}

void blockingOnDeadline(void (*set)(int64_t wall_ms)) { on_deadline = set; }

/* ---- The timeout argument ---- */

static bool deadlineIn(client *c, long long timeout_ms, int64_t *deadline_ms) {
    int64_t now_ms = clockWallMs();
    if (timeout_ms < 0) return addReplyError(c, "timeout is negative");
    if (timeout_ms > LLONG_MAX - now_ms) return addReplyError(c, "timeout is out of range");
    *deadline_ms = timeout_ms ? now_ms + timeout_ms : 0;
    return true;
}

bool getTimeoutFromArg(client *c, uint32_t index, int64_t *deadline_ms) {
    long double seconds;
    if (!getLongDoubleFromArg(c, index, &seconds, "timeout is not a float or out of range")) return false;
    if (seconds < 0) return deadlineIn(c, -1, deadline_ms);
    long double ms = ceill(seconds * 1000);
    if (ms >= (long double)LLONG_MAX) return addReplyError(c, "timeout is out of range");
    return deadlineIn(c, (long long)ms, deadline_ms);
}

bool getTimeoutMsFromArg(client *c, uint32_t index, int64_t *deadline_ms) {
    long long ms;
    if (!getLongLongFromArg(c, index, &ms, "timeout is not an integer or out of range")) return false;
    return deadlineIn(c, ms, deadline_ms);
}

/* watch.c -- WATCH: which clients watch which keys.
 *
 *   tables[db]: dict of watchedKey --first--> watcher --next--> watcher      of one key, by client
 *                                               ^ watchList.first --next_own--> ...   of one client, by key
 *
 * Not here    how EXEC fails when a watched key has changed (transaction.c).
 * Owns        the tables; the watchers, each of which is in two lists.
 * Threads     main.
 * Invariants  1. A key is in a table as long as it has a watcher.
 *             2. A client watches a key of a database once.
 * Cost        nothing until the first key is watched; then a lookup for each change of a key of that database.
 * Tests       tests/engine/transaction.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "transaction_queue.h"

#include "panic.h"
#include "zmalloc.h"

typedef struct watchedKey {
    struct watcher *first; /* owns, together with the clients' lists; not NULL */
    size_t len;
    char name[];
} watchedKey;

/* The key by which a watcher is found in `pairs`, so that neither a key with many clients nor a client with many keys
 * is slow. */
typedef struct watchPair {
    watchList *list; /* borrowed */
    watchedKey *key; /* borrowed */
} watchPair;

typedef struct watcher {
    watchPair pair;
    struct watcher *next, **link; /* of the same key; the pointer to this watcher */
    struct watcher *next_own;     /* of the same client */
    int dbid;
    bool was_expired; /* the key had expired when it was watched */
} watcher;

watchTotals watch_totals;

static dict **tables; /* owns: one for each database, NULL until it is needed */
static dict *pairs;   /* owns the table, but not its watchers, which the lists own */

/* ---- The tables ---- */

static slice watchedName(const void *entry) {
    const watchedKey *k = entry;
    return sliceOf(k->name, k->len);
}

static const dictType watched_type = {.entryKey = watchedName, .hash = keyHash, .entryFree = zfree};

static slice pairOf(const void *entry) { return sliceOf(&((const watcher *)entry)->pair, sizeof(watchPair)); }

static const dictType pairs_type = {.entryKey = pairOf};

static uint64_t pairHash(const watchPair *pair) { return hashBytes(pair, sizeof(*pair)); }

/* ---- Changes ---- */

static void keyModified(serverDb *db, hashedKey key, changeCause cause) {
    if (cause == CHANGED_GROUPS) return;
    const dict *table = tables[dbId(db)];
    const watchedKey *k = table ? dictFind(table, key.name, key.hash) : NULL;
    if (!k) return;
    bool there = dbExists(db, key);
    for (watcher *w = k->first, *next; w; w = next) {
        next = w->next;
        if (w->was_expired && !there) {
            w->was_expired = false; /* the deletion of an expired key is no change */
        } else {
            w->pair.list->c->flags |= CLIENT_DIRTY_CAS;
            watchForget(w->pair.list); /* frees w, and k if w was its last watcher */
        }
    }
}

static bool isLive(serverDb *db, hashedKey key) { return lookupKeyReadWithFlags(db, key, LOOKUP_PEEK) != NULL; }

/* Call before the contents of a database are replaced by those of `next` (NULL: by nothing). Marks the transactions
 * that this makes fail. Their clients go on watching the keys, as in Valkey, which makes no difference to them. */
static void contentsReplaced(int dbid, serverDb *next) {
    if (!tables[dbid]) return;
    dictIterator it;
    dictIterBegin(&it, tables[dbid], false);
    for (const watchedKey *k; (k = dictIterNext(&it)) != NULL;) {
        hashedKey key = hashedKeyOf(watchedName(k));
        bool was = dbExists(dbGet(dbid), key);
        bool comes = next && dbExists(next, key), comes_live = comes && isLive(next, key);
        for (watcher *w = k->first; w; w = w->next) {
            bool was_there = was && !w->was_expired;
            if (was_there || comes_live) w->pair.list->c->flags |= CLIENT_DIRTY_CAS;
            else w->was_expired = comes;
        }
    }
    dictIterEnd(&it);
}

static void databaseFlushed(int dbid, bool async) {
    unused(async);
    for (int i = 0; i < dbCount(); i++)
        if (dbid == -1 || dbid == i) contentsReplaced(i, NULL);
}

static void databasesSwapped(int a, int b) {
    contentsReplaced(a, dbGet(b));
    contentsReplaced(b, dbGet(a));
}

#define WATCHERS_CHECKED 32

/* Asserts the invariants for the first keys of a client. */
static void watchCheck(const watchList *list) {
#ifdef DEBUG_ASSERTIONS
    size_t left = WATCHERS_CHECKED, seen = 0;
    debugAssert(!list->first == (list->count == 0) && !list->first == (list->bytes == 0));
    debugAssert(!list->first || (watch_totals.clients > 0 && watch_totals.keys > 0));
    debugAssert(!list->first || dictSize(pairs) >= list->count);
    for (const watcher *w = list->first; w && left-- > 0; w = w->next_own, seen++) {
        debugAssert(w->pair.list == list && *w->link == w && w->pair.key->first);
        debugAssert(!w->next || w->next->link == &w->next);
        debugAssert(w->next == NULL || w->next->pair.list != list); /* invariant 2 */
    }
    debugAssert(seen == list->count || seen == WATCHERS_CHECKED);
#endif
    unused(list);
}

/* ---- Watching ---- */

static dict *tableOf(int dbid) {
    if (!tables) {
        tables = zcalloc((size_t)dbCount(), sizeof(dict *));
        pairs = dictCreate(&pairs_type);
        storeObserveModified(keyModified);
        storeObserveFlushed(databaseFlushed);
        storeObserveSwapped(databasesSwapped);
    }
    if (!tables[dbid]) tables[dbid] = dictCreate(&watched_type);
    return tables[dbid];
}

static watchedKey *findOrAdd(dict *table, hashedKey key) {
    watchedKey *k = dictFind(table, key.name, key.hash);
    if (k) return k;
    k = zmalloc(sizeof(*k) + key.name.len);
    k->first = NULL;
    k->len = key.name.len;
    if (k->len) memcpy(k->name, key.name.ptr, k->len);
    dictAddNew(table, k, key.hash);
    watch_totals.keys++;
    return k;
}

static void linkWatcher(watchedKey *k, watcher *w) {
    w->next = k->first;
    w->link = &k->first;
    if (w->next) w->next->link = &w->next;
    k->first = w;
}

/* Returns the size of a watcher with its slots in both tables and its key, although other clients may watch that
 * too. */
static size_t costOf(const watcher *w) {
    return sizeof(*w) + sizeof(watchedKey) + w->pair.key->len + 4 * sizeof(void *);
}

void watchKey(watchList *list, client *c, hashedKey key) {
    assertMainRole();
    int dbid = dbId(c->db);
    watchedKey *k = findOrAdd(tableOf(dbid), key);
    const watchPair pair = {list, k};
    if (dictFind(pairs, sliceOf(&pair, sizeof(pair)), pairHash(&pair))) return;
    watcher *w = zmalloc(sizeof(*w));
    *w = (watcher){.pair = pair, .dbid = dbid, .next_own = list->first};
    w->was_expired = dbExists(c->db, key) && !isLive(c->db, key);
    linkWatcher(k, w);
    dictAddNew(pairs, w, pairHash(&pair));
    if (list->count++ == 0) watch_totals.clients++;
    list->first = w;
    list->c = c;
    list->bytes += costOf(w);
    watchCheck(list);
}

static void unlinkWatcher(watcher *w) {
    debugAssert(*w->link == w);
    dictPopEntry(pairs, w, pairHash(&w->pair));
    *w->link = w->next;
    if (w->next) w->next->link = w->link;
    if (w->pair.key->first) return;
    slice name = watchedName(w->pair.key);
    dictDelete(tables[w->dbid], name, keyHash(name));
    watch_totals.keys--;
}

void watchForget(watchList *list) {
    assertMainRole();
    watchCheck(list);
    if (list->count == 0) return;
    while (list->first) {
        watcher *w = list->first;
        list->first = w->next_own;
        unlinkWatcher(w);
        zfree(w);
    }
    debugAssert(watch_totals.clients > 0);
    list->count = list->bytes = 0;
    watch_totals.clients--;
}

bool watchHasExpired(const watchList *list) {
    assertMainRole();
    watchCheck(list);
    for (const watcher *w = list->first; w; w = w->next_own) {
        if (w->was_expired) continue;
        serverDb *db = dbGet(w->dbid);
        hashedKey key = hashedKeyOf(watchedName(w->pair.key));
        if (dbExists(db, key) && !isLive(db, key)) return true;
    }
    return false;
}

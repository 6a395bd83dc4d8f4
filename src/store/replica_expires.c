/* replica_expires.c -- keys to which clients of a writable replica have given an expire.
 *
 * Not here    deleting them (expire.c).
 * Owns        the names.
 * Threads     main.
 * Cost        nothing if the dataset does not follow another server's.
 * Tests       tests/unit/store/replica_expires_test.c, tests/repl/role.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "replica_expires.h"

#include "panic.h"
#include "rax.h"
#include "sds.h"
#include "store_state.h"

#include <string.h>

#define DB_BYTES 4 /* number of the database, before the name */

static_assert(sizeof(void *) == sizeof(int64_t), "a time is a value of the tree");

static struct {
    rax *keys; /* owned; NULL: there were none yet. The values are the expires */
    sds at;    /* owned: where the last visit ended; NULL: start at the first key */
} recorded;

static int databaseOf(slice key) {
    uint32_t number;
    memcpy(&number, key.ptr, DB_BYTES);
    return (int)number;
}

static slice nameOf(slice key) { return sliceOf(key.ptr + DB_BYTES, key.len - DB_BYTES); }

static void replicaExpiresRemember(rax *keys, int dbid, slice name, void *when) {
    uint32_t number = (uint32_t)dbid;
    sds key = sdsCatLen(sdsNewLen(&number, DB_BYTES), name.ptr, name.len);
    /* Without memory for it the key is not recorded: it is deleted when a client writes it. */
    raxInsert(keys, sdsSlice(key), when, NULL);
    sdsFree(key);
}

void replicaExpiresNote(int dbid, slice name, int64_t when_ms) {
    assertMainRole();
    /* Expires are ignored for the primary's commands, and while loading. */
    if (!store_following.on || store_following.imports || store_expire_cutoff_ms == INT64_MIN) return;
    if (!recorded.keys) recorded.keys = raxCreate();
    replicaExpiresRemember(recorded.keys, dbid, name, (void *)(intptr_t)when_ms);
}

void replicaExpiresSwap(int a, int b) {
    assertMainRole();
    if (replicaExpiresCount() == 0) return;
    rax *keys = raxCreate();
    raxIterator it;
    for (bool on = raxIterFirst(&it, recorded.keys); on; on = raxIterNext(&it)) {
        const slice key = raxIterKey(&it);
        int dbid = databaseOf(key), swapped = dbid == a ? b : dbid == b ? a : dbid;
        replicaExpiresRemember(keys, swapped, nameOf(key), raxIterValue(&it));
    }
    raxIterEnd(&it);
    raxRelease(recorded.keys, NULL);
    recorded.keys = keys;
}

size_t replicaExpiresCount(void) { return recorded.keys ? raxSize(recorded.keys) : 0; }

void replicaExpiresClear(void) {
    assertMainRole();
    if (recorded.keys) raxEmpty(recorded.keys, NULL);
    sdsFree(recorded.at);
    recorded.at = NULL;
}

static bool replicaExpiresSeek(raxIterator *it) {
    if (recorded.at && raxIterSeek(it, RAX_SEEK_GT, sdsSlice(recorded.at))) return true;
    return raxIterSeek(it, RAX_SEEK_FIRST, sliceOf(NULL, 0));
}

void replicaExpiresVisit(size_t most, bool (*visit)(int dbid, slice name, int64_t when_ms)) {
    assertMainRole();
    if (replicaExpiresCount() == 0) return;
    if (most > replicaExpiresCount()) most = replicaExpiresCount();
    raxIterator it;
    raxIterBegin(&it, recorded.keys);
    for (bool on = replicaExpiresSeek(&it); on && most; on = raxIterNext(&it), most--) {
        slice key = raxIterKey(&it);
        sdsFree(recorded.at);
        recorded.at = sdsFromSlice(key);
        bool stays = visit(databaseOf(key), nameOf(key), (int64_t)(intptr_t)raxIterValue(&it));
        if (!stays) raxRemove(recorded.keys, sdsSlice(recorded.at), NULL);
    }
    raxIterEnd(&it);
}

/* hash_key.c -- helpers that the commands of hashes share.
 *
 * Not here    the commands (t_hash.c, t_hash_expire.c).
 * Threads     main.
 * Tests       tests/type/hash.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash_key.h"

#include "command_memory.h"
#include "db.h"
#include "zmalloc.h"

fieldWalk fieldWalkBegin(client *c, const robj *o, uint32_t first, uint32_t step, uint32_t count) {
    fieldWalk w;
    w.c = c;
    w.o = o;
    w.next = first;
    w.step = step;
    w.left = count;
    w.taken = w.count = 0;
    return w;
}

void fieldWalkAhead(fieldWalk *w) {
    dictLookup ahead[FIELD_WALK_AHEAD];
    const dict *table = hashTable(w->o);
    w->taken = 0;
    w->count = w->left < FIELD_WALK_AHEAD ? w->left : FIELD_WALK_AHEAD;
    for (uint32_t i = 0; i < w->count; i++, w->next += w->step) {
        w->hash[i] = clientElementHash(w->c, w->next);
        ahead[i] = (dictLookup){.d = table, .key = w->c->argv[w->next], .hash = w->hash[i]};
    }
    if (w->count > 1) dictPrefetch(ahead, w->count);
    w->left -= w->count;
}

robj *hashAddKey(client *c, hashedKey key) {
    robj *o = hashCreate(key.name);
    dbAddTake(c->db, o, key);
    return o;
}

bool hashArgsReserve(client *c, uint32_t first, size_t *longest) {
    size_t bytes = 0;
    *longest = 0;
    for (uint32_t i = first; i < c->argc; i++) {
        size_t len = c->argv[i].len;
        if (len > *longest) *longest = len;
        bytes += len;
    }
    if (likely(bytes < COMMAND_MEMORY_LARGE)) return true;
    for (uint32_t i = first; i + 1 < c->argc; i += 2) bytes += hashSetBytes(c->argv[i], c->argv[i + 1]);
    return commandMemoryReserve(c, bytes);
}

hashSetResult hashSetLargeArg(client *c, robj *o, uint32_t index, uint64_t hash, int64_t when_ms) {
    if (!hashTable(o)) return hashSet(o, c->argv[index], hash, c->argv[index + 1], when_ms);
    robj *value = clientEntryOfArg(c, sliceOf(NULL, 0), index + 1, false);
    return hashSetObjectTake(o, c->argv[index], hash, value, when_ms);
}

/* ---- Propagation ---- */

#define FIELDS_KEPT 4096 /* a larger array is freed by changedFieldsBegin() */

static struct {
    uint32_t *args; /* owns */
    size_t count, capacity;
} changed;

void changedFieldsBegin(void) {
    changed.count = 0;
    if (likely(changed.capacity <= FIELDS_KEPT)) return;
    zfree(changed.args);
    changed.args = NULL;
    changed.capacity = 0;
}

void changedFieldAdd(uint32_t index) {
    changed.args = zgrowArray(changed.args, changed.count, &changed.capacity, sizeof(*changed.args));
    changed.args[changed.count++] = index;
}

void propagateFields(const client *c, const char *name, int64_t when_ms, bool counted) {
    if (changed.count == 0 || !propagateInstead(c, name)) return;
    propagateArg(c->argv[1]);
    if (when_ms != HASH_NO_TIME) propagateNumber(when_ms);
    if (counted) {
        propagateWord("FIELDS");
        propagateNumber((long long)changed.count);
    }
    for (size_t i = 0; i < changed.count; i++) propagateArg(c->argv[changed.args[i]]);
    propagateDone();
}

void propagatePairs(const client *c) {
    if (changed.count == 0 || !propagateInstead(c, "HSET")) return;
    propagateArg(c->argv[1]);
    for (size_t i = 0; i < changed.count; i++) propagateArgs(c, changed.args[i], changed.args[i] + 2);
    propagateDone();
}

void propagateNamedFields(const client *c, const char *name, uint32_t first, bool counted) {
    if (changed.count < c->argc - first) propagateFields(c, name, HASH_NO_TIME, counted);
}

void hashNotifyExpired(client *c, hashedKey key, size_t fields) {
    if (likely(fields == 0)) return;
    store_stats.expired_fields += (long long)fields;
    keyEvent(c, key, NOTIFY_HASH, "hexpired");
}

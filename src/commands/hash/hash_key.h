/* hash_key.h -- what commands of hashes share: fields that are looked up together, changes that are told.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_HASH_KEY_H
#define COMMANDS_HASH_KEY_H

#include "memory_prefetch.h"
#include "propagate.h"
#include "reply.h"
#include "typed_key.h"
#include "value_hash.h"

/* Fields in the arguments first, first + step, ... whose lines in a table are asked for a batch ahead. */
#define FIELD_WALK_AHEAD 32
typedef struct fieldWalk {
    client *c;
    uint32_t next, step, left; /* argument that is to be asked for next; fields from there on */
    uint32_t taken, count;
    const robj *o;
    uint64_t hash[FIELD_WALK_AHEAD];
} fieldWalk;

fieldWalk fieldWalkBegin(client *c, const robj *o, uint32_t first, uint32_t step, uint32_t count);
void fieldWalkAhead(fieldWalk *w);
/* The hash of the next field; 0 while there is no table, which may come between two fields. */
static inline uint64_t fieldWalkNext(fieldWalk *w) {
    if (!hashNeedsHashes(w->o)) {
        w->next += w->step;
        w->left--;
        return 0;
    }
    if (w->taken == w->count) fieldWalkAhead(w);
    return w->hash[w->taken++];
}

/* The value of a field: a large one that lies in a string of its own is referred to. */
static inline void addReplyHashValue(client *c, const hashPair *pair) {
    if (unlikely(pair->object)) addReplyBulkObject(c, pair->object);
    else addReplyBulk(c, pair->value);
}

/* The longest of the arguments from `first` on, and a reserve for what is large in them. False: the error was sent. */
bool hashArgsReserve(client *c, uint32_t first, size_t *longest) must_check;
/* hashSet() of the field in argument `index` with the value behind it: a large one that came in an allocation of its
 * own is taken. Ask in ascending order. */
hashSetResult hashSetLargeArg(client *c, robj *o, uint32_t index, uint64_t hash, int64_t when_ms);
static inline hashSetResult hashSetArg(client *c, robj *o, uint32_t index, uint64_t hash, int64_t when_ms) {
    slice value = c->argv[index + 1];
    if (unlikely(value.len >= HASH_VALUE_OBJECT)) return hashSetLargeArg(c, o, index, hash, when_ms);
    return hashSet(o, c->argv[index], hash, value, when_ms);
}
/* Arguments that name fields which the running command has changed, in order, for what is propagated in its place: the
 * same command elsewhere would find those, too, whose time is over. They are noted where somebody wants to know. */
void changedFieldsBegin(void);
void changedFieldAdd(uint32_t index);
static inline void changedField(uint32_t index) {
    if (propagateWanted()) changedFieldAdd(index);
}
/* "name key [when_ms] [FIELDS n] field ..." of those that were noted, if there are any. */
void propagateFields(const client *c, const char *name, int64_t when_ms, bool counted);
/* "HSET key field value ..." of them. */
void propagatePairs(const client *c);
/* A command that names fields from argument `first` to the end stands for itself where all of them were changed; else
 * what propagateFields() makes does. */
void propagateNamedFields(const client *c, const char *name, uint32_t first, bool counted);
/* Fields whose time was over have gone because others took their place. */
void hashNotifyExpired(client *c, hashedKey key, size_t fields);
/* The store is to know whether fields of it have times now. */
void hashFieldTtlsChanged(client *c, hashedKey key, robj *o);

#endif

/* hash_key.h -- helpers of hash commands: batched lookups of fields, setting fields, propagating changed fields.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_HASH_KEY_H
#define COMMANDS_HASH_KEY_H

#include "dict.h"
#include "propagate.h"
#include "reply.h"
#include "typed_key.h"
#include "value_hash.h"

/* A walk over the fields that are named by the arguments first, first + step, ... It hashes them in batches, and
 * prefetches each batch from the hash's table. */
#define FIELD_WALK_AHEAD 32
typedef struct fieldWalk {
    client *c;
    uint32_t next, step, left; /* the next argument to prefetch; number of fields from there on */
    uint32_t taken, count;
    const robj *o;
    uint64_t hash[FIELD_WALK_AHEAD];
} fieldWalk;

/* Begins a walk over `count` fields of the hash `o`. */
fieldWalk fieldWalkBegin(client *c, const robj *o, uint32_t first, uint32_t step, uint32_t count);
/* Hashes and prefetches the next batch; for fieldWalkNext() only. */
void fieldWalkAhead(fieldWalk *w);
/* Returns the hash of the next field. Returns 0 while the value has no table; a change between two calls may convert it
 * to one. */
static inline uint64_t fieldWalkNext(fieldWalk *w) {
    if (!hashNeedsHashes(w->o)) {
        w->next += w->step;
        w->left--;
        return 0;
    }
    if (w->taken == w->count) fieldWalkAhead(w);
    return w->hash[w->taken++];
}

/* Adds the value of a field to the reply. A large value in a string of its own is added by reference. */
static inline void addReplyHashValue(client *c, const hashPair *pair) {
    if (unlikely(pair->object)) addReplyBulkObject(c, pair->object);
    else addReplyBulk(c, pair->value);
}

/* Creates an empty hash at the key, which is absent. */
robj *hashAddKey(client *c, hashedKey key);
/* Sets *longest to the length of the longest argument from `first` on, and reserves memory if the arguments are large.
 * Returns false after an error reply. */
bool hashArgsReserve(client *c, uint32_t first, size_t *longest) must_check;
/* Set the field in argument `index` to the value in the argument after it, like hashSet(). A value of at least
 * HASH_VALUE_OBJECT bytes, which hashSetLargeArg() is for, is not copied if it was received in an allocation of its own
 * and the hash is a table. Call in ascending order of `index`. */
hashSetResult hashSetLargeArg(client *c, robj *o, uint32_t index, uint64_t hash, int64_t when_ms);
static inline hashSetResult hashSetArg(client *c, robj *o, uint32_t index, uint64_t hash, int64_t when_ms) {
    slice value = c->argv[index + 1];
    if (unlikely(value.len >= HASH_VALUE_OBJECT)) return hashSetLargeArg(c, o, index, hash, when_ms);
    return hashSet(o, c->argv[index], hash, value, when_ms);
}
/* These record, in order, the arguments that name fields which the running command has changed, so that a command with
 * only these fields is propagated: a replica would also find expired fields, which are hidden here. Nothing is recorded
 * while there is no propagation sink. */
void changedFieldsBegin(void);
void changedFieldAdd(uint32_t index);
static inline void changedField(uint32_t index) {
    if (propagateWanted()) changedFieldAdd(index);
}
/* Propagates "name key [when_ms] [FIELDS n] field ..." with the recorded fields, if there are any. `when_ms` is left
 * out if it is HASH_NO_TIME, FIELDS n unless `counted`. */
void propagateFields(const client *c, const char *name, int64_t when_ms, bool counted);
/* Propagates "HSET key field value ..." with the recorded fields, if there are any. */
void propagatePairs(const client *c);
/* For a command that names fields from argument `first` to the end: if not all of them were changed, calls
 * propagateFields(); otherwise the command is propagated as it was sent. */
void propagateNamedFields(const client *c, const char *name, uint32_t first, bool counted);
/* Reports and counts `fields` expired fields that the command has replaced. */
void hashNotifyExpired(client *c, hashedKey key, size_t fields);

#endif

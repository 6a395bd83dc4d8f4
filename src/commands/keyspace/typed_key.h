/* typed_key.h -- key lookups for commands that work on one type of value, and prefetching for those with many keys.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_TYPED_KEY_H
#define COMMANDS_TYPED_KEY_H

#include "key_changed.h"
#include "reply.h"

/* Look up a key and set *out to its value, or to NULL if it is absent. Return false, after a WRONGTYPE reply, if the
 * value has another type. */
static inline bool typedKeyRead(client *c, hashedKey key, objectTypeId type, robj **out) {
    *out = lookupKeyRead(c->db, key);
    return !checkType(c, *out, type);
}

static inline bool typedKeyWrite(client *c, hashedKey key, objectTypeId type, robj **out) {
    *out = lookupKeyWrite(c->db, key);
    return !checkType(c, *out, type);
}

/* Look up a key and return its value. Return NULL after a WRONGTYPE reply if the value has another type, or after
 * calling `absent`, which replies, if there is none. */
static inline robj *typedKeyReadOrReply(client *c, hashedKey key, objectTypeId type, void (*absent)(client *c)) {
    robj *o;
    if (!typedKeyRead(c, key, type, &o)) return NULL;
    if (!o) absent(c);
    return o;
}

static inline robj *typedKeyWriteOrReply(client *c, hashedKey key, objectTypeId type, void (*absent)(client *c)) {
    robj *o;
    if (!typedKeyWrite(c, key, type, &o)) return NULL;
    if (!o) absent(c);
    return o;
}

/* Replies with the number of elements of the value in argument 1; 0 if the key is absent. */
static inline void replyWithCount(client *c, objectTypeId type, size_t (*count)(const robj *o)) {
    robj *o;
    if (typedKeyRead(c, clientKeyAt(c, 1), type, &o)) addReplyLongLong(c, o ? (long long)count(o) : 0);
}

/* Deletes a key if it is present, and reports that: for commands that store an empty result. */
static inline bool deleteAndReport(client *c, hashedKey key) {
    bool existed = dbDelete(c->db, key);
    if (existed) keyChanged(c, key, NOTIFY_GENERIC, "del", 1);
    return existed;
}

/* Deletes a key whose value a change has left empty. The caller has reported that change. */
static inline void deleteEmptied(client *c, hashedKey key) {
    dbDelete(c->db, key);
    keyspaceSettle(c->db, key.hash); /* that change has been reported */
    keyEvent(c, key, NOTIFY_GENERIC, "del");
}

/* --- key_prefetch.c --- */
/* Prefetches buckets and entries (not values) of some of the `count` keys in the arguments `first_arg`,
 * `first_arg + step`, ..., as many as fit into a batch. Returns after how many keys to call it again: `count` if
 * prefetching would gain nothing. A loop over keys calls it like this:
 *
 *     for (uint32_t i = 0, ready = 0; i < count; i++) {
 *         if (i == ready) ready += keysPrefetch(c, first_arg + i * step, step, count - i);
 */
uint32_t keysPrefetch(client *c, uint32_t first_arg, uint32_t step, uint32_t count);

#endif

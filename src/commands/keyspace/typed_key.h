/* typed_key.h -- key lookups for commands that work on one type of value.
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

/* Look up a key and return its value. Return NULL after a WRONGTYPE reply if the value has another type, or after calling
 * `absent`, which replies, if there is none. */
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

/* Deletes a key whose value a change has left empty. The caller has reported that change. */
static inline void deleteEmptied(client *c, hashedKey key) {
    dbDelete(c->db, key);
    keyspaceSettle(c->db, key.hash); /* that change has been reported */
    keyEvent(c, key, NOTIFY_GENERIC, "del");
}

#endif

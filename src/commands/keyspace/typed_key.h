/* typed_key.h -- look a key up for a command that works on one type of value.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_TYPED_KEY_H
#define COMMANDS_TYPED_KEY_H

#include "key_changed.h"
#include "reply.h"

/* False when the key holds another type: then WRONGTYPE was sent. *out is NULL when there is no such key. */
static inline bool typedKeyRead(client *c, hashedKey key, objectTypeId type, robj **out) {
    *out = lookupKeyRead(c->db, key);
    return !checkType(c, *out, type);
}

static inline bool typedKeyWrite(client *c, hashedKey key, objectTypeId type, robj **out) {
    *out = lookupKeyWrite(c->db, key);
    return !checkType(c, *out, type);
}

/* A change that has been told has left the value without elements: the key goes. */
static inline void deleteEmptied(client *c, hashedKey key) {
    dbDelete(c->db, key);
    keyspaceSettle(c->db, key.hash); /* the change that emptied it has been told */
    keyEvent(c, key, NOTIFY_GENERIC, "del");
}

#endif

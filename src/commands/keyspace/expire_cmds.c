/* expire_cmds.c -- EXPIRE, TTL, PERSIST, and their variants in seconds or milliseconds, relative or absolute.
 *
 * Not here    the deletion of expired keys (store/db.c, store/expire.c).
 * Threads     main.
 * Invariants  1. Errors are checked in this order: options, number, range; only then is the key looked up.
 *             2. An expiry in the past deletes the key at once, as DEL would, even while expiry is paused, as in a
 *                transaction that contains CLIENT PAUSE.
 * Tests       tests/unit/commands/keyspace/keys_test.c, tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "db.h"
#include "expire_options.h"
#include "key_changed.h"
#include "propagate.h"
#include "reply.h"

#include <limits.h>

/* ---- EXPIRE ---- */

static void expireGeneric(client *c, uint32_t form) {
    unsigned conditions;
    int64_t when_ms;
    if (!expireConditionsParse(c, 3, c->argc, &conditions) || !expireTimeParse(c, 2, form, LLONG_MIN, &when_ms)) return;

    hashedKey key = clientKeyAt(c, 1);
    robj *o = lookupKeyWrite(c->db, key);
    if (!o || !expireConditionsMet(conditions, objectExpire(o), when_ms)) {
        addReplyZero(c);
        return;
    }
    if (storeExpirePassed(when_ms)) {
        dbExpireNow(c->db, o, key);
        propagateExpired(c, key.name);
    } else {
        dbSetExpire(c->db, o, key, when_ms);
        keyChanged(c, key, NOTIFY_GENERIC, "expire", 1);
        /* With the conditions, which have the same result on a replica. */
        if (form != OPT_PXAT) propagateExpireAt(c, "PEXPIREAT", when_ms);
    }
    addReplyOne(c);
}

/* EXPIRE key seconds [NX|XX|GT|LT] */
void expireCommand(client *c) { expireGeneric(c, OPT_EX); }
void expireatCommand(client *c) { expireGeneric(c, OPT_EXAT); }
void pexpireCommand(client *c) { expireGeneric(c, OPT_PX); }
void pexpireatCommand(client *c) { expireGeneric(c, OPT_PXAT); }

/* ---- TTL ---- */

/* Replies with -2 if there is no key, -1 if it has no expiry; else with the remaining time or, for an absolute form,
 * the expiry itself. */
static void ttlGeneric(client *c, uint32_t form) {
    robj *o = lookupKeyReadWithFlags(c->db, clientKeyAt(c, 1), LOOKUP_NOTOUCH);
    if (!o) {
        addReplyLongLong(c, -2);
        return;
    }
    addReplyLongLong(c, expireTimeShown(objectExpire(o), form));
}

void ttlCommand(client *c) { ttlGeneric(c, OPT_EX); }
void pttlCommand(client *c) { ttlGeneric(c, OPT_PX); }
void expiretimeCommand(client *c) { ttlGeneric(c, OPT_EXAT); }
void pexpiretimeCommand(client *c) { ttlGeneric(c, OPT_PXAT); }

/* ---- PERSIST ---- */

void persistCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    robj *o = lookupKeyWrite(c->db, key);
    if (!o || !dbRemoveExpire(c->db, o, key)) {
        addReplyZero(c);
        return;
    }
    keyChanged(c, key, NOTIFY_GENERIC, "persist", 1);
    addReplyOne(c);
}

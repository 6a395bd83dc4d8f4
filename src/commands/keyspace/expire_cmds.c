/* expire_cmds.c -- EXPIRE, TTL, PERSIST and their relatives in seconds or milliseconds, relative or absolute.
 *
 * Not here    what happens when the time is over (store/db.c, store/expire.c).
 * Threads     main.
 * Invariants  1. Errors are told in this order: options, number, range; only then is the key looked up.
 *             2. A time in the past deletes the key at once, as DEL would, also in a transaction that began a
 *                pause.
 * Tests       tests/unit/commands/keyspace/keys_test.c, tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "db.h"
#include "expire_conditions.h"
#include "key_changed.h"
#include "propagate.h"
#include "reply.h"

#include <limits.h>

#define MS_PER_S 1000

typedef enum { UNIT_SECONDS, UNIT_MILLISECONDS } timeUnit;

/* ---- EXPIRE ---- */

/* Milliseconds since 1970 of the number in argument 2, counted from base_ms. */
static bool parseWhen(client *c, int64_t base_ms, timeUnit unit, int64_t *when_ms) {
    long long when;
    if (!getLongLongFromArg(c, 2, &when, NULL)) return false;
    if ((unit == UNIT_SECONDS && __builtin_mul_overflow(when, (long long)MS_PER_S, &when)) ||
        __builtin_add_overflow(when, (long long)base_ms, &when)) {
        addReplyErrorExpire(c);
        return false;
    }
    *when_ms = when;
    return true;
}

/* PEXPIREAT, with the conditions: they hold elsewhere as they did here. */
static void propagateTime(const client *c, int64_t when_ms) {
    if (!propagateInstead(c, "PEXPIREAT")) return;
    propagateArg(c->argv[1]);
    propagateNumber(when_ms);
    propagateArgs(c, 3, c->argc);
    propagateDone();
}

static void expireGeneric(client *c, int64_t base_ms, timeUnit unit) {
    unsigned conditions;
    int64_t when_ms;
    if (!expireConditionsParse(c, 3, c->argc, &conditions) || !parseWhen(c, base_ms, unit, &when_ms)) return;

    hashedKey key = clientKeyAt(c, 1);
    robj *o = lookupKeyWrite(c->db, key);
    if (!o || !expireConditionsHold(conditions, objectExpire(o), when_ms)) {
        addReplyZero(c);
        return;
    }
    if (storeTimeIsOver(when_ms)) {
        dbExpireNow(c->db, o, key);
        propagateExpired(c, key.name);
    } else {
        dbSetExpire(c->db, o, key, when_ms);
        keyChanged(c, key, NOTIFY_GENERIC, "expire", 1);
        if (base_ms || unit == UNIT_SECONDS) propagateTime(c, when_ms);
    }
    addReplyOne(c);
}

/* EXPIRE key seconds [NX|XX|GT|LT] */
void expireCommand(client *c) {
    expireGeneric(c, storeNowMs(), UNIT_SECONDS);
}

void expireatCommand(client *c) {
    expireGeneric(c, 0, UNIT_SECONDS);
}

void pexpireCommand(client *c) {
    expireGeneric(c, storeNowMs(), UNIT_MILLISECONDS);
}

void pexpireatCommand(client *c) {
    expireGeneric(c, 0, UNIT_MILLISECONDS);
}

/* ---- TTL ---- */

static void replyTime(client *c, int64_t ms, timeUnit unit) {
    if (unit == UNIT_SECONDS) ms = (int64_t)(((uint64_t)ms + MS_PER_S / 2) / MS_PER_S);
    addReplyLongLong(c, ms);
}

/* -2 no key, -1 no expire, else the time that is left or, when absolute, the time itself. */
static void ttlGeneric(client *c, timeUnit unit, bool absolute) {
    robj *o = lookupKeyReadWithFlags(c->db, clientKeyAt(c, 1), LOOKUP_NOTOUCH);
    if (!o) {
        addReplyLongLong(c, -2);
        return;
    }
    int64_t when_ms = objectExpire(o);
    if (when_ms == -1) {
        addReplyLongLong(c, -1);
        return;
    }
    int64_t ms = absolute ? when_ms : when_ms - storeNowMs();
    replyTime(c, ms < 0 ? 0 : ms, unit);
}

void ttlCommand(client *c) {
    ttlGeneric(c, UNIT_SECONDS, false);
}

void pttlCommand(client *c) {
    ttlGeneric(c, UNIT_MILLISECONDS, false);
}

void expiretimeCommand(client *c) {
    ttlGeneric(c, UNIT_SECONDS, true);
}

void pexpiretimeCommand(client *c) {
    ttlGeneric(c, UNIT_MILLISECONDS, true);
}

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

/* t_hash_expire.c -- commands about field TTLs: HEXPIRE, HTTL, HPERSIST, HGETEX, HSETEX, HGETDEL and others.
 *
 * An expiry in the past deletes the field at once. These commands treat an expired field as absent, but do not delete
 * it.
 *
 * Not here    the deletion of expired fields (store/expire.c); other commands (t_hash.c).
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 *             2. No command leaves a hash without fields, or creates one.
 * Tests       tests/type/hash_expire.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "db.h"
#include "expire_options.h"
#include "hash_key.h"
#include "reply.h"

/* The codes with which commands reply for each field. */
enum { FIELD_MISSING = -2, FIELD_NO_TTL = -1, FIELD_CONDITION = 0, FIELD_SET = 1, FIELD_DELETED = 2 };

static const char numfields_error[] = "numfields should be greater than 0 and match the provided number of fields";

/* ---- Helpers of several commands --------------------------------------------------------------------------------- */

/* Parses the number in argument `index` and checks that the arguments after it are that many times `step`. Returns
 * false after an error reply: `mismatch`, or a syntax error if it is NULL. */
static bool parseCount(client *c, uint32_t index, uint32_t step, const char *mismatch) {
    long long count;

    if (!getLongLongFromArg(c, index, &count, NULL)) return false;
    long long left = c->argc - index - 1;
    if (count > 0 && count <= left && count * step == left) return true;
    return mismatch ? addReplyError(c, mismatch) : addReplySyntaxError(c);
}

/* Checks that argument 2 is the word FIELDS, followed by a number and as many arguments. Returns false after an error
 * reply. */
static bool parseFieldsOnly(client *c, const char *mismatch) {
    return sliceIs(c->argv[2], "fields") ? parseCount(c, 3, 1, mismatch) : addReplySyntaxError(c);
}

/* Finds the word FIELDS, from argument `at` on, with at least one argument after it. Returns false after an error
 * reply. */
static bool findFields(client *c, uint32_t at, uint32_t *fields) {
    while (at < c->argc && !sliceIs(c->argv[at], "fields")) at++;
    *fields = at;
    if (at + 1 < c->argc) return true;
    return addReplyError(c, numfields_error);
}

/* Looks up the hash for a change (*o is NULL if there is none), and begins a walk over the fields in the arguments from
 * `first` on. Returns false after an error reply. */
static bool beginWrite(client *c, uint32_t first, robj **o, fieldWalk *walk) {
    if (!typedKeyWrite(c, clientKeyAt(c, 1), OBJ_HASH, o)) return false;
    if (*o) *walk = fieldWalkBegin(c, *o, first, 1, c->argc - first);
    return true;
}

/* How many field TTLs a command has set and removed, and how many fields it has deleted. */
typedef struct ttlChanges {
    long long set, cleared, deleted;
} ttlChanges;

/* Reports these changes, and deletes a hash without fields. */
static void reportTtlChanges(client *c, hashedKey key, robj *o, const ttlChanges *changes) {
    if (changes->set + changes->cleared + changes->deleted == 0) return;
    dbFieldTtlsChanged(c->db, o, key);
    if (changes->set) keyChanged(c, key, NOTIFY_HASH, "hexpire", changes->set);
    if (changes->cleared) keyChanged(c, key, NOTIFY_HASH, "hpersist", changes->cleared);
    if (!changes->deleted) return;
    store_stats.expired_fields += changes->deleted;
    keyChanged(c, key, NOTIFY_HASH, "hexpired", changes->deleted);
    if (hashLength(o) == 0) deleteEmptied(c, key);
}

/* Sets the expiry of the field in argument `index`, which exists; deletes the field if the expiry is in the past. */
static int setTtl(client *c, robj *o, uint32_t index, uint64_t hash, int64_t when_ms, ttlChanges *changes) {
    if (storeExpirePassed(when_ms)) {
        hashDelete(o, c->argv[index], hash);
        changes->deleted++;
        return FIELD_DELETED;
    }
    hashSetTime(o, c->argv[index], hash, when_ms);
    changes->set++;
    return FIELD_SET;
}

static void clearTtl(client *c, robj *o, uint32_t index, uint64_t hash, ttlChanges *changes) {
    hashSetTime(o, c->argv[index], hash, HASH_NO_TIME);
    changes->cleared++;
    changedField(index);
}

/* Replies with the value of the field in argument `index`, the next one of the walk; a null if it is absent. Returns
 * whether it is present, and its hash and contents. */
static bool replyNextField(client *c, const robj *o, uint32_t index, fieldWalk *walk, uint64_t *hash, hashPair *pair) {
    *hash = o ? fieldWalkNext(walk) : 0;
    bool found = o && hashFind(o, c->argv[index], *hash, pair);
    if (found) addReplyHashValue(c, pair);
    else addReplyNull(c);
    return found;
}

/* ---- HEXPIRE ----------------------------------------------------------------------------------------------------- */

static void expireGeneric(client *c, uint32_t form) {
    unsigned conditions;
    uint32_t fields;
    int64_t when_ms;
    robj *o;
    fieldWalk walk;
    hashPair pair;

    if (!findFields(c, 3, &fields) || !expireConditionsParse(c, 3, fields, &conditions) ||
        !parseCount(c, fields + 1, 1, numfields_error) || !expireTimeParse(c, 2, form, 0, &when_ms) ||
        !beginWrite(c, fields + 2, &o, &walk))
        return;
    ttlChanges changes = {0};
    bool had_ttls = o && hashHasTtls(o), missing = false;
    changedFieldsBegin();
    addReplyArrayLen(c, c->argc - fields - 2);
    for (uint32_t i = fields + 2; i < c->argc; i++) {
        int result = FIELD_MISSING;
        uint64_t hash = o ? fieldWalkNext(&walk) : 0;
        if (o && hashFind(o, c->argv[i], hash, &pair))
            result = expireConditionsMet(conditions, pair.when_ms, when_ms) ? setTtl(c, o, i, hash, when_ms, &changes)
                                                                            : FIELD_CONDITION;
        if (result > FIELD_CONDITION) changedField(i);
        missing |= result == FIELD_MISSING;
        addReplyLongLong(c, result);
    }
    if (o) reportTtlChanges(c, clientKeyAt(c, 1), o, &changes);
    if (changes.deleted) propagateFields(c, "HDEL", HASH_NO_TIME, false);
    else if (changes.set && missing && had_ttls) propagateFields(c, "HPEXPIREAT", when_ms, true);
    else if (changes.set && form != OPT_PXAT) propagateExpireAt(c, "HPEXPIREAT", when_ms);
}

void hexpireCommand(client *c) { expireGeneric(c, OPT_EX); }
void hpexpireCommand(client *c) { expireGeneric(c, OPT_PX); }
void hexpireatCommand(client *c) { expireGeneric(c, OPT_EXAT); }
void hpexpireatCommand(client *c) { expireGeneric(c, OPT_PXAT); }

void hpersistCommand(client *c) {
    robj *o;
    bool missing = false;
    fieldWalk walk;
    hashPair pair;

    if (!parseFieldsOnly(c, numfields_error) || !beginWrite(c, 4, &o, &walk)) return;
    ttlChanges changes = {0};
    changedFieldsBegin();
    addReplyArrayLen(c, c->argc - 4);
    for (uint32_t i = 4; i < c->argc; i++) {
        int result = FIELD_MISSING;
        uint64_t hash = o ? fieldWalkNext(&walk) : 0;
        if (o && hashFind(o, c->argv[i], hash, &pair)) {
            result = pair.when_ms == HASH_NO_TIME ? FIELD_NO_TTL : FIELD_SET;
            if (result == FIELD_SET) clearTtl(c, o, i, hash, &changes);
        }
        missing |= result == FIELD_MISSING;
        addReplyLongLong(c, result);
    }
    if (o) reportTtlChanges(c, clientKeyAt(c, 1), o, &changes);
    if (missing) propagateFields(c, "HPERSIST", HASH_NO_TIME, true);
}

/* ---- HTTL -------------------------------------------------------------------------------------------------------- */

static void ttlGeneric(client *c, uint32_t form) {
    robj *o;
    fieldWalk walk;
    hashPair pair;

    if (!parseFieldsOnly(c, NULL) || !typedKeyRead(c, clientKeyAt(c, 1), OBJ_HASH, &o)) return;
    if (o) walk = fieldWalkBegin(c, o, 4, 1, c->argc - 4);
    addReplyArrayLen(c, c->argc - 4);
    for (uint32_t i = 4; i < c->argc; i++) {
        bool found = o && hashFind(o, c->argv[i], fieldWalkNext(&walk), &pair);
        addReplyLongLong(c, found ? expireTimeShown(pair.when_ms, form) : FIELD_MISSING);
    }
}

void httlCommand(client *c) { ttlGeneric(c, OPT_EX); }
void hpttlCommand(client *c) { ttlGeneric(c, OPT_PX); }
void hexpiretimeCommand(client *c) { ttlGeneric(c, OPT_EXAT); }
void hpexpiretimeCommand(client *c) { ttlGeneric(c, OPT_PXAT); }

/* ---- HGETEX, HSETEX ---------------------------------------------------------------------------------------------- */

/* Returns whether an argument after the key is the word FIELDS. Valkey takes a key of this name for the word; here it
 * is the key unless there is no other such word. */
static bool hasWordFields(const client *c) {
    for (uint32_t i = 2; i < c->argc; i++)
        if (sliceIs(c->argv[i], "fields")) return true;
    return false;
}

/* Reads the options from argument 2 up to FIELDS, whose index it returns in *fields, and how many fields there are.
 * Returns false after an error. */
static bool parseOptions(client *c, optionSet set, expireOptions *opts, uint32_t *fields) {
    return findFields(c, hasWordFields(c) ? 2 : 1, fields) && expireOptionsParse(c, 2, *fields, set, opts) &&
           parseCount(c, *fields + 1, set == HSETEX_OPTIONS ? 2 : 1, numfields_error);
}

void hgetexCommand(client *c) {
    expireOptions opts;
    uint32_t fields;
    robj *o;
    fieldWalk walk;
    hashPair pair;

    if (!parseOptions(c, HGETEX_OPTIONS, &opts, &fields)) return;
    uint32_t first = fields + 2;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_HASH, &o) || !expireOptionsTime(c, 0, &opts))
        return; /* a lookup for reading, which counts a hit or a miss */
    if (o) walk = fieldWalkBegin(c, o, first, 1, c->argc - first);
    ttlChanges changes = {0};
    changedFieldsBegin();
    addReplyArrayLen(c, c->argc - first);
    for (uint32_t i = first; i < c->argc; i++) {
        uint64_t hash;
        if (!replyNextField(c, o, i, &walk, &hash, &pair)) continue;
        if (opts.expire_arg) {
            setTtl(c, o, i, hash, opts.when_ms, &changes);
            changedField(i);
        } else if ((opts.flags & OPT_PERSIST) && pair.when_ms != HASH_NO_TIME) {
            clearTtl(c, o, i, hash, &changes);
        }
    }
    if (o) reportTtlChanges(c, clientKeyAt(c, 1), o, &changes);
    if (changes.deleted) propagateFields(c, "HDEL", HASH_NO_TIME, false);
    else if (changes.set) propagateFields(c, "HPEXPIREAT", opts.when_ms, true);
    else propagateFields(c, "HPERSIST", HASH_NO_TIME, true);
}

/* Returns whether FNX (none of the fields exists) or FXX (all of them exist) holds; true if neither was given. */
static bool fieldConditionHolds(client *c, const robj *o, uint32_t flags, uint32_t first) {
    hashPair pair;

    if (!(flags & (OPT_FNX | OPT_FXX))) return true;
    if (!o) return flags & OPT_FNX;
    fieldWalk walk = fieldWalkBegin(c, o, first, 2, (c->argc - first) / 2);
    for (uint32_t i = first; i < c->argc; i += 2)
        if (hashFind(o, c->argv[i], fieldWalkNext(&walk), &pair) == !!(flags & OPT_FNX)) return false;
    return true;
}

/* Performs HSETEX with an expiry in the past: deletes those of the fields that exist, and sets none. */
static void setExpired(client *c, hashedKey key, robj *o, uint32_t first) {
    long long deleted = 0;

    changedFieldsBegin();
    if (o) {
        fieldWalk walk = fieldWalkBegin(c, o, first, 2, (c->argc - first) / 2);
        for (uint32_t i = first; i < c->argc && hashLength(o) > 0; i += 2) {
            if (!hashDelete(o, c->argv[i], fieldWalkNext(&walk))) continue;
            deleted++;
            changedField(i);
        }
        dbFieldTtlsChanged(c->db, o, key);
    }
    propagateFields(c, "HDEL", HASH_NO_TIME, false);
    store_stats.expired_fields += deleted;
    /* Reports the events of setting the fields, even if none of them existed, so that none was deleted. */
    if (!o) keyEvent(c, key, NOTIFY_NEW, "new");
    if (deleted) keyChanged(c, key, NOTIFY_HASH, "hset", deleted);
    else keyEvent(c, key, NOTIFY_HASH, "hset");
    keyEvent(c, key, NOTIFY_HASH, "hexpire");
    keyEvent(c, key, NOTIFY_HASH, "hexpired");
    if (!o) keyEvent(c, key, NOTIFY_GENERIC, "del");
    else if (hashLength(o) == 0) deleteEmptied(c, key);
}

/* Propagates HSETEX without its conditions, which were checked here, and with an absolute expiry. With KEEPTTL, a field
 * that has replaced an expired one has no TTL here. On a replica the expired field may still be present with its TTL,
 * so an HSET of the recorded fields is propagated first: it removes that TTL. */
static void propagateSetFields(const client *c, const expireOptions *opts, uint32_t fields) {
    if (opts->flags & OPT_KEEPTTL) propagatePairs(c);
    if (!propagateRewritten(c)) return;
    propagateArg(c->argv[1]);
    if (opts->expire_arg) {
        propagateWord("PXAT");
        propagateNumber(opts->when_ms);
    } else if (opts->flags & OPT_KEEPTTL) {
        propagateWord("KEEPTTL");
    }
    propagateArgs(c, fields, c->argc);
    propagateDone();
}

void hsetexCommand(client *c) {
    expireOptions opts;
    uint32_t fields;
    hashedKey key = clientKeyAt(c, 1);
    robj *o;
    size_t longest, expired = 0;

    if (!parseOptions(c, HSETEX_OPTIONS, &opts, &fields)) return;
    uint32_t first = fields + 2;
    if (!typedKeyWrite(c, key, OBJ_HASH, &o)) return;
    bool holds = !(opts.flags & (o ? OPT_NX : OPT_XX));
    if (holds && !expireOptionsTime(c, 0, &opts)) return;
    if (!holds || !fieldConditionHolds(c, o, opts.flags, first)) {
        addReplyZero(c);
        return;
    }
    if (opts.expire_arg && storeExpirePassed(opts.when_ms)) {
        setExpired(c, key, o, first);
        addReplyOne(c);
        return;
    }
    if (!hashArgsReserve(c, first, &longest)) return;
    if (!o) o = hashAddKey(c, key);
    hashPrepare(o, 0, longest);
    int64_t when_ms = opts.flags & OPT_KEEPTTL ? HASH_KEEP_TIME : opts.when_ms;
    fieldWalk walk = fieldWalkBegin(c, o, first, 2, (c->argc - first) / 2);
    changedFieldsBegin();
    for (uint32_t i = first; i < c->argc; i += 2) {
        if (hashSetArg(c, o, i, fieldWalkNext(&walk), when_ms) != HASH_REPLACED_EXPIRED) continue;
        expired++;
        changedField(i);
    }
    propagateSetFields(c, &opts, fields);
    dbFieldTtlsChanged(c->db, o, key);
    hashNotifyExpired(c, key, expired);
    keyChanged(c, key, NOTIFY_HASH, "hset", (c->argc - first) / 2);
    if (opts.expire_arg) keyEvent(c, key, NOTIFY_HASH, "hexpire");
    addReplyOne(c);
}

/* ---- HGETDEL ----------------------------------------------------------------------------------------------------- */

void hgetdelCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    robj *o;
    fieldWalk walk;
    hashPair pair;
    long long deleted = 0;

    if (!parseFieldsOnly(c, numfields_error) || !beginWrite(c, 4, &o, &walk)) return;
    bool had_ttls = o && hashHasTtls(o);
    changedFieldsBegin();
    addReplyArrayLen(c, c->argc - 4);
    for (uint32_t i = 4; i < c->argc; i++) {
        uint64_t hash;
        if (!replyNextField(c, o, i, &walk, &hash, &pair)) continue;
        hashDelete(o, c->argv[i], hash);
        deleted++;
        changedField(i);
    }
    if (!deleted) return;
    if (had_ttls) propagateNamedFields(c, "HDEL", 4, false);
    dbFieldTtlsChanged(c->db, o, key);
    keyChanged(c, key, NOTIFY_HASH, "hdel", deleted);
    if (hashLength(o) == 0) deleteEmptied(c, key);
}

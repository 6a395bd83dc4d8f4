/* t_hash.c -- commands of hashes: HSET, HGET, HDEL, HGETALL, HRANDFIELD and others.
 *
 * Not here    commands about field TTLs (t_hash_expire.c); encodings (object/value_hash.c).
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 *             2. An expired field counts as absent, but only the expire cycle deletes it, or a command that replaces
 *                it.
 * Tests       tests/type/hash.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "db.h"
#include "hash_key.h"
#include "propagate.h"
#include "reply.h"
#include "rng.h"
#include "random_reply.h"
#include "scan.h"
#include "sliced.h"
#include "zmalloc.h"

#include <math.h>

/* ---- HSET and related commands ----------------------------------------------------------------------------------- */

static uint64_t fieldHash(const client *c, const robj *o, uint32_t index) {
    return hashNeedsHashes(o) ? clientElementHash(c, index) : 0;
}

/* Sets all pairs of the command; `added` counts the new fields. Returns false after an error reply. */
static bool setPairs(client *c, long long *added) {
    hashedKey key = clientKeyAt(c, 1);
    robj *o;
    size_t longest, expired = 0, pairs = c->argc / 2 - 1;

    if (c->argc % 2 == 1) return addReplyErrorArity(c);
    if (!hashArgsReserve(c, 2, &longest) || !typedKeyWrite(c, key, OBJ_HASH, &o)) return false;
    if (!o) o = hashAddKey(c, key);
    hashPrepare(o, pairs, longest);
    bool had_ttls = hashHasTtls(o);
    *added = 0;
    if (pairs == 1) {
        hashSetResult r = hashSetArg(c, o, 2, fieldHash(c, o, 2), HASH_NO_TIME);
        *added = r != HASH_REPLACED;
        expired = r == HASH_REPLACED_EXPIRED;
    } else {
        fieldWalk walk = fieldWalkBegin(c, o, 2, 2, (uint32_t)pairs);
        for (uint32_t i = 2; i < c->argc; i += 2) {
            hashSetResult r = hashSetArg(c, o, i, fieldWalkNext(&walk), HASH_NO_TIME);
            *added += r != HASH_REPLACED;
            expired += r == HASH_REPLACED_EXPIRED;
        }
    }
    if (unlikely(had_ttls)) dbFieldTtlsChanged(c->db, o, key);
    hashNotifyExpired(c, key, expired);
    keyChanged(c, key, NOTIFY_HASH, "hset", (long long)pairs);
    return true;
}

void hsetCommand(client *c) {
    long long added;

    if (setPairs(c, &added)) addReplyLongLong(c, added);
}

void hmsetCommand(client *c) {
    long long added;

    if (setPairs(c, &added)) addReplyOk(c);
}

/* The field in argument 2, which a command reads and then writes. */
typedef struct openField {
    hashedKey key;
    robj *o; /* NULL if the key is absent */
    bool found;
    hashPair pair;   /* its present value, if it was found */
    hashSpot spot;   /* the position at which storeField() writes it */
    int64_t when_ms; /* its expiry, or HASH_NO_TIME */
} openField;

/* Looks up the key and the field. Returns false after an error reply. */
static bool findField(client *c, openField *f) {
    f->key = clientKeyAt(c, 1);
    if (!typedKeyWrite(c, f->key, OBJ_HASH, &f->o)) return false;
    f->spot.encoding = HASH_NO_SPOT;
    f->found = f->o && hashFindSpot(f->o, c->argv[2], fieldHash(c, f->o, 2), &f->pair, &f->spot);
    f->when_ms = f->found ? f->pair.when_ms : HASH_NO_TIME;
    return true;
}

/* Writes the field and keeps its TTL; for commands that have checked everything before. A large value must be the one
 * in argument 3. */
static hashSetResult storeField(client *c, const openField *f, slice value, const char *event) {
    slice field = c->argv[2];
    robj *o = f->o;
    if (!o) o = hashAddKey(c, f->key);
    hashPrepare(o, 0, field.len > value.len ? field.len : value.len);
    bool had_ttls = hashHasTtls(o);
    uint64_t hash = fieldHash(c, o, 2);
    hashSetResult r = value.len < HASH_VALUE_OBJECT ? hashSetAt(o, &f->spot, field, hash, value, HASH_KEEP_TIME)
                                                    : hashSetLargeArg(c, o, 2, hash, HASH_KEEP_TIME);
    if (unlikely(had_ttls)) dbFieldTtlsChanged(c->db, o, f->key);
    hashNotifyExpired(c, f->key, r == HASH_REPLACED_EXPIRED);
    keyChanged(c, f->key, NOTIFY_HASH, event, 1);
    return r;
}

/* Propagates HSET of the command's field, or HSETEX with its expiry if it has one. */
static void propagateField(const client *c, slice value, int64_t when_ms) {
    bool timed = when_ms != HASH_NO_TIME;
    if (!propagateInstead(c, timed ? "HSETEX" : "HSET")) return;
    propagateArg(c->argv[1]);
    if (timed) {
        propagateWord("PXAT");
        propagateNumber(when_ms);
        propagateWord("FIELDS");
        propagateNumber(1);
    }
    propagateArg(c->argv[2]);
    if (value.ptr == c->argv[3].ptr) propagateArg(value);
    else propagateCopied(value);
    propagateDone();
}

void hsetnxCommand(client *c) {
    openField f;
    size_t longest;

    if (!findField(c, &f)) return;
    if (f.found) {
        addReplyZero(c);
        return;
    }
    if (!hashArgsReserve(c, 2, &longest)) return;
    /* On a replica the expired field may still exist, so that HSETNX would change nothing there. */
    if (storeField(c, &f, c->argv[3], "hset") == HASH_REPLACED_EXPIRED) propagateField(c, c->argv[3], HASH_NO_TIME);
    addReplyOne(c);
}

void hincrbyCommand(client *c) {
    openField f;
    long long by, value = 0;
    char digits[LONG_STR_SIZE];

    if (!getLongLongFromArg(c, 3, &by, NULL) || !findField(c, &f)) return;
    if (f.found && !string2ll(f.pair.value.ptr, f.pair.value.len, &value)) {
        addReplyError(c, "hash value is not an integer");
        return;
    }
    if (__builtin_add_overflow(value, by, &value)) {
        addReplyError(c, "increment or decrement would overflow");
        return;
    }
    slice text = sliceOf(digits, ll2string(digits, value));
    if (storeField(c, &f, text, "hincrby") == HASH_REPLACED_EXPIRED || f.when_ms != HASH_NO_TIME)
        propagateField(c, text, f.when_ms);
    addReplyLongLong(c, value);
}

void hincrbyfloatCommand(client *c) {
    openField f;
    long double by, value = 0;
    char digits[LONG_DOUBLE_STR_SIZE];

    if (!getLongDoubleFromArg(c, 3, &by, NULL)) return;
    if (isnan(by) || isinf(by)) {
        addReplyError(c, "value is NaN or Infinity");
        return;
    }
    if (!findField(c, &f)) return;
    if (f.found && !string2ld(f.pair.value.ptr, f.pair.value.len, &value)) {
        addReplyError(c, "hash value is not a float");
        return;
    }
    value += by;
    if (isnan(value) || isinf(value)) {
        addReplyError(c, "increment would produce NaN or Infinity");
        return;
    }
    slice text = sliceOf(digits, ld2string(digits, sizeof(digits), value, true));
    storeField(c, &f, text, "hincrbyfloat");
    propagateField(c, text, f.when_ms);
    addReplyBulk(c, text);
}

void hdelCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    hashPair pair;
    long long deleted = 0;
    robj *o = typedKeyWriteOrReply(c, key, OBJ_HASH, addReplyZero);
    if (!o) return;
    bool had_ttls = hashHasTtls(o);
    changedFieldsBegin();
    fieldWalk walk = fieldWalkBegin(c, o, 2, 1, c->argc - 2);
    for (uint32_t i = 2; i < c->argc && hashLength(o) > 0; i++) {
        uint64_t hash = fieldWalkNext(&walk);
        if (unlikely(had_ttls) && !hashFind(o, c->argv[i], hash, &pair)) continue; /* expired: not deleted here */
        deleted += hashDelete(o, c->argv[i], hash);
        if (unlikely(had_ttls)) changedField(i);
    }
    if (unlikely(had_ttls)) propagateNamedFields(c, "HDEL", 2, false);
    if (deleted) {
        if (unlikely(had_ttls)) dbFieldTtlsChanged(c->db, o, key);
        keyChanged(c, key, NOTIFY_HASH, "hdel", deleted);
        if (hashLength(o) == 0) deleteEmptied(c, key);
    }
    addReplyLongLong(c, deleted);
}

/* ---- HGET and related commands ----------------------------------------------------------------------------------- */

void hgetCommand(client *c) {
    robj *o;
    hashPair pair;

    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_HASH, &o)) return;
    if (o && hashFind(o, c->argv[2], fieldHash(c, o, 2), &pair)) addReplyHashValue(c, &pair);
    else addReplyNull(c);
}

void hmgetCommand(client *c) {
    robj *o;
    hashPair pair;

    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_HASH, &o)) return;
    addReplyArrayLen(c, c->argc - 2);
    fieldWalk walk;
    if (o) walk = fieldWalkBegin(c, o, 2, 1, c->argc - 2);
    for (uint32_t i = 2; i < c->argc && !replyIsDropped(c); i++) {
        if (o && hashFind(o, c->argv[i], fieldWalkNext(&walk), &pair)) addReplyHashValue(c, &pair);
        else addReplyNull(c);
    }
}

void hlenCommand(client *c) { replyWithCount(c, OBJ_HASH, hashLength); }

void hstrlenCommand(client *c) {
    robj *o;
    hashPair pair;

    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_HASH, &o)) return;
    bool found = o && hashFind(o, c->argv[2], fieldHash(c, o, 2), &pair);
    addReplyLongLong(c, found ? (long long)pair.value.len : 0);
}

void hexistsCommand(client *c) {
    robj *o;
    hashPair pair;

    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_HASH, &o)) return;
    if (o && hashFind(o, c->argv[2], fieldHash(c, o, 2), &pair)) addReplyOne(c);
    else addReplyZero(c);
}

/* ---- Whole hashes ------------------------------------------------------------------------------------------------ */

enum { WITH_NAMES = 1, WITH_VALUES = 2 };

static void addPair(client *c, const hashPair *pair, unsigned what) {
    if (what & WITH_NAMES) addReplyBulk(c, pair->name);
    if (what & WITH_VALUES) addReplyHashValue(c, pair);
}

/* Returns the number of fields that are not expired. */
static size_t countLive(client *c, const robj *o, slicedStart slices) {
    if (likely(!hashHasTtls(o))) return hashLength(o);
    size_t n = 0;
    hashIter it;
    hashIterBegin(&it, o);
    for (const hashPair *pair; (pair = hashIterNext(&it));) {
        n += !hashTimeExpired(pair->when_ms);
        if (slices == SLICED_YES) slicedStep(c);
    }
    hashIterEnd(&it);
    return n;
}

/* With `slices` constant each use is a loop of its own, so that small hashes pay nothing for large ones. */
static inline __attribute__((always_inline)) void addLiveFields(client *c, const robj *o, unsigned what,
                                                                const slicedStart slices) {
    hashIter it;
    hashIterBegin(&it, o);
    for (const hashPair *pair; !replyIsDropped(c) && (pair = hashIterNext(&it));) {
        if (!hashTimeExpired(pair->when_ms)) addPair(c, pair, what);
        if (slices == SLICED_YES) slicedStep(c);
    }
    hashIterEnd(&it);
}

static void addLive(client *c, const robj *o, unsigned what) { addLiveFields(c, o, what, SLICED_NO); }

static void addLiveSliced(client *c, const robj *o, unsigned what) { addLiveFields(c, o, what, SLICED_YES); }

static void getAllGeneric(client *c, unsigned what) {
    robj *o;

    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_HASH, &o)) return;
    slicedStart slices = o ? slicedBegin(c, o, hashLength(o)) : SLICED_NO;
    if (unlikely(slices == SLICED_POSTPONED)) return;
    long long n = o ? (long long)countLive(c, o, slices) : 0;
    if (what == (WITH_NAMES | WITH_VALUES)) addReplyMapLen(c, n);
    else addReplyArrayLen(c, n);
    if (unlikely(slices == SLICED_YES)) {
        addLiveSliced(c, o, what);
        slicedEnd(c);
    } else if (n) {
        addLive(c, o, what);
    }
}

void hkeysCommand(client *c) { getAllGeneric(c, WITH_NAMES); }
void hvalsCommand(client *c) { getAllGeneric(c, WITH_VALUES); }
void hgetallCommand(client *c) { getAllGeneric(c, WITH_NAMES | WITH_VALUES); }

static bool fieldHidden(const void *entry) { return hashTimeExpired(hashFieldTime(entry)); }

static void addField(client *c, const void *entry, bool keys_only) {
    hashPair pair;

    addReplyBulk(c, hashFieldName(entry));
    if (keys_only) return;
    hashPairOfField(&pair, entry);
    addReplyHashValue(c, &pair);
}

static long long addMatching(client *c, const robj *o, const scanOptions *options) {
    long long found = 0;
    hashIter it;
    hashIterBegin(&it, o);
    for (const hashPair *pair; (pair = hashIterNext(&it));) {
        if (!scanMatches(options, pair->name)) continue;
        addPair(c, pair, options->keys_only ? WITH_NAMES : WITH_NAMES | WITH_VALUES);
        found++;
    }
    hashIterEnd(&it);
    return found;
}

/* HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES] */
void hscanCommand(client *c) {
    static const scanElements elements = {SCAN_HASH, OBJ_HASH, 2, fieldHidden, addField, addMatching};
    scanValue(c, &elements);
}

/* ---- HRANDFIELD -------------------------------------------------------------------------------------------------- */

static void addRandom(client *c, const hashPair *pair, bool with_values) {
    if (with_values && c->resp > 2) addReplyArrayLen(c, 2);
    addPair(c, pair, with_values ? WITH_NAMES | WITH_VALUES : WITH_NAMES);
}

static void addRandomLen(client *c, long long n, bool with_values) {
    addReplyArrayLen(c, with_values && c->resp == 2 ? 2 * n : n);
}

/* Returns an array of the fields of a table that are not expired, and their number in *n; NULL if there is no
 * memory. */
static const hashField **gatherLive(const robj *o, size_t *n) {
    const hashField **live = ztrymalloc((hashLength(o) + 1) * sizeof(*live));
    dictIterator it;

    *n = 0;
    if (!live) return NULL;
    dictIterBegin(&it, (dict *)(uintptr_t)hashTable(o), false);
    for (const hashField *f; (f = dictIterNext(&it));)
        if (!hashTimeExpired(hashFieldTime(f))) live[(*n)++] = f;
    dictIterEnd(&it);
    return live;
}

/* Replies with `count` fields, each drawn from all. If fields may have expired, those that have not are gathered
 * once. */
static void randomRepeated(client *c, const robj *o, unsigned long long count, bool with_values) {
    hashPair pair;
    size_t n = hashLength(o);
    const hashField **live = NULL;

    if (hashHasTtls(o) && !(live = gatherLive(o, &n))) {
        addReplyNoMemory(c);
        return;
    }
    if (n == 0) count = 0;
    if (!randomReplyReserve(c, with_values ? 2 * count : count)) count = 0;
    else addRandomLen(c, (long long)count, with_values);
    for (unsigned long long i = 0; i < count && !randomReplyDropped(c); i++) {
        if (live) {
            hashPairOfField(&pair, live[rngBelow(rngThread(), n)]);
        } else if (!hashRandom(o, &pair)) {
            break;
        }
        addRandom(c, &pair, with_values);
    }
    zfree(live);
}

/* Replies with `count` of `live` fields, all distinct. The walk takes each field with the probability that makes all
 * choices equally likely. */
static void randomDistinct(client *c, const robj *o, size_t count, size_t live, bool with_values) {
    hashIter it;
    hashIterBegin(&it, o);
    for (const hashPair *pair; count && (pair = hashIterNext(&it));) {
        if (hashTimeExpired(pair->when_ms)) continue;
        if (rngBelow(rngThread(), live--) >= count) continue;
        addRandom(c, pair, with_values);
        count--;
    }
    hashIterEnd(&it);
}

#define FEW_MAX 64     /* up to this many fields are drawn at random until they are distinct, */
#define FEW_OF_MANY 16 /* if the hash has at least this many times as many fields */

/* Like randomDistinct(), for a few fields of a table without field TTLs. The cost does not depend on the size of the
 * table. */
static void randomFew(client *c, const robj *o, size_t count, bool with_values) {
    const char *drawn[FEW_MAX];
    hashPair pair;

    for (size_t n = 0; n < count && hashRandom(o, &pair);) {
        size_t i = 0;
        while (i < n && drawn[i] != pair.name.ptr) i++;
        if (i < n) continue;
        drawn[n++] = pair.name.ptr;
        addRandom(c, &pair, with_values);
    }
}

static void randomMany(client *c, const robj *o, long long count, bool with_values) {
    if (count < 0) {
        randomRepeated(c, o, 0ull - (unsigned long long)count, with_values);
        return;
    }
    size_t live = countLive(c, o, SLICED_NO), n = (unsigned long long)count < live ? (size_t)count : live;
    addRandomLen(c, (long long)n, with_values);
    if (n <= FEW_MAX && live / FEW_OF_MANY >= n && hashTable(o) && !hashHasTtls(o)) randomFew(c, o, n, with_values);
    else randomDistinct(c, o, n, live, with_values);
}

void hrandfieldCommand(client *c) {
    long long count = 1;
    bool with_values;
    robj *o;
    hashPair pair;

    if (!randomArgsParse(c, "withvalues", &count, &with_values)) return;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_HASH, &o)) return;
    if (c->argc == 2) {
        if (o && hashRandom(o, &pair)) addReplyBulk(c, pair.name);
        else addReplyNull(c);
    } else if (!o || count == 0) {
        addReplyEmptyArray(c);
    } else {
        randomMany(c, o, count, with_values);
    }
}

/* t_string.c -- commands of string values: GET, SET, MSET, APPEND, INCR and others.
 *
 * A reply refers to a large value instead of copying it. A command that stores a value takes the entry that the owner
 * thread built, or a large argument itself, so that main only exchanges a pointer.
 *
 * Not here    LCS (t_string_lcs.c); what an entry looks like (object/); expiry of keys (store/).
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 *             2. Every change is reported by keyChanged() or keyEvent() (key_changed.h).
 * Tests       tests/unit/commands/string/t_string_test.c, tests/type/string.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_memory.h"
#include "commands.h"
#include "db.h"
#include "engine_settings.h"
#include "expire_options.h"
#include "hash.h"
#include "propagate.h"
#include "string_change.h"
#include "typed_key.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>

/* SET, GETEX and MSETEX: reads the options and the expiry, which is above 0. Returns false after an error. */
static bool parseOptions(client *c, uint32_t at, optionSet set, expireOptions *opts) {
    return expireOptionsParse(c, at, c->argc, set, opts) && expireOptionsTime(c, 1, opts);
}

/* ---- Helpers of several commands --------------------------------------------------------------------------------- */

/* Replies with the value of a key, as GET does. Returns false, after an error reply, if the key has another type. */
static bool replyWithValue(client *c, hashedKey key) {
    robj *o = lookupKeyRead(c->db, key);

    if (!o) {
        addReplyNull(c);
        return true;
    }
    if (checkType(c, o, OBJ_STRING)) return false;
    addReplyBulkObject(c, o);
    return true;
}

static bool valueEquals(const robj *o, slice bytes) {
    char digits[LONG_STR_SIZE];
    return sliceEq(objectString(o, digits), bytes);
}

/* Writes the digest of bytes, which DIGEST replies with, to `text` and returns it. */
#define DIGEST_CHARS 16
static const char *digestText(slice bytes, char text[DIGEST_CHARS + 1]) {
    snprintf(text, DIGEST_CHARS + 1, "%016llx", (unsigned long long)xxh3(bytes.ptr, bytes.len));
    return text;
}

/* Stores `entry` under the key and replaces any value that it has. */
static void storeEntryTake(client *c, hashedKey key, robj *entry, int64_t when_ms, bool keep_ttl) {
    if (when_ms != NO_EXPIRE) entry = objectSetExpireTake(entry, when_ms);
    setKeyTake(c->db, entry, key, keep_ttl);
    keyChanged(c, key, NOTIFY_STRING, "set", 1);
    if (when_ms != NO_EXPIRE) keyEvent(c, key, NOTIFY_GENERIC, "expire");
}

/* Does the same for a command with one key, whose entry the owner thread may have built when it read the command. */
static void storeOnlyKey(client *c, hashedKey key, uint32_t value_arg, int64_t when_ms, bool keep_ttl) {
    robj *entry = clientTakeValue(c);

    if (!entry) entry = clientEntryOfArg(c, key.name, value_arg, when_ms != NO_EXPIRE);
    storeEntryTake(c, key, entry, when_ms, keep_ttl);
}

/* Returns whether a string of `len` bytes may grow by `more`; if not, an error reply was sent. */
static bool checkLength(client *c, unsigned long long len, unsigned long long more) {
    if (len <= (unsigned long long)string_bytes_max && more <= (unsigned long long)string_bytes_max - len) return true;
    return addReplyError(c, "string exceeds maximum allowed size (proto-max-bulk-len)");
}

/* ---- Propagation ---- */

/* Propagates command `name` with the command's key and, unless it is NO_EXPIRE, the time `when_ms`. */
static void propagateKey(const client *c, const char *name, int64_t when_ms) {
    if (!propagateInstead(c, name)) return;
    propagateArg(c->argv[1]);
    if (when_ms != NO_EXPIRE) propagateNumber(when_ms);
    propagateDone();
}

static void propagateExpiry(int64_t when_ms) {
    if (when_ms == NO_EXPIRE) return;
    propagateWord("PXAT");
    propagateNumber(when_ms);
}

/* Completes a propagated SET of the command's key; with an absolute expiry unless `when_ms` is NO_EXPIRE. */
static void propagateSetWords(const client *c, slice value, int64_t when_ms) {
    propagateArg(c->argv[1]);
    propagateArg(value);
    propagateExpiry(when_ms);
    propagateDone();
}

static void propagateSet(const client *c, slice value, int64_t when_ms) {
    if (propagateInstead(c, "SET")) propagateSetWords(c, value, when_ms);
}

/* Propagates SET with options: without GET, and with the expiry as an absolute time. The conditions stay, as they have
 * the same result on replicas, but for those that a Valkey that reads the log or follows would refuse. The name stays
 * as the client spelled it if the expiry is the only option. */
static void propagateSetOptions(const client *c, const expireOptions *opts) {
    if (!propagateWanted()) return;
    if (opts->flags & (OPT_COMPARISON & ~OPT_IFEQ)) {
        if (!propagateInstead(c, "SET")) return;
        propagateArgs(c, 1, 3);
        if (opts->flags & OPT_KEEPTTL) propagateWord("KEEPTTL");
        propagateExpiry(opts->when_ms);
        propagateDone();
    } else if (opts->flags & OPT_PXAT) {
        return;
    } else if (opts->expire_arg && c->argc == 5) {
        if (propagateRewritten(c)) propagateSetWords(c, c->argv[2], opts->when_ms);
    } else if (opts->expire_arg) {
        propagateSet(c, c->argv[2], opts->when_ms);
    } else if (opts->flags & OPT_GET && propagateRewritten(c)) {
        for (uint32_t i = 1; i < c->argc; i++)
            if (i < 3 || i == opts->compared_arg || !sliceIs(c->argv[i], "get")) propagateArg(c->argv[i]);
        propagateDone();
    }
}

/* Propagates MSETEX with an absolute expiry. */
static void propagateSetMany(const client *c, const expireOptions *opts) {
    if (!opts->expire_arg || opts->flags & OPT_PXAT || !propagateRewritten(c)) return;
    propagateArgs(c, 1, opts->expire_arg - 1);
    propagateWord("PXAT");
    propagateNumber(opts->when_ms);
    propagateArgs(c, opts->expire_arg + 1, c->argc);
    propagateDone();
}

/* ---- GET and related commands ------------------------------------------------------------------------------------ */

void getCommand(client *c) { replyWithValue(c, clientKeyAt(c, 1)); }

void mgetCommand(client *c) {
    uint32_t count = c->argc - 1;

    addReplyArrayLen(c, count);
    for (uint32_t i = 0, ready = 0; i < count && !replyIsDropped(c); i++) {
        if (i == ready) ready += keysPrefetch(c, 1 + i, 1, count - i);
        robj *o = lookupKeyRead(c->db, clientKeyAt(c, 1 + i));
        if (o && o->type == OBJ_STRING) addReplyBulkObject(c, o);
        else addReplyNull(c);
    }
}

void getdelCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    robj *o = typedKeyReadOrReply(c, key, OBJ_STRING, addReplyNull);
    if (!o) return;
    addReplyBulkObject(c, o);
    deleteAndReport(c, key);
    propagateKey(c, "DEL", NO_EXPIRE);
}

void getexCommand(client *c) {
    expireOptions opts;

    if (!parseOptions(c, 2, GETEX_OPTIONS, &opts)) return;
    hashedKey key = clientKeyAt(c, 1);
    robj *o = typedKeyReadOrReply(c, key, OBJ_STRING, addReplyNull);
    if (!o) return;
    addReplyBulkObject(c, o);
    if (opts.expire_arg && storeExpirePassed(opts.when_ms)) {
        dbExpireNow(c->db, o, key);
        propagateExpired(c, key.name);
    } else if (opts.expire_arg) {
        dbSetExpire(c->db, o, key, opts.when_ms);
        keyChanged(c, key, NOTIFY_GENERIC, "expire", 1);
        propagateKey(c, "PEXPIREAT", opts.when_ms);
    } else if ((opts.flags & OPT_PERSIST) && dbRemoveExpire(c->db, o, key)) {
        keyChanged(c, key, NOTIFY_GENERIC, "persist", 1);
        propagateKey(c, "PERSIST", NO_EXPIRE);
    }
}

void digestCommand(client *c) {
    char digits[LONG_STR_SIZE], text[DIGEST_CHARS + 1];

    robj *o = typedKeyReadOrReply(c, clientKeyAt(c, 1), OBJ_STRING, addReplyNull);
    if (o) addReplyBulkCString(c, digestText(objectString(o, digits), text));
}

void strlenCommand(client *c) { replyWithCount(c, OBJ_STRING, objectStringLen); }

void getrangeCommand(client *c) {
    long long from, to;

    if (!getLongLongFromArg(c, 2, &from, NULL) || !getLongLongFromArg(c, 3, &to, NULL)) return;
    robj *o = lookupKeyRead(c->db, clientKeyAt(c, 1));
    if (checkType(c, o, OBJ_STRING)) return;
    if (!o || !clampRange(&from, &to, (long long)objectStringLen(o))) addReplyBulk(c, sliceOf("", 0));
    else addReplyBulkObjectRange(c, o, (size_t)from, (size_t)(to - from) + 1);
}

void substrCommand(client *c) { getrangeCommand(c); }

/* ---- SET and related commands ------------------------------------------------------------------------------------ */

typedef enum { CONDITION_MET, CONDITION_FAILED, CONDITION_ERROR } conditionResult;

/* Compares a string with argument `arg` as `kind` says, one of OPT_COMPARISON. Returns CONDITION_ERROR after an error
 * reply. */
static conditionResult compareValue(client *c, const robj *o, uint32_t kind, uint32_t arg) {
    bool equal;

    if (kind & (OPT_IFDEQ | OPT_IFDNE)) {
        char digits[LONG_STR_SIZE], text[DIGEST_CHARS + 1];
        if (c->argv[arg].len != DIGEST_CHARS) {
            addReplyError(c, "must be exactly 16 hexadecimal characters");
            return CONDITION_ERROR;
        }
        equal = sliceIs(c->argv[arg], digestText(objectString(o, digits), text));
    } else {
        equal = valueEquals(o, c->argv[arg]);
    }
    return equal == !(kind & (OPT_IFNE | OPT_IFDNE)) ? CONDITION_MET : CONDITION_FAILED;
}

/* Checks the condition of SET. Returns CONDITION_ERROR after an error reply. */
static conditionResult checkCondition(client *c, hashedKey key, const expireOptions *opts) {
    robj *o = lookupKeyWrite(c->db, key);

    if (opts->flags & OPT_NX) return o ? CONDITION_FAILED : CONDITION_MET;
    if (!o) return opts->flags & (OPT_IFNE | OPT_IFDNE) ? CONDITION_MET : CONDITION_FAILED;
    if (opts->flags & OPT_XX) return CONDITION_MET;
    if (checkType(c, o, OBJ_STRING)) return CONDITION_ERROR;
    return compareValue(c, o, opts->flags & OPT_COMPARISON, opts->compared_arg);
}

static void setWithOptions(client *c, hashedKey key, const expireOptions *opts) {
    bool get = opts->flags & OPT_GET;
    conditionResult condition = CONDITION_MET;

    if (opts->flags & OPT_CONDITION) condition = checkCondition(c, key, opts);
    if (condition == CONDITION_ERROR || (get && !replyWithValue(c, key))) return;
    if (condition == CONDITION_FAILED) {
        if (!get) addReplyNull(c);
        return;
    }
    if (opts->expire_arg && storeExpirePassed(opts->when_ms)) {
        robj *old = lookupKeyWrite(c->db, key);
        if (old) dbExpireNow(c->db, old, key);
        if (old) propagateExpired(c, key.name);
    } else {
        storeOnlyKey(c, key, 2, opts->when_ms, opts->flags & OPT_KEEPTTL);
        propagateSetOptions(c, opts);
    }
    if (!get) addReplyOk(c);
}

void setCommand(client *c) {
    expireOptions opts;

    if (likely(c->argc == 3)) {
        storeOnlyKey(c, clientKeyAt(c, 1), 2, NO_EXPIRE, false);
        addReplyOk(c);
        return;
    }
    if (parseOptions(c, 3, SET_OPTIONS, &opts)) setWithOptions(c, clientKeyAt(c, 1), &opts);
}

void setnxCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);

    if (lookupKeyWrite(c->db, key)) {
        addReplyZero(c);
        return;
    }
    storeOnlyKey(c, key, 2, NO_EXPIRE, false);
    addReplyOne(c);
}

static void setexGeneric(client *c, uint32_t form) {
    int64_t when_ms;

    if (!expireTimeParse(c, 2, form, 1, &when_ms)) return;
    storeOnlyKey(c, clientKeyAt(c, 1), 3, when_ms, false);
    propagateSet(c, c->argv[3], when_ms);
    addReplyOk(c);
}

void setexCommand(client *c) { setexGeneric(c, OPT_EX); }
void psetexCommand(client *c) { setexGeneric(c, OPT_PX); }

void getsetCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);

    if (!replyWithValue(c, key)) return;
    storeOnlyKey(c, key, 2, NO_EXPIRE, false);
    propagateSet(c, c->argv[2], NO_EXPIRE);
}

void delifeqCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    robj *o = lookupKeyWrite(c->db, key);

    if (checkType(c, o, OBJ_STRING)) return;
    if (!o || !valueEquals(o, c->argv[2])) {
        addReplyZero(c);
        return;
    }
    deleteAndReport(c, key);
    propagateKey(c, "DEL", NO_EXPIRE);
    addReplyOne(c);
}

/* Parses the condition of DELEX and checks it for the value. Returns CONDITION_ERROR after an error reply. */
static conditionResult checkDelexCondition(client *c, const robj *o) {
    static const struct {
        const char *word;
        uint32_t kind;
    } conditions[] = {{"IFEQ", OPT_IFEQ}, {"IFNE", OPT_IFNE}, {"IFDEQ", OPT_IFDEQ}, {"IFDNE", OPT_IFDNE}};

    if (o->type != OBJ_STRING) {
        addReplyError(c, "Key should be of string type if conditions are specified");
        return CONDITION_ERROR;
    }
    for (size_t i = 0; i < array_len(conditions); i++)
        if (sliceIs(c->argv[2], conditions[i].word)) return compareValue(c, o, conditions[i].kind, 3);
    addReplyError(c, "Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
    return CONDITION_ERROR;
}

void delexCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    conditionResult condition = CONDITION_MET;

    if (c->argc != 2 && c->argc != 4) {
        addReplyErrorArity(c);
        return;
    }
    robj *o = lookupKeyWrite(c->db, key);
    if (!o) condition = CONDITION_FAILED;
    else if (c->argc == 4) condition = checkDelexCondition(c, o);
    if (condition == CONDITION_FAILED) addReplyZero(c);
    if (condition != CONDITION_MET) return;
    deleteAndReport(c, key);
    propagateKey(c, "DEL", NO_EXPIRE);
    addReplyOne(c);
}

/* Returns whether all keys exist, or with `present` false whether all are absent. The keys are `count` arguments, every
 * second one from `first` on. */
static bool allKeysAre(client *c, uint32_t first, uint32_t count, bool present) {
    for (uint32_t i = 0, ready = 0; i < count; i++) {
        if (i == ready) ready += keysPrefetch(c, first + 2 * i, 2, count - i);
        if ((lookupKeyWrite(c->db, clientKeyAt(c, first + 2 * i)) != NULL) != present) return false;
    }
    return true;
}

/* Stores `count` pairs of key and value from argument `first` on. */
static void storePairs(client *c, uint32_t first, uint32_t count, int64_t when_ms, bool keep_ttl) {
    for (uint32_t i = 0, ready = 0; i < count; i++) {
        uint32_t at = first + 2 * i;
        if (i == ready) ready += keysPrefetch(c, at, 2, count - i);
        hashedKey key = clientKeyAt(c, at);
        robj *entry = clientEntryOfArg(c, key.name, at + 1, when_ms != NO_EXPIRE);
        storeEntryTake(c, key, entry, when_ms, keep_ttl);
    }
}

void msetCommand(client *c) {
    if (c->argc % 2 == 0) {
        addReplyErrorArity(c);
        return;
    }
    storePairs(c, 1, c->argc / 2, NO_EXPIRE, false);
    addReplyOk(c);
}

void msetnxCommand(client *c) {
    uint32_t count = c->argc / 2;

    if (c->argc % 2 == 0) {
        addReplyErrorArity(c);
        return;
    }
    if (!allKeysAre(c, 1, count, false)) {
        addReplyZero(c);
        return;
    }
    storePairs(c, 1, count, NO_EXPIRE, false);
    addReplyOne(c);
}

void msetexCommand(client *c) {
    expireOptions opts;
    long long count;

    if (!getRangeLongFromArg(c, 1, 1, INT_MAX, &count, "invalid numkeys value or out of range")) return;
    if (count > (c->argc - 2) / 2) {
        addReplySyntaxError(c);
        return;
    }
    uint32_t keys = (uint32_t)count;
    if (!parseOptions(c, 2 + 2 * keys, MSETEX_OPTIONS, &opts)) return;
    if ((opts.flags & OPT_CONDITION) && !allKeysAre(c, 2, keys, opts.flags & OPT_XX)) {
        addReplyZero(c);
        return;
    }
    storePairs(c, 2, keys, opts.when_ms, opts.flags & OPT_KEEPTTL);
    propagateSetMany(c, &opts);
    addReplyOne(c);
}

/* ---- Changing in place ------------------------------------------------------------------------------------------- */

void appendCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    robj *o = lookupKeyWrite(c->db, key);
    slice tail = c->argv[2];
    size_t len = 0;

    if (!o) {
        dbAddTake(c->db, clientEntryOfArg(c, key.name, 2, false), key);
    } else {
        if (checkType(c, o, OBJ_STRING)) return;
        len = objectStringLen(o);
        if (!checkLength(c, len, tail.len)) return;
        if (!commandMemoryReserve(c, objectWritableNeeds(o, len + tail.len))) return;
        o = stringMakeWritable(c, key, o, len + tail.len);
        if (tail.len) memcpy(objectWritableBytes(o) + len, tail.ptr, tail.len);
        objectSetStringLen(o, len + tail.len);
    }
    keyChanged(c, key, NOTIFY_STRING, "append", 1);
    addReplyLongLong(c, (long long)(len + tail.len));
}

void setrangeCommand(client *c) {
    long long offset;

    if (!getLongLongFromArg(c, 2, &offset, NULL)) return;
    if (offset < 0) {
        addReplyError(c, "offset is out of range");
        return;
    }
    hashedKey key = clientKeyAt(c, 1);
    robj *o = lookupKeyWrite(c->db, key);
    slice part = c->argv[3];
    if (checkType(c, o, OBJ_STRING)) return;
    size_t old_len = o ? objectStringLen(o) : 0;
    if (part.len == 0) {
        addReplyLongLong(c, (long long)old_len);
        return;
    }
    if (!checkLength(c, (unsigned long long)offset, part.len)) return;

    size_t at = (size_t)offset, len = at + part.len > old_len ? at + part.len : old_len;
    o = stringOpen(c, key, o, len, at);
    if (!o) return;
    memcpy(objectWritableBytes(o) + at, part.ptr, part.len);
    keyChanged(c, key, NOTIFY_STRING, "setrange", 1);
    addReplyLongLong(c, (long long)len);
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static void incrGeneric(client *c, long long by) {
    hashedKey key = clientKeyAt(c, 1);
    robj *o = lookupKeyWrite(c->db, key);
    long long value = 0;

    if (checkType(c, o, OBJ_STRING)) return;
    if (o && !objectGetLongLong(o, &value)) {
        addReplyNotIntegerError(c);
        return;
    }
    if (__builtin_add_overflow(value, by, &value)) {
        addReplyError(c, "increment or decrement would overflow");
        return;
    }
    if (o) dbReplaceEntry(c->db, o, objectSetIntegerTake(o, value), key);
    else dbAddTake(c->db, objectCreateInteger(key.name, value, false, object_main_owner), key);
    keyChanged(c, key, NOTIFY_STRING, "incrby", 1);
    addReplyLongLong(c, value);
}

void incrCommand(client *c) { incrGeneric(c, 1); }
void decrCommand(client *c) { incrGeneric(c, -1); }

void incrbyCommand(client *c) {
    long long by;

    if (getLongLongFromArg(c, 2, &by, NULL)) incrGeneric(c, by);
}

void decrbyCommand(client *c) {
    long long by;

    if (!getLongLongFromArg(c, 2, &by, NULL)) return;
    if (by == LLONG_MIN) addReplyError(c, "decrement would overflow");
    else incrGeneric(c, -by);
}

void incrbyfloatCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    robj *o = lookupKeyWrite(c->db, key);
    long double value = 0, by;
    char digits[LONG_DOUBLE_STR_SIZE];

    if (checkType(c, o, OBJ_STRING)) return;
    if (o && !objectGetLongDouble(o, &value)) {
        addReplyNotFloatError(c);
        return;
    }
    if (!getLongDoubleFromArg(c, 2, &by, NULL)) return;
    value += by;
    if (isnan(value) || isinf(value)) {
        addReplyError(c, "increment would produce NaN or Infinity");
        return;
    }
    slice text = sliceOf(digits, ld2string(digits, sizeof(digits), value, true));
    setKeyTake(c->db, objectCreateTextString(key.name, text, false, object_main_owner), key, true);
    keyChanged(c, key, NOTIFY_STRING, "incrbyfloat", 1);
    if (propagateInstead(c, "SET")) {
        propagateArg(key.name);
        propagateCopied(text);
        propagateWord("KEEPTTL");
        propagateDone();
    }
    addReplyBulk(c, text);
}

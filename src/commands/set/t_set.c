/* t_set.c -- commands of one set, and SMOVE.
 *
 * Not here    SINTER, SUNION, SDIFF and related commands (t_set_algebra.c); encodings (object/value_set.c).
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 *             2. A member is hashed only if the set is a table, and then once.
 * Tests       tests/type/set.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "dict.h"
#include "propagate.h"
#include "random_reply.h"
#include "scan.h"
#include "sliced.h"
#include "typed_key.h"
#include "value_set.h"

#include <limits.h>

#define FEW_KEPT 5 /* SPOP: if it removes at least this many times as many as stay, those that stay are moved */

/* ---- Helpers of several commands ---- */

/* Returns the hash of the member in an argument if the set is a table, or 0. */
static uint64_t hashFor(const client *c, const robj *o, uint32_t index) {
    return setIsTable(o) ? clientElementHash(c, index) : 0;
}

/* Prefetches the table entries of some of the next `count` members, from argument `first` on, as many as fit into a
 * batch. Returns after how many members to call it again. */
static uint32_t membersPrefetch(const client *c, const robj *o, uint32_t first, uint32_t count) {
    dictLookup lookups[DICT_PREFETCH_MAX];
    const dict *d = setTable(o);
    if (!d || count < 2) return count;
    uint32_t n = count < DICT_PREFETCH_MAX ? count : DICT_PREFETCH_MAX;
    for (uint32_t i = 0; i < n; i++)
        lookups[i] = (dictLookup){
            .d = d, .key = c->argv[first + i], .hash = clientElementHash(c, first + i), .skip_value = true};
    dictPrefetch(lookups, n);
    return n;
}

static void addReplyMember(client *c, const setMember *m) {
    if (m->str) addReplyBulk(c, sliceOf(m->str, m->len));
    else addReplyBulkLongLong(c, m->num);
}

static void addReplyAllMembers(client *c, const robj *o) {
    setIterator it;
    setMember m;
    setIterBegin(&it, o);
    while (!replyIsDropped(c) && setIterNext(&it, &m)) addReplyMember(c, &m);
    setIterEnd(&it);
}

/* ---- SADD, SREM, SMOVE ---- */

/* SADD key member [member ...] */
void saddCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    robj *o;
    uint32_t count = c->argc - 2;
    if (!typedKeyWrite(c, key, OBJ_SET, &o)) return;
    bool is_new = !o;
    if (is_new) o = setCreate(key.name, c->argv[2], count);
    else setExpect(o, count);
    long long added = 0;
    for (uint32_t i = 0, ready = 0; i < count; i++) {
        if (i == ready) ready += membersPrefetch(c, o, 2 + i, count - i);
        added += setAdd(o, c->argv[2 + i], hashFor(c, o, 2 + i));
    }
    if (is_new) dbAddTake(c->db, o, key);
    if (added) keyChanged(c, key, NOTIFY_SET, "sadd", added);
    addReplyLongLong(c, added);
}

/* SREM key member [member ...] */
void sremCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    uint32_t count = c->argc - 2;
    robj *o = typedKeyWriteOrReply(c, key, OBJ_SET, addReplyZero);
    if (!o) return;
    long long removed = 0;
    for (uint32_t i = 0, ready = 0; i < count && setSize(o); i++) {
        if (i == ready) ready += membersPrefetch(c, o, 2 + i, count - i);
        removed += setRemove(o, c->argv[2 + i], hashFor(c, o, 2 + i));
    }
    if (removed) keyChanged(c, key, NOTIFY_SET, "srem", removed);
    if (setSize(o) == 0) deleteEmptied(c, key);
    addReplyLongLong(c, removed);
}

/* SMOVE source destination member */
void smoveCommand(client *c) {
    hashedKey from = clientKeyAt(c, 1), to = clientKeyAt(c, 2);
    slice member = c->argv[3];
    robj *source = lookupKeyWrite(c->db, from), *target = lookupKeyWrite(c->db, to);
    if (!source) {
        addReplyZero(c);
        return;
    }
    if (checkType(c, source, OBJ_SET) || checkType(c, target, OBJ_SET)) return;
    if (source == target) {
        addReplyLongLong(c, setHas(source, member, hashFor(c, source, 3)));
        return;
    }
    if (!setRemove(source, member, hashFor(c, source, 3))) {
        addReplyZero(c);
        return;
    }
    keyChanged(c, from, NOTIFY_SET, "srem", 1);
    if (setSize(source) == 0) deleteEmptied(c, from);
    bool added;
    if (target) {
        added = setAdd(target, member, hashFor(c, target, 3));
    } else {
        target = setCreate(to.name, member, 1);
        added = setAdd(target, member, hashFor(c, target, 3));
        dbAddTake(c->db, target, to);
    }
    if (added) keyChanged(c, to, NOTIFY_SET, "sadd", 1);
    addReplyOne(c);
}

/* ---- Reading ---- */

/* SISMEMBER key member */
void sismemberCommand(client *c) {
    robj *o;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_SET, &o)) return;
    if (o && setHas(o, c->argv[2], hashFor(c, o, 2))) addReplyOne(c);
    else addReplyZero(c);
}

/* SMISMEMBER key member [member ...] */
void smismemberCommand(client *c) {
    robj *o;
    uint32_t count = c->argc - 2;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_SET, &o)) return;
    addReplyArrayLen(c, count);
    for (uint32_t i = 0, ready = 0; i < count; i++) {
        if (o && i == ready) ready += membersPrefetch(c, o, 2 + i, count - i);
        if (o && setHas(o, c->argv[2 + i], hashFor(c, o, 2 + i))) addReplyOne(c);
        else addReplyZero(c);
    }
}

void scardCommand(client *c) { replyWithCount(c, OBJ_SET, setSize); }

static __attribute__((noinline)) void addReplyMembersSliced(client *c, const robj *o) {
    setIterator it;
    setMember m;
    setIterBegin(&it, o);
    while (!replyIsDropped(c) && setIterNext(&it, &m)) {
        addReplyMember(c, &m);
        slicedStep(c);
    }
    setIterEnd(&it);
    slicedEnd(c);
}

/* SMEMBERS key */
void smembersCommand(client *c) {
    robj *o;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_SET, &o)) return;
    slicedStart slices = o ? slicedBegin(c, o, setSize(o)) : SLICED_NO;
    if (unlikely(slices == SLICED_POSTPONED)) return;
    addReplySetLen(c, o ? (long long)setSize(o) : 0);
    if (unlikely(slices == SLICED_YES)) addReplyMembersSliced(c, o);
    else if (o) addReplyAllMembers(c, o);
}

static void setAddEntry(client *c, const void *entry, bool keys_only) {
    unused(keys_only);
    addReplyBulk(c, setEntryText(entry));
}

static long long addMatching(client *c, const robj *o, const scanOptions *options) {
    long long found = 0;
    char buf[LONG_STR_SIZE];
    setIterator it;
    setMember m;
    setIterBegin(&it, o);
    while (setIterNext(&it, &m)) {
        if (!scanMatches(options, setMemberText(&m, buf))) continue;
        addReplyMember(c, &m);
        found++;
    }
    setIterEnd(&it);
    return found;
}

/* SSCAN key cursor [MATCH pattern] [COUNT count] */
void sscanCommand(client *c) {
    static const scanElements elements = {SCAN_SET, OBJ_SET, 1, NULL, setAddEntry, addMatching};
    scanValue(c, &elements);
}

/* ---- SPOP ---- */

#define SREM_MEMBERS 1024 /* in one propagated SREM */

/* Members that SPOP removes: they are added to the reply and propagated as SREM. */
typedef struct poppedMembers {
    client *c;
    unsigned propagated; /* members of the SREM that is being written; 0 if none is */
} poppedMembers;

static void endPropagated(poppedMembers *t) {
    if (t->propagated) propagateDone();
    t->propagated = 0;
}

static void replyPopped(void *arg, const setMember *m) {
    poppedMembers *t = arg;
    char buf[LONG_STR_SIZE];
    addReplyMember(t->c, m);
    if (t->propagated == 0) {
        if (!propagateInstead(t->c, "SREM")) return;
        propagateArg(t->c->argv[1]);
    }
    propagateCopied(setMemberText(m, buf));
    if (++t->propagated == SREM_MEMBERS) endPropagated(t);
}

static void replyAllPopped(poppedMembers *t, const robj *o) {
    setIterator it;
    setMember m;
    setIterBegin(&it, o);
    while (setIterNext(&it, &m)) replyPopped(t, &m);
    setIterEnd(&it);
}

/* Propagates the deletion of the whole set. */
static void propagateWhole(const client *c) {
    if (!propagateInstead(c, store_settings.lazyfree_server_del ? "UNLINK" : "DEL")) return;
    propagateArg(c->argv[1]);
    propagateDone();
}

static void keepPopped(void *arg, const setMember *m) {
    robj *kept = arg;
    char buf[LONG_STR_SIZE];
    slice text = setMemberText(m, buf);
    setAdd(kept, text, setIsTable(kept) ? dictHash(setTable(kept), text) : 0);
}

/* Removes all but `left` members. Those that stay are moved to a new set, and the old one is freed with the others. */
static void popAllBut(poppedMembers *t, robj *o, size_t left) {
    robj *kept = setCreateCompact(sliceOf(NULL, 0), o->encoding == OBJ_ENC_INTSET ? OBJ_ENC_INTSET : OBJ_ENC_LISTPACK);
    setPopMany(o, left, keepPopped, kept);
    replyAllPopped(t, o);
    lazyfreeObject(setExchange(o, kept));
}

static void spopCount(client *c, hashedKey key) {
    long long count;
    robj *o;
    if (!getPositiveLongFromArg(c, 2, &count, "value is out of range, must be positive")) return;
    if (!typedKeyWrite(c, key, OBJ_SET, &o)) return;
    if (!o || count == 0) {
        addReplySetLen(c, 0);
        return;
    }
    size_t size = setSize(o), popped = (unsigned long long)count < size ? (size_t)count : size, left = size - popped;
    poppedMembers popping = {.c = c};
    addReplySetLen(c, (long long)popped);
    if (left == 0) store_stats.keyspace_hits++; /* Valkey 9.1 counts a lookup */
    if (left == 0) addReplyAllMembers(c, o);
    else if (left * FEW_KEPT > popped) setPopMany(o, popped, replyPopped, &popping);
    else popAllBut(&popping, o, left);
    endPropagated(&popping);
    if (left == 0) propagateWhole(c);
    keyChanged(c, key, NOTIFY_SET, "spop", (long long)popped);
    if (left == 0) deleteEmptied(c, key);
}

/* SPOP key [count] */
void spopCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    if (c->argc == 3) {
        spopCount(c, key);
        return;
    }
    if (c->argc > 3) {
        addReplySyntaxError(c);
        return;
    }
    robj *o = typedKeyWriteOrReply(c, key, OBJ_SET, addReplyNull);
    if (!o) return;
    poppedMembers popping = {.c = c};
    setPop(o, replyPopped, &popping);
    endPropagated(&popping);
    keyChanged(c, key, NOTIFY_SET, "spop", 1);
    if (setSize(o) == 0) deleteEmptied(c, key);
}

/* ---- SRANDMEMBER ---- */

static bool replyPicked(void *arg, const setMember *m) {
    client *c = arg;
    addReplyMember(c, m);
    return !randomReplyDropped(c);
}

static void srandmemberCount(client *c) {
    long long count;
    robj *o;
    if (!getRangeLongFromArg(c, 2, -LLONG_MAX, LLONG_MAX, &count, NULL)) return;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_SET, &o)) return;
    if (!o || count == 0) {
        addReplyEmptyArray(c);
        return;
    }
    if (count < 0) {
        if (!randomReplyReserve(c, (uint64_t)-count)) return;
        addReplyArrayLen(c, -count);
        setRandomRepeating(o, (uint64_t)-count, replyPicked, c);
        return;
    }
    size_t n = (unsigned long long)count < setSize(o) ? (size_t)count : setSize(o);
    addReplyArrayLen(c, (long long)n);
    setRandomDifferent(o, n, replyPicked, c);
}

/* SRANDMEMBER key [count] */
void srandmemberCommand(client *c) {
    if (c->argc == 3) {
        srandmemberCount(c);
        return;
    }
    if (c->argc > 3) {
        addReplySyntaxError(c);
        return;
    }
    robj *o = typedKeyReadOrReply(c, clientKeyAt(c, 1), OBJ_SET, addReplyNull);
    if (!o) return;
    setMember m = setRandom(o);
    addReplyMember(c, &m);
}

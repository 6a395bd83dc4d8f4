/* no_memory_test.c -- makes each allocation that may fail do so, one after the other: in reading a value of each type,
 * and in adding to it.
 *
 * A function is called with its first, second, third ... such allocation failing, until none fails. Each time it either
 * reports the failure and has changed nothing, or has done all its work. Nothing leaks.
 *
 * Not here    memory that a command has reserved before it begins (command_memory.h), and small blocks: these do not
 *             fail.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "digest.h"
#include "hash.h"
#include "object_internal.h"
#include "object_settings.h"
#include "rdb_value.h"
#include "unit.h"
#include "value_hash.h"
#include "value_list.h"
#include "value_set.h"
#include "value_stream_groups.h"
#include "value_zset.h"
#include "zmalloc.h"

#include <stdio.h>

enum { STEPS_MAX = 4000, LONG = 20000, VERY_LONG = 2 << 20 };

static char long_text[VERY_LONG];

static slice key(void) { return sliceStr("key"); }

static uint64_t hashOf(slice s) { return hashBytes(s.ptr, s.len); }

/* Sets the limits of compact encodings: elements, and bytes of one. */
static void bounds(long long entries, long long value) {
    objectTypesRegister();
    memset(long_text, 'l', sizeof(long_text));
    object_settings.hash_max_listpack_entries = object_settings.set_max_listpack_entries = entries;
    object_settings.zset_max_listpack_entries = object_settings.set_max_intset_entries = entries;
    object_settings.hash_max_listpack_value = object_settings.set_max_listpack_value = value;
    object_settings.zset_max_listpack_value = value;
    object_settings.list_max_listpack_size = -2;
    object_settings.list_compress_depth = 1;
    object_settings.stream_node_max_bytes = 4096;
    object_settings.stream_node_max_entries = 10;
    object_expire_cutoff_ms = 1000;
}

static digest digestOf(const robj *o) {
    digest d = {{0}};
    digestMixValue(&d, o);
    return d;
}

static bool sameDigest(digest a, digest b) { return memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0; }

static void mustBeWhole(const robj *o) {
    const objectTypeOps *ops = o->type == OBJ_STRING ? NULL : objectOps((objectTypeId)o->type);
    if (ops) ops->check(objectStructure(o), o->encoding);
}

/* ---- A value of each type and encoding ---- */

/* Returns element number `i`: short, an integer, or long. */
static slice element(unsigned i, char *buf) {
    if (i % 7 == 5) return sliceOf(long_text, 5000 + i);
    return sliceOf(buf, (size_t)snprintf(buf, 32, i % 3 ? "element:%u" : "%u", i));
}

static robj *makeList(unsigned n) {
    robj *o = valueListCreate(key());
    for (unsigned i = 0; i < n; i++) {
        char buf[32];
        slice value = element(i, buf);
        valueListPush(o, LIST_TAIL, &value, 1);
    }
    return o;
}

static robj *makeSet(unsigned n) {
    char buf[32];
    robj *o = setCreate(key(), element(0, buf), 1);
    for (unsigned i = 0; i < n; i++) {
        slice member = element(i, buf);
        setAdd(o, member, hashOf(member));
    }
    return o;
}

static robj *makeIntset(unsigned n) {
    robj *o = setCreateCompact(key(), OBJ_ENC_INTSET);
    for (unsigned i = 0; i < n; i++) {
        char buf[LONG_STR_SIZE];
        slice member = sliceOf(buf, ll2string(buf, (long long)i * 70000));
        setAdd(o, member, hashOf(member));
    }
    return o;
}

static robj *makeHash(unsigned n) {
    robj *o = hashCreate(key());
    for (unsigned i = 0; i < n; i++) {
        char a[32], b[32];
        slice field = element(i, a);
        hashSet(o, field, hashOf(field), element(i + 2, b), HASH_NO_TIME);
    }
    return o;
}

static robj *makeHashWithTimes(unsigned n) {
    robj *o = makeHash(n);
    char buf[32];
    slice field = element(1, buf);
    hashSet(o, field, hashOf(field), sliceStr("v"), 5000000000000);
    return o;
}

static robj *makeZset(unsigned n) {
    robj *o = zsetCreate(key(), 1, 1);
    for (unsigned i = 0; i < n; i++) {
        char buf[32];
        double score;
        slice member = element(i, buf);
        zsetAdd(o, member, zsetHash(member), i * 1.5, 0, &score);
    }
    return o;
}

static robj *makeStream(unsigned n) {
    stream *s = streamCreate();
    for (unsigned i = 0; i < n; i++) {
        char a[32], b[32];
        slice pair[2] = {element(i / 4, a), element(i, b)};
        CHECK(streamAppend(s, (streamId){1000 + i, 1}, pair, 2));
    }
    for (unsigned g = 0; g < 2; g++) {
        slice name = g ? sliceOf(long_text, 3000) : sliceStr("group");
        streamGroup *group = streamGroupCreate(s, name, (streamId){1000 + n / 2, 1}, n / 2);
        streamConsumer *one = streamConsumerCreate(group, sliceOf(long_text, 4000), 77);
        streamConsumer *two = streamConsumerCreate(group, sliceStr("two"), 78);
        for (unsigned i = 0; i < n / 2; i++) {
            streamPending *p = streamPendingAdd(group, (streamId){1000 + i, 1}, i % 3 ? one : two);
            p->delivered_ms = 5;
            p->deliveries = 1;
        }
    }
    return objectCreateTake(key(), OBJ_STREAM, OBJ_ENC_STREAM, s);
}

static robj *makeText(unsigned n) { return objectCreateString(key(), sliceOf(long_text, n * 100), false, 0); }

static const struct {
    const char *name;
    robj *(*make)(unsigned n);
    long long entries, value; /* limits when it is created */
    int encoding;
} samples[] = {
    {"list", makeList, 0, 0, OBJ_ENC_QUICKLIST},
    {"set, intset", makeIntset, 1000, 10000, OBJ_ENC_INTSET},
    {"set, listpack", makeSet, 1000, 10000, OBJ_ENC_LISTPACK},
    {"set, table", makeSet, 0, 0, OBJ_ENC_HASHTABLE},
    {"hash, listpack", makeHash, 1000, 10000, OBJ_ENC_LISTPACK},
    {"hash, table", makeHash, 0, 0, OBJ_ENC_HASHTABLE},
    {"hash with times", makeHashWithTimes, 1000, 10000, OBJ_ENC_HASHTABLE},
    {"zset, listpack", makeZset, 1000, 10000, OBJ_ENC_LISTPACK},
    {"zset, skiplist", makeZset, 0, 0, OBJ_ENC_SKIPLIST},
    {"stream", makeStream, 1000, 10000, OBJ_ENC_STREAM},
    {"string", makeText, 0, 0, OBJ_ENC_RAW},
};

/* ---- Reading ---- */

/* Reads a value with each allocation failing in turn: it gets nothing or all of it. Returns the number of failures. */
static int readFailing(const char *name, sds payload, digest want) {
    int refused = 0;
    for (long step = 1; step < STEPS_MAX; step++) {
        int64_t before = zmallocThreadHeld();
        rdbReader r = {payload, payload + sdsLen(payload)};
        zmallocFailAfter(step);
        robj *o = rdbReadValue(&r, key(), false);
        bool all_had = zmallocFailAfter(0) > 0;
        if (!o) {
            refused++;
        } else {
            mustBeWhole(o);
            if (!CHECK(sameDigest(digestOf(o), want))) printf("%s, allocation %ld\n", name, step);
            objectFree(o);
        }
        if (!CHECK_EQ_INT(zmallocThreadHeld() - before, 0)) printf("%s, allocation %ld\n", name, step);
        if (all_had) {
            CHECK(o);
            return refused;
        }
    }
    CHECK(false);
    return refused;
}

TEST(no_memory_to_read_a_value) {
    for (size_t i = 0; i < array_len(samples); i++) {
        bounds(samples[i].entries, samples[i].value);
        robj *o = samples[i].make(60);
        digest want = digestOf(o);
        CHECK_EQ_INT(o->encoding, samples[i].encoding);
        int refused = 0;
        for (int compress = 0; compress < 2; compress++) {
            sds payload = rdbValueBytes(o, compress);
            /* With the limits under which it was created, and with limits that change its encoding. */
            bounds(samples[i].entries, samples[i].value);
            refused += readFailing(samples[i].name, payload, want);
            bounds(samples[i].entries ? 0 : 1000, samples[i].value ? 0 : 10000);
            refused += readFailing(samples[i].name, payload, want);
            sdsFree(payload);
        }
        if (!CHECK(refused > 0)) printf("%s\n", samples[i].name);
        objectFree(o);
    }
    bounds(512, 64);
}

/* A long compressed text is in memory twice for a while: both allocations may fail. A field and its value reserve
 * memory together. */
TEST(no_memory_for_a_long_text) {
    slice text = sliceOf(long_text, VERY_LONG);
    for (int type = 0; type < 4; type++) {
        double score;
        bounds(0, 0);
        robj *o = type == 0 ? valueListCreate(key()) : type == 1 ? makeSet(1) : type == 2 ? makeHash(1) : makeZset(1);
        if (type == 0) valueListPush(o, LIST_TAIL, &text, 1);
        if (type == 1) setAdd(o, text, hashOf(text));
        if (type == 2) hashSet(o, text, hashOf(text), text, HASH_NO_TIME);
        if (type == 3) zsetAdd(o, text, zsetHash(text), 1, 0, &score);
        sds payload = rdbValueBytes(o, true);
        CHECK(sdsLen(payload) < VERY_LONG / 10);
        CHECK(readFailing(objectTypeName(o), payload, digestOf(o)) >= (type == 2 ? 3 : 2));
        sdsFree(payload);
        objectFree(o);
    }
    bounds(512, 64);
}

/* ---- Adding ---- */

/* A compact set or hash without memory to grow becomes a table. */
TEST(no_memory_for_a_larger_listpack) {
    bounds(1000, 10000);
    for (long step = 1; step < 4; step++) {
        for (unsigned n = 1; n < 40; n++) {
            char a[32];
            slice more = element(n, a);
            robj *set = makeSet(n), *hash = makeHash(n), *integers = makeIntset(n);
            zmallocFailAfter(step);
            CHECK(setAdd(set, more, hashOf(more)));
            zmallocFailAfter(step);
            CHECK(hashSet(hash, more, hashOf(more), sliceOf(long_text, 9000), HASH_NO_TIME) == HASH_ADDED);
            zmallocFailAfter(step);
            CHECK(hashSet(hash, sliceStr("0"), hashOf(sliceStr("0")), sliceOf(long_text, 9500), HASH_NO_TIME) ==
                  HASH_REPLACED);
            zmallocFailAfter(step);
            CHECK(setAdd(integers, sliceStr("5000000000"), hashOf(sliceStr("5000000000"))));
            zmallocFailAfter(step);
            CHECK(setAdd(integers, sliceStr("text"), hashOf(sliceStr("text"))));
            zmallocFailAfter(0);
            CHECK_EQ_INT(setSize(set), n + 1);
            CHECK_EQ_INT(setSize(integers), n + 2);
            CHECK_EQ_INT(hashLength(hash), n + 1);
            hashPair pair;
            CHECK(hashFind(hash, more, hashOf(more), &pair) && pair.value.len == 9000);
            CHECK(hashFind(hash, sliceStr("0"), hashOf(sliceStr("0")), &pair) && pair.value.len == 9500);
            robj *all[] = {set, hash, integers};
            for (size_t i = 0; i < array_len(all); i++) {
                mustBeWhole(all[i]);
                objectFree(all[i]);
            }
        }
    }
    bounds(512, 64);
}

/* A table without memory to grow has longer chains. */
TEST(no_memory_for_a_larger_table) {
    bounds(0, 0);
    robj *set = makeSet(7), *hash = makeHash(7);
    for (unsigned n = 7; n < 300; n++) {
        char buf[32];
        slice more = element(n, buf);
        zmallocFailAfter(1);
        CHECK(setAdd(set, more, hashOf(more)));
        zmallocFailAfter(1);
        CHECK(hashSet(hash, more, hashOf(more), more, HASH_NO_TIME) == HASH_ADDED);
        zmallocFailAfter(1);
        setReserve(set, 1000);
        zmallocFailAfter(0);
    }
    CHECK_EQ_INT(setSize(set), 300);
    CHECK_EQ_INT(hashLength(hash), 300);
    mustBeWhole(set);
    mustBeWhole(hash);
    objectFree(set);
    objectFree(hash);
    bounds(512, 64);
}

/* Appends an entry: either it fails and the stream is unchanged, or the entry is added. */
static void appendFailing(stream *s, unsigned number, slice value) {
    const slice pair[2] = {sliceStr("field"), value};
    bool done = false;
    for (long step = 1; !done && step < 100; step++) {
        streamId last = s->last_id;
        uint64_t length = s->length, added = s->entries_added;
        size_t nodes = streamNodeCount(s);
        zmallocFailAfter(step);
        done = streamAppend(s, (streamId){number, 1}, pair, 2);
        zmallocFailAfter(0);
        CHECK_EQ_INT(s->length, length + done);
        CHECK_EQ_INT(s->entries_added, added + done);
        CHECK(done || (streamIdCmp(s->last_id, last) == 0 && streamNodeCount(s) == nodes));
        objectOps(OBJ_STREAM)->check(s, OBJ_ENC_STREAM);
    }
    streamIterator it;
    size_t fields;
    streamFindBegin(&it, s);
    CHECK(done && streamFind(&it, (streamId){number, 1}, &fields));
}

TEST(no_memory_for_an_entry_of_a_stream) {
    bounds(0, 0);
    object_settings.stream_node_max_bytes = 100000;
    stream *s = streamCreate();
    for (unsigned n = 1; n < 60; n++) appendFailing(s, n, n % 4 ? sliceStr("v") : sliceOf(long_text, LONG));
    streamFree(s);
    bounds(512, 64);
}

TEST(no_memory_for_the_name_of_a_consumer) {
    bounds(0, 0);
    stream *s = streamCreate();
    streamGroup *g = streamGroupCreate(s, sliceStr("group"), STREAM_ID_MIN, 0);
    for (size_t len = 1; len <= LONG; len *= 3) {
        slice name = sliceOf(long_text, len);
        streamConsumer *c = NULL;
        for (long step = 1; !c && step < 100; step++) {
            int64_t before = zmallocThreadHeld();
            zmallocFailAfter(step);
            c = streamConsumerCreate(g, name, 1);
            zmallocFailAfter(0);
            CHECK(streamConsumerFind(g, name) == c);
            if (!c) CHECK_EQ_INT(zmallocThreadHeld() - before, 0);
            streamGroupCheck(g);
        }
        CHECK(c);
    }
    streamFree(s);
}

/* ZUNION and similar commands report the lack of memory, and leak nothing. */
TEST(no_memory_for_members_that_are_collected) {
    bounds(128, 64);
    for (long step = 1; step < 300; step++) {
        int64_t before = zmallocThreadHeld();
        zsetBuilder b;
        bool is_new, all = true;
        zmallocFailAfter(step);
        zsetBuildBegin(&b, 0);
        for (unsigned i = 0; all && i < 100; i++) {
            char buf[32];
            slice member = element(i, buf);
            double *score = zsetBuildScore(&b, member, zsetHash(member), &is_new);
            all = score != NULL;
            if (all) *score = -(double)i;
        }
        zmallocFailAfter(0);
        if (all) {
            robj *o = zsetBuildObject(&b, key());
            CHECK_EQ_INT(zsetCount(o), 100);
            mustBeWhole(o);
            objectFree(o);
        } else {
            zsetBuildDrop(&b);
        }
        CHECK_EQ_INT(zmallocThreadHeld() - before, 0);
    }
}

/* rdb_older_test.c -- values in the forms of older versions come back as they were.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_older.h"

#include "digest.h"
#include "object_internal.h"
#include "object_settings.h"
#include "unit.h"
#include "value_hash.h"
#include "value_list.h"
#include "value_set.h"
#include "value_stream_groups.h"
#include "value_stream_idmp.h"
#include "value_zset.h"
#include "zmalloc.h"
#include <stdio.h>

static slice numbered(char *buf, unsigned i) { return sliceOf(buf, (size_t)sprintf(buf, i % 3 ? "word:%u" : "%u", i)); }

/* Reads a value from its newest form, made by hand: `type` and `count` elements of plain layouts. */
static robj *made(unsigned rdb_type, unsigned count) {
    char buf[32];
    rdbWriter w;
    rdbWriterBegin(&w, false, 64);
    rdbWriteLength(&w, count);
    for (unsigned i = 0; i < count; i++) {
        rdbWriteString(&w, numbered(buf, i));
        if (rdb_type == RDB_TYPE_ZSET_2) rdbWriteDouble(&w, i * 0.3);
        if (rdb_type == RDB_TYPE_HASH || rdb_type == RDB_TYPE_HASH_2) rdbWriteString(&w, numbered(buf, i + 1));
        if (rdb_type == RDB_TYPE_HASH_2) rdbWriteMs(&w, i % 2 ? -1 : 4102444800000 + (int64_t)i * 100);
    }
    sds bytes = rdbWriterTake(&w);
    rdbReader r = {bytes, bytes + sdsLen(bytes)};
    robj *o = rdbReadValueOf(&r, rdb_type, sliceStr("k"), false);
    sdsFree(bytes);
    return o;
}

static robj *madeStream(bool with_producer) {
    stream *s = streamCreate();
    slice pair[2] = {sliceStr("f"), sliceStr("v")};
    for (uint64_t i = 1; i <= 150; i++) CHECK(streamAppend(s, (streamId){i, 1}, pair, 2));
    streamGroup *g = streamGroupCreate(s, sliceStr("g"), (streamId){1, 1}, 1);
    streamConsumer *c = streamConsumerCreate(g, sliceStr("c"), 77);
    c->active_ms = 77; /* what an older version lacks is what it is read as */
    streamPendingAdd(g, (streamId){1, 1}, c)->deliveries = 4;
    if (with_producer) CHECK(streamSentAdd(s, sliceStr("p"), sliceStr("n"), (streamId){150, 1}));
    return objectCreateTake(sliceStr("k"), OBJ_STREAM, OBJ_ENC_STREAM, s);
}

static void checkForm(const robj *o, unsigned version, unsigned rdb_type) {
    CHECK_EQ_INT(rdbTypeInVersion(o, version), rdb_type);
    if (rdb_type == RDB_TYPES) return;
    rdbWriter w;
    rdbWriterBegin(&w, true, 64);
    rdbWriteValueAs(&w, o, rdb_type);
    sds bytes = rdbWriterTake(&w), before = rdbValueBytes(o, false);
    rdbReader r = {bytes, bytes + sdsLen(bytes)};
    robj *back = rdbReadValueOf(&r, rdb_type, sliceStr("k"), false);
    if (CHECK(back) && CHECK(r.p == r.end)) {
        digest a = {{0}}, b = {{0}};
        digestMixValue(&a, o);
        digestMixValue(&b, back);
        CHECK(memcmp(a.bytes, b.bytes, DIGEST_BYTES) == 0);
        CHECK_EQ_INT(back->encoding, o->encoding);
        sds after = rdbValueBytes(back, false);
        bool ordered = o->type == OBJ_STREAM || o->type == OBJ_LIST || o->type == OBJ_ZSET;
        if (ordered) CHECK(sliceEq(sdsSlice(before), sdsSlice(after)));
        sdsFree(after);
    }
    if (back) objectFree(back);
    sdsFree(before);
    sdsFree(bytes);
}

TEST(rdb_older_forms_give_the_same_value) {
    static const struct {
        unsigned made_as, count, newest, in_9, in_10, in_11, in_13, lowest;
    } cases[] = {
        {RDB_TYPE_LIST, 3, RDB_TYPE_LIST_QUICKLIST_2, RDB_TYPE_LIST, 18, 18, 18, 9},
        {RDB_TYPE_LIST, 3000, RDB_TYPE_LIST_QUICKLIST_2, RDB_TYPE_LIST, 18, 18, 18, 9},
        {RDB_TYPE_SET, 3, RDB_TYPE_SET_LISTPACK, RDB_TYPE_SET, RDB_TYPE_SET, 20, 20, 9},
        {RDB_TYPE_SET, 3000, RDB_TYPE_SET, RDB_TYPE_SET, RDB_TYPE_SET, RDB_TYPE_SET, RDB_TYPE_SET, 9},
        {RDB_TYPE_ZSET_2, 3, RDB_TYPE_ZSET_LISTPACK, RDB_TYPE_ZSET_2, 17, 17, 17, 9},
        {RDB_TYPE_ZSET_2, 3000, RDB_TYPE_ZSET_2, RDB_TYPE_ZSET_2, RDB_TYPE_ZSET_2, RDB_TYPE_ZSET_2, RDB_TYPE_ZSET_2, 9},
        {RDB_TYPE_HASH, 3, RDB_TYPE_HASH_LISTPACK, RDB_TYPE_HASH, 16, 16, 16, 9},
        {RDB_TYPE_HASH, 3000, RDB_TYPE_HASH, RDB_TYPE_HASH, RDB_TYPE_HASH, RDB_TYPE_HASH, RDB_TYPE_HASH, 9},
        {RDB_TYPE_HASH_2, 9, RDB_TYPE_HASH_2, RDB_TYPES, RDB_TYPES, RDB_TYPES, RDB_TYPE_REDIS_HASH, RDB_VERSION},
    };
    objectTypesRegister();
    for (size_t i = 0; i < array_len(cases); i++) {
        robj *o = made(cases[i].made_as, cases[i].count);
        if (!CHECK(o)) continue;
        CHECK_EQ_INT(rdbTypeOf(o), cases[i].newest);
        CHECK_EQ_INT(rdbLowestVersion(o), cases[i].lowest);
        checkForm(o, 9, cases[i].in_9);
        checkForm(o, 10, cases[i].in_10);
        checkForm(o, RDB_VERSION_OLD, cases[i].in_11);
        checkForm(o, RDB_VERSION_FOREIGN_KNOWN, cases[i].in_13);
        checkForm(o, RDB_VERSION, cases[i].newest);
        objectFree(o);
    }
}

TEST(rdb_older_forms_of_streams_and_strings) {
    objectTypesRegister();
    robj *s = madeStream(false), *sent = madeStream(true);
    robj *text = objectCreateString(sliceStr("k"), sliceStr("some text"), false, object_main_owner);
    static const unsigned versions[] = {9, 10, RDB_VERSION_OLD, RDB_VERSION_FOREIGN_KNOWN, RDB_VERSION};
    static const unsigned forms[] = {RDB_TYPE_STREAM, RDB_TYPE_STREAM_2, RDB_TYPE_STREAM_3, RDB_TYPE_STREAM_3,
                                     RDB_TYPE_STREAM_3};
    CHECK_EQ_INT(rdbLowestVersion(s), RDB_VERSION_OLD);
    CHECK_EQ_INT(rdbLowestVersion(sent), RDB_VERSION);
    CHECK_EQ_INT(rdbLowestVersion(text), 9);
    for (size_t i = 0; i < array_len(versions); i++) {
        checkForm(s, versions[i], forms[i]);
        checkForm(sent, versions[i], versions[i] < 12 ? RDB_TYPES : RDB_TYPE_REDIS_STREAM);
        checkForm(text, versions[i], RDB_TYPE_STRING);
    }
    objectFree(s);
    objectFree(sent);
    objectFree(text);
}

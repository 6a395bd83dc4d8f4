/* rdb_load_test.c -- loading snapshots into the keyspace: completely, or with an error and without a leak.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_load.h"

#include "bio.h"
#include "db_walk.h"
#include "digest.h"
#include "lru.h"
#include "object_settings.h"
#include "persist_settings.h"
#include "rdb_test_file.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>
#include <unistd.h>

static rdbLoadEnd load(slice bytes, const rdbLoadOptions *options) {
    static const rdbLoadOptions none;
    rdbLoadResult r = rdbLoadFile(rdbTestPath(bytes), options ? options : &none);
    rdbLoadResultFree(&r);
    return r.end;
}

/* Returns a digest of all keys of a database: names, values, expires. */
static digest digestOfDb(int id) {
    digest d = {{0}};
    dbIterator it;
    dbIterBegin(&it, dbGet(id), false);
    for (const robj *o; (o = dbIterNext(&it)) != NULL;) {
        digest one = {{0}};
        digestMix(&one, objectKey(o));
        digestMixValue(&one, o);
        digestMixNumber(&one, (uint32_t)(objectExpire(o) >> 10));
        digestXor(&d, sliceOf(one.bytes, DIGEST_BYTES));
    }
    dbIterEnd(&it);
    return d;
}

/* Builds with debug checks check whole tables repeatedly. */
#ifdef DEBUG_ASSERTIONS
#define LARGEST 400
#define ROUNDS 300
#else
#define LARGEST 40000
#define ROUNDS 2000
#endif

static const int64_t far_ms = 4102444800000;

/* Makes keys in two databases, and returns them as a file. */
static sds randomDataset(uint64_t *random, size_t keys, size_t size) {
    sds f = rdbTestBegin();
    for (int db = 0; db < 2; db++) {
        f = rdbTestCatDb(f, 3 * db, keys, keys / 3);
        for (size_t i = 0; i < keys; i++) {
            char text[40];
            hashedKey key = hashedKeyOf(sliceOf(text, (size_t)snprintf(text, sizeof(text), "key:%zu", i)));
            robj *o = rdbTestValue(random, key.name, size);
            int64_t when_ms = i % 3 ? -1 : far_ms;
            f = rdbTestCatKey(f, key.name, o, when_ms);
            if (when_ms != -1) o = objectSetExpireTake(o, when_ms);
            dbAddTake(dbGet(3 * db), o, key);
        }
    }
    return rdbTestEnd(f);
}

TEST(load_gives_what_was_saved) {
    rdbTestReset();
    uint64_t random = unitRandomSeed();
    for (size_t size = 4; size <= LARGEST; size *= 10) {
        size_t keys = size <= 400 ? 200 : 400000 / size; /* enough to have all types */
        sds f = randomDataset(&random, keys, size);
        digest a = digestOfDb(0), b = digestOfDb(3);
        rdbTestReset();
        CHECK_EQ_INT(load(sdsSlice(f), NULL), RDB_LOAD_DONE);
        digest c = digestOfDb(0), d = digestOfDb(3);
        CHECK_MEM(c.bytes, a.bytes, DIGEST_BYTES);
        CHECK_MEM(d.bytes, b.bytes, DIGEST_BYTES);
        CHECK_EQ_INT(dbSize(dbGet(0)), keys);
        dbCheck(dbGet(0));
        dbCheck(dbGet(3));
        rdbTestReset();
        sdsFree(f);
    }
}

TEST(load_many_small_keys) {
    rdbTestReset();
    const int keys = 100000;
    sds f = rdbTestBegin();
    f = sdsCatLen(f, "\xf4\x05\x10\x00", 4); /* a hint: slot 5 will have 16 keys */
    for (int i = 0; i < keys; i++) {
        char text[40];
        slice key = sliceOf(text, (size_t)snprintf(text, sizeof(text), "key:%d", i));
        robj *o = objectCreateString(key, key, false, 0);
        f = rdbTestCatKey(f, key, o, -1);
        objectFree(o);
    }
    f = rdbTestEnd(f);
    dbSetSlots(true);
    CHECK_EQ_INT(load(sdsSlice(f), NULL), RDB_LOAD_DONE);
    CHECK_EQ_INT(dbSize(dbGet(0)), keys);
    dbCheck(dbGet(0));
    dbEmpty(-1, false);
    sds hint = rdbTestEnd(sdsCatLen(rdbTestBegin(), "\xf4\x05\x80\x40\x00\x00\x00\x00", 8)); /* 2^30 keys */
    CHECK_EQ_INT(load(sdsSlice(hint), NULL), RDB_LOAD_DONE);
    CHECK_EQ_INT(dbGetFigures(dbGet(0)).tables_bytes, 64); /* for what can follow in so short a file */
    sdsFree(hint);
    hint = rdbTestEnd(sdsCat(rdbTestBegin(), "\xfa\x09slot-info\x10"
                                             "5,1073741824,0,0"));
    CHECK_EQ_INT(load(sdsSlice(hint), NULL), RDB_LOAD_DONE);
    CHECK_EQ_INT(dbGetFigures(dbGet(0)).tables_bytes, 64); /* the same in the form of Valkey */
    sdsFree(hint);
    hint = rdbTestBegin();
    for (int slot = 1000; slot < 2000; slot++)
        hint = sdsCatPrintf(hint, "\xfa\x09slot-info\x13%d,1073741824,0,0", slot);
    hint = rdbTestEnd(hint);
    CHECK_EQ_INT(load(sdsSlice(hint), NULL), RDB_LOAD_DONE);
    CHECK(dbGetFigures(dbGet(0)).tables_bytes < 4 * sdsLen(hint)); /* together for what can follow */
    sdsFree(hint);
    hint = rdbTestEnd(sdsCat(rdbTestBegin(), "\xfa\x09slot-info\x0b"
                                             "16384,9,0,0"));
    CHECK_EQ_INT(load(sdsSlice(hint), NULL), RDB_LOAD_DONE); /* there is no such slot */
    sdsFree(hint);
    dbSetSlots(false);
    CHECK_EQ_INT(load(sdsSlice(f), NULL), RDB_LOAD_DONE);
    CHECK_EQ_INT(dbSize(dbGet(0)), keys);
    dbCheck(dbGet(0));
    /* Loading it again fails, as each key exists; with permission to replace keys it succeeds. */
    CHECK_EQ_INT(load(sdsSlice(f), NULL), RDB_LOAD_BROKEN);
    rdbLoadOptions merge = {.merge = true};
    CHECK_EQ_INT(load(sdsSlice(f), &merge), RDB_LOAD_DONE);
    CHECK_EQ_INT(dbSize(dbGet(0)), keys);
    dbCheck(dbGet(0));
    rdbTestReset();
    sdsFree(f);
}

TEST(load_a_cut_file_leaves_nothing_behind) {
    rdbTestReset();
    uint64_t random = unitRandomSeed();
    sds f = randomDataset(&random, 8, 12);
    rdbTestReset();
    for (size_t len = 0; len < sdsLen(f); len++) {
        rdbTestReset();
        CHECK(load(sliceOf(f, len), NULL) == (len < 9 ? RDB_LOAD_REFUSED : RDB_LOAD_BROKEN));
        dbCheck(dbGet(0));
    }
    rdbTestReset();
    CHECK_EQ_INT(load(sdsSlice(f), NULL), RDB_LOAD_DONE);
    rdbTestReset();
    sdsFree(f);
}

TEST(load_flipped_bits_do_no_harm) {
    rdbTestReset();
    uint64_t random = unitRandomSeed();
    sds f = randomDataset(&random, 10, 12);
    persist_settings.rdbchecksum = false;
    for (int round = 0; round < ROUNDS; round++) {
        rdbTestReset();
        persist_settings.rdbchecksum = false;
        sds bad = sdsNewLen(f, sdsLen(f));
        for (uint64_t flips = 1 + unitRandom(&random) % 3; flips; flips--)
            bad[unitRandom(&random) % sdsLen(bad)] ^= (char)(1 << unitRandom(&random) % 8);
        rdbLoadEnd end = load(sdsSlice(bad), NULL);
        CHECK(end == RDB_LOAD_DONE || end == RDB_LOAD_BROKEN || end == RDB_LOAD_REFUSED);
        for (int i = 0; i < dbCount(); i++) dbCheck(dbGet(i));
        sdsFree(bad);
    }
    rdbTestReset();
    sdsFree(f);
}

TEST(load_a_wrong_checksum_is_found) {
    rdbTestReset();
    uint64_t random = unitRandomSeed();
    sds f = randomDataset(&random, 3, 12);
    rdbTestReset();
    f[sdsLen(f) - 1] ^= 1;
    CHECK_EQ_INT(load(sdsSlice(f), NULL), RDB_LOAD_BROKEN);
    rdbTestReset();
    persist_settings.rdbchecksum = false;
    CHECK_EQ_INT(load(sdsSlice(f), NULL), RDB_LOAD_DONE);
    rdbTestReset();
    sdsFree(f);
}

/* After any failure the memory in use is as before. */
TEST(load_frees_what_it_does_not_keep) {
    rdbTestReset();
    uint64_t random = unitRandomSeed();
    sds f = randomDataset(&random, 3000, 30);
    rdbTestReset();
    size_t before = 0, after = 0;
    for (int round = 0; round < 20; round++) {
        sds bad = sdsNewLen(f, sdsLen(f));
        bad[unitRandom(&random) % sdsLen(bad)] ^= 0x55;
        load(sdsSlice(bad), NULL);
        sdsFree(bad);
        rdbTestReset();
        bioDrain(BIO_LAZY_FREE);
        if (round == 0) before = zmallocUsed(); /* includes permanent allocations of the first load */
        after = zmallocUsed();
    }
    CHECK(after < before + (1 << 16));
    sdsFree(f);
}

TEST(load_times_that_are_over) {
    rdbTestReset();
    slice key = sliceStr("k");
    robj *o = objectCreateString(key, sliceStr("v"), false, 0);
    sds f = rdbTestEnd(rdbTestCatKey(rdbTestBegin(), key, o, 1000));
    CHECK_EQ_INT(load(sdsSlice(f), NULL), RDB_LOAD_DONE);
    CHECK_EQ_INT(dbSize(dbGet(0)), 0);
    rdbLoadOptions keep = {.keep_expired = true};
    CHECK_EQ_INT(load(sdsSlice(f), &keep), RDB_LOAD_DONE);
    CHECK_EQ_INT(dbSize(dbGet(0)), 1);
    objectFree(o);
    rdbTestReset();
    sdsFree(f);
}

TEST(load_no_file) {
    rdbTestReset();
    static const rdbLoadOptions none;
    rdbLoadResult r = rdbLoadFile("no/such/file", &none);
    CHECK_EQ_INT(r.end, RDB_LOAD_NO_FILE);
}

/* slot_dicts_test.c -- a dict of keys for each cluster slot: counts, cursors, random keys, what is freed when.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_dicts.h"

#include "bio.h"
#include "db_internal.h"
#include "db_walk.h"
#include "lazyfree.h"
#include "store_support.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void begin(void) {
    with_slots = true;
    storeReset();
}

static void end(void) {
    with_slots = false;
    storeReset();
}

static void add(serverDb *db, const char *prefix, long i) {
    dbAddTake(db, stringEntry(keyN(prefix, i), i, 0), keyN(prefix, i));
}

/* Keys without a tag are spread over the slots; those with one are in its slot. */
TEST(slot_dicts_have_the_keys_of_their_slot) {
    begin();
    serverDb *db = dbGet(0);
    int foo = keyHashSlot("foo", 3);
    CHECK_EQ_INT(slotDictsGetFigures(db->slots).dicts, 0);
    CHECK_EQ_INT(dictSize(dbDict(db, keyOf("foo").hash)), 0);
    for (long i = 0; i < 1000; i++) add(db, i % 2 ? "{foo}" : "k", i);
    CHECK_EQ_INT(dbSize(db), 1000);
    CHECK(slotDictsSizeOf(db->slots, foo) >= 500 && slotDictsSizeOf(db->slots, foo) < 510);
    CHECK(dbDict(db, keyOf("foo").hash) == dbDict(db, keyN("{foo}", 1).hash));
    CHECK(dbDict(db, keyOf("foo").hash) != dbDict(db, keyOf("bar").hash));
    CHECK(dbFindByHash(db, keyN("k", 8).hash) == lookupKeyRead(db, keyN("k", 8)));
    CHECK(!lookupKeyRead(db, keyOf("bar")));
    for (long i = 1; i < 1000; i += 2) CHECK(dbDelete(db, keyN("{foo}", i)));
    CHECK_EQ_INT(dbSize(db), 500);
    dbCheck(db);
    end();
}

/* A dict that has become empty is freed at a tick, and not by the command that removed its last key. */
TEST(slot_dicts_are_freed_at_a_tick) {
    begin();
    serverDb *db = dbGet(0);
    add(db, "first", 0);
    dbDelete(db, keyN("first", 0));
    dbResizeTick();
    size_t before = zmallocUsed();
    for (long i = 0; i < 500; i++) add(db, "k", i);
    CHECK(dbGetFigures(db).keys_bytes > 500 * sizeof(void *));
    for (long i = 0; i < 500; i++) dbDelete(db, keyN("k", i));
    CHECK(slotDictsGetFigures(db->slots).dicts > 400);
    dbCheck(db);
    dbResizeTick();
    CHECK_EQ_INT(slotDictsGetFigures(db->slots).dicts, 0);
    CHECK_EQ_INT(zmallocUsed(), before);
    add(db, "k", 1); /* a slot is used again */
    CHECK(lookupKeyRead(db, keyN("k", 1)) != NULL);
    dbCheck(db);
    end();
}

static size_t pagesPresent(serverDb *db) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)HASH_SLOTS << SLOT_DICTS_SHIFT, present = 0;
    unsigned char in_memory[512] = {0};
    CHECK(bytes / page <= sizeof(in_memory));
    CHECK_EQ_INT(mincore(slotDictsAt(db->slots, 0), bytes, (void *)in_memory), 0);
    for (size_t i = 0; i < bytes / page; i++) present += in_memory[i] & 1;
    return present;
}

/* Dicts lie in one array, in which they are found by the hash alone. Its pages come with the first key of a slot and go
 * with the last key of their neighbourhood. */
TEST(slot_dicts_lie_in_one_array) {
    begin();
    serverDb *db = dbGet(0);
    CHECK(db->keys == slotDictsAt(db->slots, 0) && (uintptr_t)db->keys % CACHE_LINE == 0);
    for (int slot = 0; slot < HASH_SLOTS; slot += 77) {
        dict *d = slotDictsOf(db->keys, db->slots_mask, (uint64_t)slot << HASH_SLOT_SHIFT | 0xff80003fffffffff);
        CHECK((char *)d - (char *)db->keys == slot * 128 && d == slotDictsAt(db->slots, slot));
    }
    CHECK(dbDict(db, keyOf("foo").hash) == slotDictsAt(db->slots, keyHashSlot("foo", 3)));
    bool has_pages = strncmp(zmallocLibrary(), "jemalloc", 8) == 0;
    if (has_pages) CHECK_EQ_INT(pagesPresent(db), 0);
    add(db, "{foo}", 1);
    add(db, "{bar}", 1);
    if (has_pages) CHECK(pagesPresent(db) >= 2 && pagesPresent(db) <= 2 * ZMALLOC_PAGES / 4096);
    for (long i = 0; i < 2000; i++) add(db, "k", i);
    for (long i = 0; i < 2000; i++) dbDelete(db, keyN("k", i));
    dbDelete(db, keyOf("{bar}1"));
    for (int i = 0; i < 3; i++) dbResizeTick();
    if (has_pages) CHECK(pagesPresent(db) >= 1 && pagesPresent(db) <= ZMALLOC_PAGES / 4096);
    CHECK(lookupKeyRead(db, keyOf("{foo}1")) && dbSize(db) == 1);
    dbCheck(db);
    CHECK_EQ_INT(dbEmpty(0, false), 1);
    if (has_pages) CHECK_EQ_INT(pagesPresent(db), 0);
    end();
}

/* Small tables grow in the calls that add, and the ticks end what they have begun. */
TEST(slot_dicts_rehash_at_ticks) {
    begin();
    serverDb *db = dbGet(0);
    for (long i = 0; i < 50000; i++) add(db, i % 2 ? "{a}" : "{b}", i);
    for (long i = 0; i < 5000; i++) add(db, "k", i);
    for (int i = 0; i < 1000 && dbGetFigures(db).rehashing; i++) dbResizeTick();
    CHECK_EQ_INT(dbGetFigures(db).rehashing, 0);
    CHECK_EQ_INT(dbGetFigures(db).rehashing_bytes, 0);
    for (long i = 0; i < 49900; i++) dbDelete(db, keyN(i % 2 ? "{a}" : "{b}", i));
    for (int i = 0; i < 1000; i++) dbResizeTick();
    CHECK(dictSlots(dbDict(db, keyOf("a").hash)) < 7 * 64);
    dbCheck(db);
    end();
}

TEST(slot_dicts_expand_as_a_file_announces) {
    begin();
    serverDb *db = dbGet(0);
    int slot = keyHashSlot("foo", 3);
    CHECK(dbExpand(db, 1000000) && dbExpandSlot(db, slot, 0));
    CHECK_EQ_INT(slotDictsGetFigures(db->slots).dicts, 0);
    CHECK(dbExpandSlot(db, slot, 5000));
    size_t bytes = dbGetFigures(db).tables_bytes;
    for (long i = 0; i < 5000; i++) add(db, "{foo}", i);
    CHECK_EQ_INT(dbGetFigures(db).tables_bytes - bytes, dictMemTables(dbDict(db, keyOf("foo").hash)) - bytes);
    CHECK_EQ_INT(dbGetFigures(db).rehashing, 0);
    end();
    CHECK(dbExpandSlot(dbGet(0), slot, 5000)); /* no effect without slots */
    CHECK_EQ_INT(dbGetFigures(dbGet(0)).tables_bytes, 0);
}

/* ---- Random keys ---- */

/* Each key has the same chance, whether its slot has one key or a hundred. */
TEST(slot_dicts_draw_keys_evenly) {
    enum { TAGGED = 100, ALONE = 100, DRAWS = 20000 };
    begin();
    serverDb *db = dbGet(0);
    for (long i = 0; i < TAGGED; i++) add(db, "{t}", i);
    for (long i = 0; i < ALONE; i++) add(db, "a", i);
    int tagged = 0, counts[ALONE] = {0};
    for (int i = 0; i < DRAWS; i++) {
        slice name = objectKey(dbRandomKey(db));
        if (name.ptr[0] == '{') tagged++;
        else counts[atol(name.ptr + 1)]++;
    }
    CHECK(tagged > DRAWS / 2 - 700 && tagged < DRAWS / 2 + 700); /* ten standard deviations */
    for (int i = 0; i < ALONE; i++)
        if (!CHECK(counts[i] > 20 && counts[i] < 220)) break;
    end();
}

/* ---- Cursors ---- */

enum { STAYING = 3000, CHURNING = 3000 };
static uint8_t met[STAYING];

static void meet(void *arg, void **ref) {
    unused(arg);
    slice name = objectKey(*ref);
    const char *number = memchr(name.ptr, '_', name.len);
    char text[16] = {0};
    if (number) memcpy(text, number + 1, (size_t)(name.ptr + name.len - number - 1));
    if (number) met[atol(text)] = 1;
}

/* Half of the keys are in one slot, whose dict grows and shrinks; the others come and go in dicts of their own. */
static const char *staying(long i) { return i % 2 ? "{s}_" : "s_"; }
static const char *churning(long i) { return i % 2 ? "{s}c" : "c"; }

TEST(slot_dicts_scan_meets_what_stays) {
    begin();
    uint64_t state = unitRandomSeed();
    serverDb *db = dbGet(1);
    for (long i = 0; i < STAYING; i++) add(db, staying(i), i);
    for (int round = 0; round < 10; round++) {
        memset(met, 0, sizeof(met));
        uint64_t cursor = 0;
        long calls = 0;
        do {
            cursor = dbScan(db, cursor, meet, NULL);
            if (calls % 3 == 0) dbResizeTick();
            /* Waves: mostly added, then mostly removed, so that tables are resized in the middle of a walk. */
            bool adds = calls / 500 % 2 == (long)(round % 2);
            for (int k = 0; k < 8; k++) {
                long i = (long)(unitRandom(&state) % CHURNING);
                bool there = dbExists(db, keyN(churning(i), i));
                if (there && !adds) dbDelete(db, keyN(churning(i), i));
                if (!there && adds) add(db, churning(i), i);
            }
        } while (cursor && ++calls < 100000);
        CHECK_EQ_INT(cursor, 0);
        long missing = 0;
        for (long i = 0; i < STAYING; i++) missing += !met[i];
        if (!CHECK_EQ_INT(missing, 0)) break;
        dbCheck(db);
    }
    CHECK_EQ_INT(dbScan(db, 12345, meet, NULL) < HASH_SLOTS, true); /* any number is a cursor */
    CHECK_EQ_INT(dbScan(dbGet(2), 5, meet, NULL), 0);
    end();
}

static size_t scanRange(serverDb *db, int first, int last, uint64_t cursor) {
    size_t calls = 0;
    memset(met, 0, sizeof(met));
    do cursor = dbScanSlots(db, first, last, cursor, meet, NULL);
    while (cursor && ++calls < 1000);
    CHECK_EQ_INT(cursor, 0);
    size_t total = 0;
    for (size_t i = 0; i < array_len(met); i++) total += met[i];
    return total;
}

TEST(slot_dicts_are_walked_in_part) {
    begin();
    serverDb *db = dbGet(1);
    int foo = keyHashSlot("foo", 3), bar = keyHashSlot("bar", 3);
    CHECK(bar < foo);
    for (long i = 0; i < 100; i++) add(db, i < 70 ? "{foo}_" : "{bar}_", i);
    CHECK_EQ_INT(scanRange(db, 0, HASH_SLOTS - 1, 0), 100);
    CHECK_EQ_INT(scanRange(db, foo, foo, 0), 70);
    CHECK(met[0] && met[69] && !met[70]);
    CHECK_EQ_INT(scanRange(db, bar, foo, 0), 100);
    CHECK_EQ_INT(scanRange(db, bar, foo - 1, 0), 30);
    CHECK_EQ_INT(scanRange(db, bar + 1, foo, 0), 70);
    CHECK_EQ_INT(scanRange(db, bar + 1, foo - 1, 0), 0);
    /* From a cursor in the range, in another slot's dict before it, after it. */
    CHECK_EQ_INT(scanRange(db, bar, foo, (uint64_t)bar + 1), 70);
    CHECK_EQ_INT(scanRange(db, foo, foo, 1ull << 14 | (uint64_t)bar), 70);
    CHECK_EQ_INT(scanRange(db, bar, bar, (uint64_t)foo), 0);
    int walked[2] = {0};
    for (int i = 0; i < 2; i++) {
        dbIterator it;
        dbIterBeginSlot(&it, db, i ? foo : bar, false);
        for (const robj *o; (o = dbIterNext(&it));) walked[i] += objectKey(o).ptr[1] == (i ? 'f' : 'b');
        dbIterEnd(&it);
        dbIterBeginSlot(&it, db, i ? foo + 1 : bar + 1, false);
        CHECK(dbIterNext(&it) == NULL);
        dbIterEnd(&it);
    }
    CHECK(walked[0] == 30 && walked[1] == 70);
    end();
}

/* ---- Whole databases ---- */

TEST(slot_dicts_are_flushed_swapped_and_counted) {
    begin();
    bioDrain(BIO_LAZY_FREE);
    size_t before = zmallocUsed();
    for (int async = 0; async < 2; async++) {
        for (long i = 0; i < 3000; i++) add(dbGet(0), "k", i);
        CHECK(dbSwap(0, 3));
        CHECK_EQ_INT(dbSize(dbGet(3)), 3000);
        CHECK_EQ_INT(dbEmpty(3, async), 3000);
        CHECK_EQ_INT(dbSize(dbGet(3)), 0);
        bioDrain(BIO_LAZY_FREE);
        CHECK_EQ_INT(lazyfreeDone(), async ? 3000 : 0);
        CHECK_EQ_INT(zmallocUsed(), before);
    }
    char text[256];
    for (long i = 0; i < 300; i++) add(dbGet(0), "{x}", i);
    CHECK(dbTableStats(dbGet(0), false, text, sizeof(text), false) > 0);
    CHECK(strstr(text, "of 1 slots") && strstr(text, "number of entries: 300"));
    CHECK_EQ_INT(dbTableStats(dbGet(0), false, text, 10, true), 9);
    end();
}

/* value_string_test.c -- the encodings of strings, and when they change.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "object.h"
#include "unit.h"
#include "zmalloc.h"
#include <limits.h>

static char bytes[300000];

static const char *encodingOf(size_t key_len, size_t value_len, bool with_expire) {
    memset(bytes, 'x', sizeof(bytes));
    robj *o = objectCreateString(sliceOf(bytes, key_len), sliceOf(bytes, value_len), with_expire, 0);
    const char *name = objectEncodingName(o);
    decrRefCount(o);
    return name;
}

/* The limits that the reference server's OBJECT ENCODING shows. */
TEST(string_is_embedded_up_to_the_field_limits) {
    static const struct {
        size_t key_len, plain, with_expire;
    } limits[] = {{1, 112, 104}, {31, 82, 74}, {32, 79, 71}, {100, 11, 3}};
    for (size_t i = 0; i < array_len(limits); i++) {
        CHECK_EQ_STR(encodingOf(limits[i].key_len, limits[i].plain, false), "embstr");
        CHECK_EQ_STR(encodingOf(limits[i].key_len, limits[i].plain + 1, false), "raw");
        CHECK_EQ_STR(encodingOf(limits[i].key_len, limits[i].with_expire, true), "embstr");
        CHECK_EQ_STR(encodingOf(limits[i].key_len, limits[i].with_expire + 1, true), "raw");
    }
    CHECK_EQ_STR(encodingOf(127, 0, false), "raw");
    CHECK_EQ_STR(encodingOf(300, 1, false), "raw");
}

TEST(string_is_an_integer_when_canonical) {
    static const struct {
        const char *text, *encoding;
    } cases[] = {{"0", "int"},
                 {"-1", "int"},
                 {"9223372036854775807", "int"},
                 {"-9223372036854775808", "int"},
                 {"", "embstr"},
                 {"-0", "embstr"},
                 {"9223372036854775808", "embstr"},
                 {"007", "embstr"},
                 {"+1", "embstr"},
                 {" 1", "embstr"},
                 {"1.0", "embstr"}};
    for (size_t i = 0; i < array_len(cases); i++) {
        robj *o = objectCreateString(sliceStr("k"), sliceStr(cases[i].text), false, 0);
        CHECK_EQ_STR(objectEncodingName(o), cases[i].encoding);
        char digits[LONG_STR_SIZE];
        CHECK(sliceEq(objectString(o, digits), sliceStr(cases[i].text)));
        decrRefCount(o);
        o = objectCreateTextString(sliceStr("k"), sliceStr(cases[i].text), false, 0);
        CHECK_EQ_STR(objectEncodingName(o), "embstr");
        decrRefCount(o);
        o = objectCreateRawString(sliceStr("k"), sliceStr(cases[i].text), 0);
        CHECK_EQ_STR(objectEncodingName(o), "raw");
        decrRefCount(o);
    }
}

TEST(string_numbers_are_read_from_any_encoding) {
    long long n;
    long double d;
    robj *o = objectCreateRawString(sliceStr("k"), sliceStr("17"), 0);
    CHECK(objectGetLongLong(o, &n) && n == 17);
    CHECK(objectGetLongDouble(o, &d) && d == 17);
    decrRefCount(o);
    o = objectCreateString(sliceStr("k"), sliceStr("-3"), false, 0);
    CHECK(objectGetLongLong(o, &n) && n == -3);
    CHECK(objectGetLongDouble(o, &d) && d == -3);
    decrRefCount(o);
    o = objectCreateString(sliceStr("k"), sliceStr("2.5"), false, 0);
    CHECK(!objectGetLongLong(o, &n));
    CHECK(objectGetLongDouble(o, &d) && d == 2.5);
    decrRefCount(o);
    o = objectCreateString(sliceStr("k"), sliceStr("x"), false, 0);
    CHECK(!objectGetLongDouble(o, &d));
    decrRefCount(o);
}

TEST(string_fills_its_size_classes) {
    if (zmallocGoodSize(33) == 48) { /* only under an allocator with these classes */
        const char *key = "0123456789abcdef";
        robj *o = objectCreateString(sliceStr(key), sliceOf(bytes, 512), false, 0);
        CHECK_EQ_INT(zmallocSize(o), 48);
        CHECK_EQ_INT(objectMemUsage(o, 0), 48 + 512);
        decrRefCount(o);
        o = objectCreateString(sliceStr(key), sliceStr("fedcba987654321x"), false, 0);
        CHECK_EQ_INT(objectMemUsage(o, 0), 48);
        decrRefCount(o);
    }
}

TEST(string_expire_can_push_a_value_out_of_its_entry) {
    memset(bytes, 'x', sizeof(bytes));
    robj *o = objectCreateString(sliceStr("k"), sliceOf(bytes, 110), false, 0);
    CHECK_EQ_STR(objectEncodingName(o), "embstr");
    o = objectSetExpireTake(o, 1000);
    CHECK_EQ_STR(objectEncodingName(o), "raw");
    o = objectSetExpireTake(o, -1);
    CHECK_EQ_STR(objectEncodingName(o), "raw");
    CHECK_EQ_INT(objectExpire(o), -1);
    decrRefCount(o);
    o = objectCreateString(sliceStr("k"), sliceOf(bytes, 104), false, 0);
    o = objectSetExpireTake(o, 1000);
    CHECK_EQ_STR(objectEncodingName(o), "embstr");
    CHECK_EQ_INT(objectExpire(o), 1000);
    decrRefCount(o);
}

TEST(string_grows_greedily_and_in_place) {
    robj *o = objectCreateRawString(sliceStr("k"), sliceOf(bytes, 1000), 0);
    robj *same = objectMakeWritableTake(o, 1100);
    CHECK(same == o);
    size_t room = zmallocSize(objectWritableBytes(o));
    CHECK(room >= 2200);
    char *block = objectWritableBytes(o);
    objectSetStringLen(o, 1100);
    CHECK_EQ_INT(objectWritableNeeds(o, room), 0);
    CHECK(objectMakeWritableTake(o, room) == o);
    CHECK(objectWritableBytes(o) == block);
    CHECK_EQ_INT(objectWritableNeeds(o, room + 1), (room + 1) * 2);
    incrRefCount(o);
    CHECK(objectWritableNeeds(o, 1100) > 1100); /* a new object, as the bytes are shared */
    objectDropBorrowed(o);
    o = objectMakeWritableTake(o, 2 * 1024 * 1024);
    room = zmallocSize(objectWritableBytes(o));
    CHECK(room >= 3 * 1024 * 1024 && room < 4 * 1024 * 1024);
    decrRefCount(o);
}

TEST(string_integer_is_kept_in_place) {
    robj *o = objectCreateInteger(sliceStr("n"), 5, true, 0);
    CHECK(objectSetIntegerTake(o, 6) == o);
    CHECK_EQ_INT(objectInteger(o), 6);
    CHECK(objectSetExpireTake(o, 1000) == o);
    robj *text = objectMakeWritableTake(o, 2);
    CHECK(text == o);
    CHECK_EQ_STR(objectEncodingName(o), "raw");
    CHECK(objectSetIntegerTake(o, 7) == o);
    CHECK_EQ_STR(objectEncodingName(o), "int");
    incrRefCount(o);
    robj *other = objectSetIntegerTake(o, 8);
    CHECK(other != o && o->refcount == 1);
    CHECK_EQ_INT(objectInteger(o), 7);
    CHECK_EQ_INT(objectExpire(other), 1000);
    decrRefCount(o);
    decrRefCount(other);
}

/* A counter without an expire has no space for one, and gets it when needed. */
TEST(string_integer_has_an_expire_slot_when_it_needs_one) {
    size_t used = zmallocUsed();
    robj *o = objectCreateString(sliceStr("counter1"), sliceStr("5"), false, 0);
    void *small = zmalloc(32);
    CHECK_EQ_INT(objectMemUsage(o, 5), zmallocSize(small));
    zfree(small);
    CHECK(objectSetIntegerTake(o, 6) == o);
    CHECK(objectSetExpireTake(o, -1) == o);
    o->lru = 77;
    o = objectSetExpireTake(o, 1000);
    CHECK_EQ_INT(objectExpire(o), 1000);
    CHECK_EQ_INT(objectInteger(o), 6);
    CHECK_EQ_INT(o->lru, 77);
    CHECK(sliceIs(objectKey(o), "counter1"));
    robj *renamed = objectRenameTake(objectCreateInteger(sliceStr("a"), LLONG_MIN, false, 0), sliceStr("bb"));
    CHECK_EQ_INT(objectInteger(renamed), LLONG_MIN);
    CHECK_EQ_INT(objectExpire(renamed), -1);
    renamed = objectSetExpireTake(renamed, 5);
    CHECK_EQ_INT(objectExpire(renamed), 5);
    robj *text = objectMakeWritableTake(objectCreateInteger(sliceStr("c"), 12, false, 0), 3);
    objectWritableBytes(text)[2] = '3';
    objectSetStringLen(text, 3);
    CHECK(objectSetExpireTake(text, 9) == text); /* a text always has the space */
    CHECK(sliceIs(objectString(text, NULL), "123"));
    decrRefCount(o);
    decrRefCount(renamed);
    decrRefCount(text);
    CHECK_EQ_INT(zmallocUsed(), used);
}

TEST(string_is_one_allocation_to_free) {
    robj *o = objectCreateRawString(sliceStr("k"), sliceOf(bytes, 65536), 0);
    CHECK_EQ_INT(objectFreeEffort(o), 1);
    decrRefCount(o);
}

TEST(string_takes_a_block_of_its_length) {
    char *block = zmalloc(50000);
    memset(block, 'b', 50000);
    robj *o = objectCreateFromExactTake(sliceStr("k"), block, 50000, 3);
    CHECK(objectRawString(o).ptr == block && objectStringLen(o) == 50000);
    CHECK(o->block_exact && o->has_expire_slot && o->owner == 3);
    o = objectMakeWritableTake(o, 50001);
    CHECK(!o->block_exact); /* its length may have changed */
    decrRefCount(o);

    block = zmalloc(50000);
    slice key = sliceOf(zcalloc(1, 2 << 20), 2 << 20);
    zmallocFailAfter(1);
    CHECK(objectTryCreateFromExactTake(key, block, 50000, 0) == NULL);
    zmallocFailAfter(0);
    o = objectTryCreateFromExactTake(key, block, 50000, 0);
    CHECK(objectRawString(o).ptr == block && objectKey(o).len == key.len);
    decrRefCount(o);
    zfree((void *)(uintptr_t)key.ptr);
}

/* rdb_value_test.c -- recognizing empty values in a file.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_value.h"
#include "unit.h"

#define EMPTY_LISTPACK "\x07\x07\0\0\0\0\0\xff"
#define EMPTY_ZIPLIST "\x0b\x0b\0\0\0\x0a\0\0\0\0\0\xff"

#define IS_EMPTY(type, bytes) isEmpty(type, bytes, sizeof(bytes) - 1)
static bool isEmpty(unsigned type, const char *bytes, size_t len) {
    return rdbValueIsEmpty((rdbReader){bytes, bytes + len}, type);
}

TEST(rdb_value_is_empty_where_nothing_is_counted) {
    static const unsigned types[] = {RDB_TYPE_LIST,   RDB_TYPE_SET,    RDB_TYPE_ZSET,         RDB_TYPE_HASH,
                                     RDB_TYPE_ZSET_2, RDB_TYPE_HASH_2, RDB_TYPE_REDIS_HASH_RC};
    for (size_t i = 0; i < array_len(types); i++) {
        CHECK(IS_EMPTY(types[i], "\0"));
        CHECK(!IS_EMPTY(types[i], "\x01\x01x"));
        CHECK(!IS_EMPTY(types[i], ""));
    }
    CHECK(!IS_EMPTY(RDB_TYPE_STRING, "\0")); /* an empty string is a valid value */
    CHECK(IS_EMPTY(RDB_TYPE_REDIS_HASH, "12345678\0") && !IS_EMPTY(RDB_TYPE_REDIS_HASH, "12345678\x01"));
    CHECK(!IS_EMPTY(RDB_TYPE_REDIS_HASH, "1234567") && !IS_EMPTY(RDB_TYPE_REDIS_HASH, "12345678"));
    CHECK(IS_EMPTY(RDB_TYPE_REDIS_HASH_LISTPACK, "12345678" EMPTY_LISTPACK));
    CHECK(!IS_EMPTY(RDB_TYPE_REDIS_HASH_LISTPACK, EMPTY_LISTPACK));
}

/* A malformed value must not count as empty, as it would be skipped silently. */
TEST(rdb_value_is_empty_where_a_whole_block_has_no_element) {
    static const unsigned listpacks[] = {RDB_TYPE_HASH_LISTPACK, RDB_TYPE_ZSET_LISTPACK, RDB_TYPE_SET_LISTPACK,
                                         RDB_TYPE_REDIS_HASH_LISTPACK_RC};
    static const unsigned ziplists[] = {RDB_TYPE_LIST_ZIPLIST, RDB_TYPE_ZSET_ZIPLIST, RDB_TYPE_HASH_ZIPLIST};
    for (size_t i = 0; i < array_len(listpacks); i++) {
        CHECK(IS_EMPTY(listpacks[i], EMPTY_LISTPACK));
        CHECK(!IS_EMPTY(listpacks[i], "\x09\x09\0\0\0\x01\0\x05\x01\xff"));
        CHECK(!IS_EMPTY(listpacks[i], "\x08\x08\0\0\0\0\0\xff\xff")); /* bytes after its end */
        CHECK(!IS_EMPTY(listpacks[i], "\x07\x07\0\0\0"));
    }
    for (size_t i = 0; i < array_len(ziplists); i++) {
        CHECK(IS_EMPTY(ziplists[i], EMPTY_ZIPLIST));
        CHECK(!IS_EMPTY(ziplists[i], EMPTY_LISTPACK));
    }
}

TEST(rdb_value_is_empty_where_all_nodes_of_a_list_are) {
    CHECK(IS_EMPTY(RDB_TYPE_LIST_QUICKLIST, "\x01" EMPTY_ZIPLIST));
    CHECK(IS_EMPTY(RDB_TYPE_LIST_QUICKLIST_2, "\x02\x02" EMPTY_LISTPACK "\x02" EMPTY_LISTPACK));
    CHECK(!IS_EMPTY(RDB_TYPE_LIST_QUICKLIST_2, "\x02\x02" EMPTY_LISTPACK));
    CHECK(!IS_EMPTY(RDB_TYPE_LIST_QUICKLIST_2, "\x01\x01\x01x")); /* an element in a node of its own */
    CHECK(!IS_EMPTY(RDB_TYPE_LIST_QUICKLIST_2, "\x02\x02" EMPTY_LISTPACK "\x02\x09\x09\0\0\0\x01\0\x05\x01\xff"));
}

/* Redis and Valkey have given the same bytes to different types: the version decides. */
TEST(rdb_value_types_depend_on_the_version) {
    for (unsigned byte = 0; byte < 256; byte++) {
        bool shared = byte < RDB_TYPE_HASH_2;
        bool of_redis = byte > RDB_TYPE_HASH_2 && byte <= RDB_TYPE_REDIS_STREAM;
        bool here = byte <= RDB_TYPE_HASH_2 || byte == RDB_TYPE_REDIS_STREAM;
        CHECK(rdbTypeOfByte(RDB_VERSION, byte) == (here ? byte : RDB_TYPES));
        CHECK(rdbTypeOfByte(RDB_VERSION + 1, byte) == (here ? byte : RDB_TYPES));
        CHECK(rdbTypeOfByte(RDB_VERSION_OLD, byte) == (byte <= RDB_TYPE_HASH_2 ? byte : RDB_TYPES));
        if (byte == RDB_TYPE_HASH_2) continue;
        CHECK(rdbTypeOfByte(12, byte) == (shared || of_redis ? byte : RDB_TYPES));
        CHECK(rdbTypeOfByte(79, byte) == (shared || of_redis ? byte : RDB_TYPES));
    }
    CHECK(rdbTypeOfByte(13, RDB_TYPE_HASH_2) == RDB_TYPE_REDIS_HASH_RC);
}

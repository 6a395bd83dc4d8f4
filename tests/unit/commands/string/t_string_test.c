/* t_string_test.c -- handlers of string commands: replies, events, dirty counts, expires, entries built ahead.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "string_fixture.h"
#include "engine_settings.h"

static void fresh(void) {
    fixtureSetUp();
    dbEmpty(-1, false);
}

static int64_t expireOf(const char *key) {
    robj *o = lookupKeyReadWithFlags(dbGet(0), hashedKeyOf(sliceStr(key)), LOOKUP_NOSTATS | LOOKUP_NOTOUCH);
    return o ? objectExpire(o) : -2;
}

static const char *encodingOf(const char *key) {
    return objectEncodingName(lookupKeyReadWithFlags(dbGet(0), hashedKeyOf(sliceStr(key)), LOOKUP_NOSTATS));
}

#define SYNTAX "-ERR syntax error\r\n"
#define BAD_DIGEST "-ERR must be exactly 16 hexadecimal characters\r\n"
#define NOT_INTEGER "-ERR value is not an integer or out of range\r\n"
#define BAD_EXPIRE "-ERR invalid expire time in 'name' command\r\n"

TEST(set_and_get) {
    fresh();
    long long dirty = store_stats.dirty;
    CHECK_RUN(setCommand, "set k v", "+OK\r\n");
    CHECK_EVENTS("set:k ");
    CHECK_EQ_INT(store_stats.dirty - dirty, 1);
    CHECK_RUN(getCommand, "get k", "$1\r\nv\r\n");
    CHECK_RUN(getCommand, "get none", "$-1\r\n");
    CHECK_RUN(setCommand, "set k w EX 100", "+OK\r\n");
    CHECK_EVENTS("set:k expire:k ");
    CHECK_EQ_INT(expireOf("k"), storeNowMs() + 100000);
    CHECK_RUN(setCommand, "set k x KEEPTTL", "+OK\r\n");
    CHECK(expireOf("k") > 0);
    CHECK_RUN(setCommand, "set k y", "+OK\r\n");
    CHECK_EQ_INT(expireOf("k"), -1);
}

TEST(set_takes_the_entry_that_was_built_ahead) {
    fresh();
    sds big = sdsGrowZero(sdsEmpty(), 512);
    memset(big, 'v', 512);
    for (int options = 0; options < 2; options++) {
        sds line = sdsCatPrintf(sdsEmpty(), "set key %s%s", big, options ? " PX 100000" : "");
        sds got = fixtureRun(setCommand, line, 2);
        CHECK_EQ_STR(got, "+OK\r\n");
        sdsFree(got);
        sdsFree(line);
        got = fixtureRun(getCommand, "get key", 0);
        CHECK_EQ_INT(sdsLen(got), 520);
        CHECK_EQ_INT(expireOf("key") > 0, options);
        sdsFree(got);
    }
    sds got = fixtureRun(setCommand, "set key other NX", 2); /* not stored: the fixture frees it */
    CHECK_EQ_STR(got, "$-1\r\n");
    sdsFree(got);
    sdsFree(big);
}

TEST(set_conditions) {
    fresh();
    CHECK_RUN(setCommand, "set k v XX", "$-1\r\n");
    CHECK_RUN(setCommand, "set k v NX", "+OK\r\n");
    CHECK_RUN(setCommand, "set k w NX GET", "$1\r\nv\r\n");
    CHECK_EVENTS("");
    CHECK_RUN(setCommand, "set k w IFEQ v GET", "$1\r\nv\r\n");
    CHECK_RUN(setCommand, "set k x IFEQ v", "$-1\r\n");
    CHECK_RUN(setCommand, "set none x IFEQ v", "$-1\r\n");
    CHECK_RUN(getCommand, "get k", "$1\r\nw\r\n");
}

TEST(set_compares_values_and_digests) {
    fresh();
    CHECK_RUN(setCommand, "set k v IFEQ v", "$-1\r\n");
    CHECK_RUN(setCommand, "set k v IFDEQ f7042be43fb80714", "$-1\r\n");
    CHECK_RUN(setCommand, "set k v IFNE v", "+OK\r\n");
    CHECK_RUN(setCommand, "set other v IFDNE short", "+OK\r\n");
    CHECK_RUN(digestCommand, "digest k", "$16\r\nf7042be43fb80714\r\n");
    CHECK_RUN(setCommand, "set k w IFNE v", "$-1\r\n");
    CHECK_RUN(setCommand, "set k w IFDNE F7042BE43FB80714 GET", "$1\r\nv\r\n");
    CHECK_RUN(setCommand, "set k w IFDEQ f7042be43fb8071 GET", BAD_DIGEST);
    CHECK_RUN(setCommand, "set k w IFDEQ F7042be43fb80714", "+OK\r\n");
    CHECK_RUN(setCommand, "set k x IFDEQ zzzzzzzzzzzzzzzz", "$-1\r\n");
    CHECK_RUN(setCommand, "set k x IFDNE zzzzzzzzzzzzzzzz GET", "$1\r\nw\r\n");
    CHECK_RUN(getCommand, "get k", "$1\r\nx\r\n");
}

TEST(set_options_that_clash) {
    fresh();
    const char *bad[] = {"set k v NX XX",         "set k v XX NX",        "set k v IFEQ a NX",  "set k v NX IFEQ a",
                         "set k v IFEQ a IFNE a", "set k v IFDNE a NX",   "set k v XX IFDEQ a", "set k v IFNE",
                         "set k v IFEQ a IFEQ a", "set k v IFEQ",         "set k v EX",         "set k v EX 1 PX 1",
                         "set k v KEEPTTL EX 1",  "set k v EX 1 KEEPTTL", "set k v PERSIST",    "set k v word"};
    for (size_t i = 0; i < array_len(bad); i++) CHECK_RUN(setCommand, bad[i], SYNTAX);
    CHECK_RUN(setCommand, "set k v EX x", NOT_INTEGER);
    CHECK_RUN(setCommand, "set k v EX 0", BAD_EXPIRE);
    CHECK_RUN(setCommand, "set k v EX 9223372036854775", BAD_EXPIRE);
    CHECK_RUN(setCommand, "set k v PX 9223372036854775807", BAD_EXPIRE);
    CHECK_EQ_INT(expireOf("k"), -2);
    CHECK_RUN(setCommand, "set k v NX NX EX 10 EX 20 GET GET", "$-1\r\n");
    CHECK_EQ_INT(expireOf("k"), storeNowMs() + 20000);
}

TEST(a_time_that_is_over_deletes) {
    fresh();
    CHECK_RUN(setCommand, "set k v", "+OK\r\n");
    CHECK_RUN(setCommand, "set k w EXAT 1", "+OK\r\n");
    CHECK_EVENTS("expired:k ");
    CHECK_EQ_INT(expireOf("k"), -2);
    long long dirty = store_stats.dirty;
    CHECK_RUN(setCommand, "set k w PXAT 1", "+OK\r\n");
    CHECK_EVENTS("");
    CHECK_EQ_INT(store_stats.dirty, dirty);
    CHECK_RUN(setCommand, "set k v", "+OK\r\n");
    CHECK_RUN(getexCommand, "getex k PXAT 1", "$1\r\nv\r\n");
    CHECK_EVENTS("expired:k ");
}

TEST(getex_changes_the_expire) {
    fresh();
    CHECK_RUN(setCommand, "set k v", "+OK\r\n");
    CHECK_RUN(getexCommand, "getex k", "$1\r\nv\r\n");
    CHECK_EVENTS("");
    CHECK_RUN(getexCommand, "getex k PX 5000", "$1\r\nv\r\n");
    CHECK_EVENTS("expire:k ");
    CHECK_RUN(getexCommand, "getex k PERSIST", "$1\r\nv\r\n");
    CHECK_EVENTS("persist:k ");
    CHECK_RUN(getexCommand, "getex k PERSIST", "$1\r\nv\r\n");
    CHECK_EVENTS("");
    CHECK_RUN(getexCommand, "getex k PERSIST EX 1", SYNTAX);
    CHECK_RUN(getexCommand, "getex k NX", SYNTAX);
}

TEST(many_keys_at_once) {
    fresh();
    sds mset = sdsNew("mset"), mget = sdsNew("mget"), want = sdsNew("*300\r\n");
    for (int i = 0; i < 300; i++) {
        mset = sdsCatPrintf(mset, " k%d v%d", i, i);
        mget = sdsCatPrintf(mget, " k%d", i);
        sds v = sdsCatPrintf(sdsEmpty(), "v%d", i);
        want = sdsCatPrintf(want, "$%zu\r\n%s\r\n", sdsLen(v), v);
        sdsFree(v);
    }
    CHECK_RUN(msetCommand, mset, "+OK\r\n");
    CHECK_RUN(mgetCommand, mget, want);
    CHECK_RUN(msetnxCommand, "msetnx new 1 k7 2", ":0\r\n");
    CHECK_RUN(msetnxCommand, "msetnx new 1 newer 2", ":1\r\n");
    CHECK_RUN(msetCommand, "mset a 1 b", "-ERR wrong number of arguments for 'name' command\r\n");
    sdsFree(mset);
    sdsFree(mget);
    sdsFree(want);
}

TEST(msetex_has_options) {
    fresh();
    CHECK_RUN(msetexCommand, "msetex 2 a 1 b 2 NX EX 10", ":1\r\n");
    CHECK_EVENTS("set:a expire:a set:b expire:b ");
    CHECK_RUN(msetexCommand, "msetex 2 a 3 c 4 XX", ":0\r\n");
    CHECK_RUN(msetexCommand, "msetex 2 a 3 c 4 NX", ":0\r\n");
    CHECK_RUN(msetexCommand, "msetex 2 a 3 b 4 XX KEEPTTL", ":1\r\n");
    CHECK(expireOf("a") > 0);
    CHECK_RUN(msetexCommand, "msetex 0 a 1", "-ERR invalid numkeys value or out of range\r\n");
    CHECK_RUN(msetexCommand, "msetex 2 a 1", SYNTAX);
    CHECK_RUN(msetexCommand, "msetex 1 a 1 GET", SYNTAX);
}

TEST(append_and_setrange_change_in_place) {
    fresh();
    CHECK_RUN(appendCommand, "append n 1", ":1\r\n");
    CHECK_EQ_STR(encodingOf("n"), "int");
    CHECK_RUN(appendCommand, "append n 2x", ":3\r\n");
    CHECK_EQ_STR(encodingOf("n"), "raw");
    CHECK_RUN(getCommand, "get n", "$3\r\n12x\r\n");
    CHECK_RUN(setrangeCommand, "setrange none 3 \"\"", ":0\r\n");
    CHECK_EQ_INT(expireOf("none"), -2);
    CHECK_RUN(setrangeCommand, "setrange n 1 ab", ":3\r\n");
    CHECK_RUN(getCommand, "get n", "$3\r\n1ab\r\n");
    CHECK_RUN(setrangeCommand, "setrange n -1 a", "-ERR offset is out of range\r\n");
    long long max = string_bytes_max;
    string_bytes_max = 10;
    CHECK_RUN(setrangeCommand, "setrange n 9 ab", "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n");
    CHECK_RUN(appendCommand, "append n 12345678", "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n");
    CHECK_RUN(appendCommand, "append n 1234567", ":10\r\n");
    string_bytes_max = max;
}

TEST(a_value_in_a_reply_is_not_changed) {
    fresh();
    sds line = sdsNew("set k ");
    for (int i = 0; i < 100; i++) line = sdsCat(line, "0123456789");
    CHECK_RUN(setCommand, line, "+OK\r\n");
    slice argv[] = {sliceStr("get"), sliceStr("k")};
    fixture_client->argv = argv;
    fixture_client->argc = 2;
    getCommand(fixture_client); /* its reply stays unsent while the value changes */
    slice range[] = {sliceStr("setrange"), sliceStr("k"), sliceStr("0"), sliceStr("XXXX")};
    fixture_client->argv = range;
    fixture_client->argc = 4;
    setrangeCommand(fixture_client);
    sds got = fixtureReply();
    CHECK_MEM(got, "$1000\r\n0123", 11);
    sdsFree(got);
    CHECK_RUN(getrangeCommand, "getrange k 0 5", "$6\r\nXXXX45\r\n");
    sdsFree(line);
}

TEST(ranges_count_from_both_ends) {
    fresh();
    CHECK_RUN(setCommand, "set k hello", "+OK\r\n");
    CHECK_RUN(getrangeCommand, "getrange k 1 3", "$3\r\nell\r\n");
    CHECK_RUN(getrangeCommand, "getrange k -3 -1", "$3\r\nllo\r\n");
    CHECK_RUN(getrangeCommand, "getrange k -1 -3", "$0\r\n\r\n");
    CHECK_RUN(getrangeCommand, "getrange k 0 -100", "$1\r\nh\r\n");
    CHECK_RUN(getrangeCommand, "getrange k 5 9", "$0\r\n\r\n");
    CHECK_RUN(getrangeCommand, "getrange k -9223372036854775808 9223372036854775807", "$5\r\nhello\r\n");
    CHECK_RUN(substrCommand, "substr k 0 0", "$1\r\nh\r\n");
    CHECK_RUN(strlenCommand, "strlen k", ":5\r\n");
}

TEST(numbers_are_added) {
    fresh();
    CHECK_RUN(incrCommand, "incr n", ":1\r\n");
    CHECK_RUN(incrbyCommand, "incrby n 9223372036854775807", "-ERR increment or decrement would overflow\r\n");
    CHECK_RUN(decrbyCommand, "decrby n -9223372036854775808", "-ERR decrement would overflow\r\n");
    CHECK_RUN(decrCommand, "decr n", ":0\r\n");
    CHECK_RUN(incrbyfloatCommand, "incrbyfloat n 10.25", "$5\r\n10.25\r\n");
    CHECK_EVENTS("incrbyfloat:n ");
    CHECK_RUN(incrbyfloatCommand, "incrbyfloat n x", "-ERR value is not a valid float\r\n");
    CHECK_RUN(incrbyfloatCommand, "incrbyfloat n inf", "-ERR increment would produce NaN or Infinity\r\n");
    CHECK_RUN(incrCommand, "incr n", NOT_INTEGER);
    CHECK_RUN(setCommand, "set n 5 EX 100", "+OK\r\n");
    CHECK_RUN(incrCommand, "incr n", ":6\r\n");
    CHECK(expireOf("n") > 0);
}

TEST(delex_compares_before_it_deletes) {
    fresh();
    CHECK_RUN(delexCommand, "delex k", ":0\r\n");
    CHECK_RUN(delexCommand, "delex k IFNE v", ":0\r\n");
    CHECK_RUN(delexCommand, "delex k WORD v", ":0\r\n");
    CHECK_RUN(setCommand, "set k v", "+OK\r\n");
    CHECK_RUN(delexCommand, "delex k IFEQ w", ":0\r\n");
    CHECK_RUN(delexCommand, "delex k IFNE v", ":0\r\n");
    CHECK_RUN(delexCommand, "delex k IFDEQ 0000000000000000", ":0\r\n");
    CHECK_RUN(delexCommand, "delex k IFDNE f7042be43fb80714", ":0\r\n");
    CHECK_RUN(delexCommand, "delex k IFDNE f", BAD_DIGEST);
    CHECK_RUN(delexCommand, "delex k WORD v", "-ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE\r\n");
    CHECK_EVENTS("");
    CHECK_RUN(delexCommand, "delex k IFDEQ F7042BE43FB80714", ":1\r\n");
    CHECK_EVENTS("del:k ");
}

TEST(get_and_go) {
    fresh();
    CHECK_RUN(getsetCommand, "getset k v", "$-1\r\n");
    CHECK_RUN(getsetCommand, "getset k w", "$1\r\nv\r\n");
    CHECK_RUN(delifeqCommand, "delifeq k v", ":0\r\n");
    CHECK_RUN(delifeqCommand, "delifeq k w", ":1\r\n");
    CHECK_EVENTS("del:k ");
    CHECK_RUN(setnxCommand, "setnx k v", ":1\r\n");
    CHECK_RUN(setnxCommand, "setnx k v", ":0\r\n");
    CHECK_RUN(getdelCommand, "getdel k", "$1\r\nv\r\n");
    CHECK_EVENTS("del:k ");
    CHECK_RUN(getdelCommand, "getdel k", "$-1\r\n");
    CHECK_RUN(setexCommand, "setex k 10 v", "+OK\r\n");
    CHECK_RUN(psetexCommand, "psetex k 0 v", BAD_EXPIRE);
}

TEST(longest_common_subsequence) {
    fresh();
    CHECK_RUN(msetCommand, "mset x ohmytext y mynewtext", "+OK\r\n");
    CHECK_RUN(lcsCommand, "lcs x y", "$6\r\nmytext\r\n");
    CHECK_RUN(lcsCommand, "lcs x y LEN", ":6\r\n");
    CHECK_RUN(lcsCommand, "lcs x y IDX MINMATCHLEN 4 WITHMATCHLEN",
              "*4\r\n$7\r\nmatches\r\n*1\r\n*3\r\n*2\r\n:4\r\n:7\r\n*2\r\n:5\r\n:8\r\n:4\r\n$3\r\nlen\r\n:6\r\n");
    CHECK_RUN(lcsCommand, "lcs x none", "$0\r\n\r\n");
    CHECK_RUN(lcsCommand, "lcs x y LEN IDX", "-ERR If you want both the length and indexes, please just use IDX.\r\n");
    CHECK_RUN(lcsCommand, "lcs x y MINMATCHLEN", SYNTAX);
}

/* keys_test.c -- commands on keys, called without a server: replies, events, and parsed options.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client/client_fixture.h"
#include "clock.h"
#include "command_table.h"
#include "commands.h"
#include "db_walk.h"
#include "lru.h"
#include "scan.h"
#include "slot_table.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>

static sds told; /* events since the last check: "name key;" */

static void noteEvent(serverDb *db, int type, const char *event, slice key) {
    unused(db), unused(type);
    told = sdsCatPrintf(told, "%s %.*s;", event, (int)key.len, key.ptr);
}

static client *freshClient(void) {
    fixtureInit();
    if (!told) {
        told = sdsEmpty();
        storeObserveEvents(noteEvent);
        store_settings.notify_events = ~NOTIFY_KEY_MISS;
        storeSetNowMs(clockWallMs());
        lruClockRefresh(clockWallMs());
    }
    dbEmpty(-1, false);
    sdsClear(told);
    return fixtureClient(2);
}

/* Runs a handler on a line of words and returns the reply as text. */
static sds run(client *c, commandHandler *fn, const char *line) {
    slice argv[16];
    int argc;
    sds *words = sdsSplitArgs(line, &argc);
    for (int i = 0; i < argc; i++) argv[i] = sdsSlice(words[i]);
    c->argv = argv;
    c->argc = (uint32_t)argc;
    fn(c);
    c->argv = NULL;
    c->argc = 0;
    sdsFreeSplitRes(words, argc);
    return fixtureReplies(c);
}

#define CHECK_RUN(fn, line, want)    \
    do {                             \
        sds got_ = run(c, fn, line); \
        CHECK_EQ_STR(got_, want);    \
        sdsFree(got_);               \
    } while (0)
#define CHECK_TOLD(want)          \
    do {                          \
        CHECK_EQ_STR(told, want); \
        sdsClear(told);           \
    } while (0)

static void put(client *c, const char *key, const char *value) {
    slice name = sliceStr(key);
    setKeyTake(c->db, objectCreateString(name, sliceStr(value), false, 0), hashedKeyOf(name), false);
    sdsClear(told);
}

TEST(del_and_exists_count_keys) {
    client *c = freshClient();
    put(c, "a", "1");
    put(c, "b", "2");
    long long dirty = store_stats.dirty;
    CHECK_RUN(existsCommand, "exists a a zz", ":2\r\n");
    CHECK_RUN(touchCommand, "touch a b zz", ":2\r\n");
    CHECK_RUN(delCommand, "del a zz a", ":1\r\n");
    CHECK_TOLD("del a;");
    CHECK_RUN(unlinkCommand, "unlink b b", ":1\r\n");
    CHECK_TOLD("del b;");
    CHECK_EQ_INT(store_stats.dirty - dirty, 2);
    CHECK_EQ_INT(dbSize(c->db), 0);
    clientFree(c);
}

TEST(del_does_not_count_an_expired_key) {
    client *c = freshClient();
    put(c, "a", "1");
    CHECK_RUN(pexpireCommand, "pexpire a 1", ":1\r\n");
    storeSetNowMs(storeNowMs() + 10);
    sdsClear(told);
    CHECK_RUN(delCommand, "del a", ":0\r\n");
    CHECK_TOLD("expired a;");
    clientFree(c);
}

TEST(del_counts_an_expired_key_that_is_not_its_own_to_expire) {
    client *c = freshClient();
    put(c, "a", "1");
    CHECK_RUN(pexpireCommand, "pexpire a 1", ":1\r\n");
    storeSetNowMs(storeNowMs() + 10);
    sdsClear(told);
    storeSetFollowing((storeFollowing){.on = true});
    CHECK_RUN(existsCommand, "exists a", ":0\r\n");
    CHECK_RUN(delCommand, "del a a", ":1\r\n");
    CHECK_TOLD("del a;");
    storeSetFollowing((storeFollowing){0});
    CHECK_EQ_INT(dbSize(c->db), 0);
    clientFree(c);
}

TEST(rename_moves_value_and_expire) {
    client *c = freshClient();
    put(c, "a", "1");
    put(c, "b", "2");
    CHECK_RUN(renameCommand, "rename zz a", "-ERR no such key\r\n");
    CHECK_RUN(renameCommand, "rename a a", "+OK\r\n");
    CHECK_RUN(renamenxCommand, "renamenx a a", ":0\r\n");
    CHECK_RUN(renamenxCommand, "renamenx a b", ":0\r\n");
    CHECK_RUN(expireCommand, "expire a 100", ":1\r\n");
    sdsClear(told);
    CHECK_RUN(renameCommand, "rename a b", "+OK\r\n");
    CHECK_TOLD("new b;rename_from a;rename_to b;");
    CHECK_RUN(ttlCommand, "ttl b", ":100\r\n");
    CHECK_RUN(existsCommand, "exists a b", ":1\r\n");
    CHECK_EQ_INT(dbGetFigures(c->db).expires, 1);
    clientFree(c);
}

TEST(copy_and_move) {
    client *c = freshClient();
    put(c, "a",
        "some text that is too long to lie within the entry itself because an entry embeds no more than "
        "a hundred and some bytes");
    CHECK_RUN(copyCommand, "copy a a", "-ERR source and destination objects are the same\r\n");
    CHECK_RUN(copyCommand, "copy a b db", "-ERR syntax error\r\n");
    CHECK_RUN(copyCommand, "copy a b db 99", "-ERR DB index is out of range\r\n");
    CHECK_RUN(copyCommand, "copy a b", ":1\r\n");
    CHECK_TOLD("new b;copy_to b;");
    CHECK_RUN(copyCommand, "copy a b", ":0\r\n");
    CHECK_RUN(copyCommand, "copy a b replace db 0", ":1\r\n");
    CHECK_RUN(moveCommand, "move a 0", "-ERR source and destination objects are the same\r\n");
    sdsClear(told);
    CHECK_RUN(moveCommand, "move a 3", ":1\r\n");
    CHECK_TOLD("new a;move_from a;move_to a;");
    CHECK_RUN(moveCommand, "move a 3", ":0\r\n");
    CHECK_EQ_INT(dbSize(dbGet(3)), 1);
    clientFree(c);
}

TEST(expire_conditions) {
    client *c = freshClient();
    put(c, "a", "1");
    CHECK_RUN(expireCommand, "expire a 100 gt", ":0\r\n");
    CHECK_RUN(expireCommand, "expire a 100 xx", ":0\r\n");
    CHECK_RUN(expireCommand, "expire a 100 lt", ":1\r\n");
    CHECK_RUN(expireCommand, "expire a 100 nx", ":0\r\n");
    CHECK_RUN(expireCommand, "expire a 50 gt", ":0\r\n");
    CHECK_RUN(expireCommand, "expire a 200 gt xx", ":1\r\n");
    CHECK_RUN(expireCommand, "expire a 1 nx gt",
              "-ERR NX and XX, GT or LT options at the same time are not compatible\r\n");
    CHECK_RUN(expireCommand, "expire a x gt lt", "-ERR GT and LT options at the same time are not compatible\r\n");
    CHECK_RUN(expireCommand, "expire a x foo", "-ERR Unsupported option foo\r\n");
    CHECK_RUN(pexpireatCommand, "pexpireat a 33177117420500", ":1\r\n");
    CHECK_RUN(expiretimeCommand, "expiretime a", ":33177117421\r\n");
    CHECK_RUN(pexpiretimeCommand, "pexpiretime a", ":33177117420500\r\n");
    CHECK_RUN(persistCommand, "persist a", ":1\r\n");
    CHECK_RUN(persistCommand, "persist a", ":0\r\n");
    CHECK_RUN(ttlCommand, "ttl a", ":-1\r\n");
    sdsClear(told);
    CHECK_RUN(expireCommand, "expire a -1", ":1\r\n");
    CHECK_TOLD("expired a;");
    CHECK_RUN(pttlCommand, "pttl a", ":-2\r\n");
    clientFree(c);
}

TEST(dump_and_restore) {
    client *c = freshClient();
    put(c, "a", "hello");
    sds reply = run(c, dumpCommand, "dump a");
    static const char want[] = "$17\r\n\x00\x05helloP\x00\xac\x58\x16\xe7\xfb\x66G\xfe\r\n";
    if (CHECK_EQ_INT(sdsLen(reply), sizeof(want) - 1)) CHECK_MEM(reply, want, sizeof(want) - 1);
    sdsFree(reply);
#define PAYLOAD "\"\\x00\\x05helloP\\x00\\xac\\x58\\x16\\xe7\\xfb\\x66G\\xfe\""
    CHECK_RUN(restoreCommand, "restore a 0 " PAYLOAD, "-BUSYKEY Target key name already exists.\r\n");
    CHECK_RUN(restoreCommand, "restore b -1 " PAYLOAD, "-ERR Invalid TTL value, must be >= 0\r\n");
    CHECK_RUN(restoreCommand, "restore b 0 foo", "-ERR DUMP payload version or checksum are wrong\r\n");
    CHECK_RUN(restoreCommand, "restore b 0 " PAYLOAD " idletime 1 freq 1", "-ERR syntax error\r\n");
    CHECK_RUN(restoreCommand, "restore b 5000 " PAYLOAD, "+OK\r\n");
    CHECK_TOLD("new b;restore b;");
    CHECK_RUN(pttlCommand, "pttl b", ":5000\r\n");
    CHECK_RUN(objectEncodingCommand, "object encoding b", "$6\r\nembstr\r\n");
    CHECK_RUN(restoreCommand, "restore b 1 " PAYLOAD " absttl replace", "+OK\r\n");
    CHECK_TOLD("del b;");
    CHECK_RUN(restoreCommand, "restore b 0 " PAYLOAD " idletime 100", "+OK\r\n");
    CHECK_RUN(objectIdletimeCommand, "object idletime b", ":100\r\n");
    clientFree(c);
}

TEST(scan_sees_every_key) {
    enum { KEYS = 500 };
    client *c = freshClient();
    char name[16], line[64];
    for (int i = 0; i < KEYS; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        put(c, name, "v");
    }
    bool seen[KEYS] = {false};
    char cursor[LONG_STR_SIZE] = "0";
    int calls = 0;
    do {
        snprintf(line, sizeof(line), "scan %s count 20 match k*", cursor);
        sds reply = run(c, scanCommand, line);
        int count;
        sds *words = sdsSplitLen(reply, sdsLen(reply), "\r\n", 2, &count);
        snprintf(cursor, sizeof(cursor), "%s", words[2]);
        for (int i = 5; i < count; i += 2) seen[atoi(words[i] + 1)] = true;
        sdsFreeSplitRes(words, count);
        sdsFree(reply);
    } while (strcmp(cursor, "0") != 0 && CHECK(++calls < KEYS));
    int total = 0;
    for (int i = 0; i < KEYS; i++) total += seen[i];
    CHECK_EQ_INT(total, KEYS);
    clientFree(c);
}

TEST(scan_arguments) {
    client *c = freshClient();
    CHECK_RUN(scanCommand, "scan -1", "-ERR invalid cursor\r\n");
    CHECK_RUN(scanCommand, "scan \"1 \"", "-ERR invalid cursor\r\n");
    CHECK_RUN(scanCommand, "scan \" +01\"", "*2\r\n$1\r\n0\r\n*0\r\n");
    CHECK_RUN(scanCommand, "scan 18446744073709551616", "-ERR invalid cursor\r\n");
    CHECK_RUN(scanCommand, "scan 0 count 0", "-ERR syntax error\r\n");
    CHECK_RUN(scanCommand, "scan 0 type foo bar", "-ERR unknown type name 'foo'\r\n");
    CHECK_RUN(scanCommand, "scan 0 novalues", "-ERR NOVALUES option can only be used in HSCAN\r\n");
    CHECK_RUN(scanCommand, "scan 0 noscores", "-ERR NOSCORES option can only be used in ZSCAN\r\n");

    slice argv[] = {sliceStr("hscan"), sliceStr("k"),     sliceStr("0"), sliceStr("MATCH"),
                    sliceStr("*"),     sliceStr("COUNT"), sliceStr("7"), sliceStr("NoValues")};
    scanOptions options;
    c->argv = argv;
    c->argc = array_len(argv);
    CHECK(scanParseOptions(c, 3, SCAN_HASH, &options));
    CHECK(options.keys_only && !options.has_pattern && options.count == 7 && options.type == -1);
    CHECK_EQ_INT(scanStepsMax(&options), 70);
    options.count = SIZE_MAX;
    CHECK(scanStepsMax(&options) == SIZE_MAX);
    CHECK(!scanParseOptions(c, 3, SCAN_ZSET, &options));
    CHECK_REPLY(c, "-ERR NOVALUES option can only be used in HSCAN\r\n");
    c->argv = NULL;
    clientFree(c);
}

TEST(patterns_that_name_one_slot) {
    static const struct {
        const char *pattern, *key; /* one whose slot it is; NULL: there may be several */
    } cases[] = {
        {"{tag}*", "tag"},    {"{tag}", "tag"}, {"a{tag}b?[c]*", "tag"}, {"}{tag}*", "tag"},   {"a]^-{t-^]}*", "t-^]"},
        {"{{tag}*", "{tag"},  {"word", "word"}, {"{word", "{word"},      {"{}word", "{}word"}, {"", ""},
        {"word{}", "word{}"}, {"*{tag}", NULL}, {"?{tag}", NULL},        {"[a]{tag}", NULL},   {"\\{tag}", NULL},
        {"a\\b{tag}", NULL},  {"{tag*}", NULL}, {"{t?g}", NULL},         {"{t[a]g}", NULL},    {"{tag\\}x}", NULL},
        {"word*", NULL},      {"{word*", NULL}, {"{}*", NULL},           {"{}{tag}*", NULL},   {"*", NULL},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        slice pattern = sliceStr(cases[i].pattern);
        CHECK_EQ_INT(scanPatternSlot(pattern), -1);
        slots_enabled = true;
        int slot = scanPatternSlot(pattern);
        slots_enabled = false;
        CHECK_EQ_INT(slot, cases[i].key ? keyHashSlot(cases[i].key, strlen(cases[i].key)) : -1);
    }
}

TEST(flush_and_swap) {
    client *c = freshClient();
    put(c, "a", "1");
    long long dirty = store_stats.dirty;
    CHECK_RUN(swapdbCommand, "swapdb 0 1", "+OK\r\n");
    CHECK_RUN(dbsizeCommand, "dbsize", ":0\r\n");
    CHECK_RUN(swapdbCommand, "swapdb a b", "-ERR invalid first DB index\r\n");
    CHECK_RUN(swapdbCommand, "swapdb 0 b", "-ERR invalid second DB index\r\n");
    CHECK_RUN(swapdbCommand, "swapdb 0 99", "-ERR DB index is out of range\r\n");
    CHECK_RUN(flushdbCommand, "flushdb foo", "-ERR syntax error\r\n");
    CHECK_RUN(flushdbCommand, "flushdb", "+OK\r\n");
    CHECK_EQ_INT(store_stats.dirty - dirty, 1);
    CHECK_RUN(flushallCommand, "flushall sync", "+OK\r\n");
    CHECK_EQ_INT(store_stats.dirty - dirty, 2);
    clientFree(c);
}

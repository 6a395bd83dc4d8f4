/* reply_limit_test.c -- a command stops building a reply that reaches the client's output limit.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client/client_fixture.h"
#include "command_fixture.h"
#include "commands.h"
#include "command_table.h"
#include "output_limits.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

#define ELEMENTS 20000
/* Number of parts of a reply that may be dropped: those of the batch in which the limit is reached. */
#define UNSENT_MAX 300

static slice many[ELEMENTS * 3 + 8];
static char texts[ELEMENTS][16];

/* Runs `fn` with words, then each element with `before` ahead of it and `after` behind it. */
static void runMany(client *c, commandHandler *fn, const char *name, const char *key, const char *before,
                    const char *after) {
    uint32_t n = 0;
    many[n++] = sliceStr(name);
    if (key) many[n++] = sliceStr(key);
    for (int i = 0; i < ELEMENTS; i++) {
        if (before) many[n++] = sliceStr(before);
        many[n++] = sliceStr(texts[i]);
        if (after) many[n++] = sliceStr(after);
    }
    fixtureRunArgs(c, fn, many, n);
}

static void limit(const char *bytes) {
    char kind[] = "normal", none[] = "0", hard[16];
    char *words[] = {kind, hard, none, none};
    const char *err = NULL;
    snprintf(hard, sizeof(hard), "%s", bytes);
    CHECK(outputLimitsSet(NULL, words, array_len(words), &err));
}

static void fill(void) {
    client *c = fixtureClient(2);
    dbEmpty(-1, false);
    for (int i = 0; i < ELEMENTS; i++) snprintf(texts[i], sizeof(texts[i]), "element-%d", i);
    runMany(c, msetCommand, "mset", NULL, NULL, "1");
    runMany(c, saddCommand, "sadd", "s", NULL, NULL);
    runMany(c, rpushCommand, "rpush", "l", NULL, NULL);
    runMany(c, hsetCommand, "hset", "h", NULL, "1");
    runMany(c, zaddCommand, "zadd", "z", "1", NULL);
    sdsFree(fixtureReplies(c));
    clientFree(c);
}

static void check(client *c, const char *what, uint64_t before) {
    uint64_t unsent = client_state.unsent_replies - before;
    bool right = CHECK(c->flags & CLIENT_CLOSE_ASAP);
    if (!CHECK(unsent <= UNSENT_MAX) || !right) printf("    %s: %llu\n", what, (unsigned long long)unsent);
    clientFree(c);
}

TEST(a_long_reply_ends_at_the_output_limit) {
    static const struct {
        commandHandler *fn;
        const char *line;
    } cases[] = {
        {keysCommand, "keys *"},
        {keysCommand, "keys element-*"},
        {smembersCommand, "smembers s"},
        {sinterCommand, "sinter s s"},
        {sunionCommand, "sunion s s"},
        {sunionCommand, "sunion s"},
        {sdiffCommand, "sdiff s none"},
        {hgetallCommand, "hgetall h"},
        {hkeysCommand, "hkeys h"},
        {hvalsCommand, "hvals h"},
        {lrangeCommand, "lrange l 0 -1"},
        {zrangeCommand, "zrange z 0 -1 withscores"},
        {zrevrangeCommand, "zrevrange z 0 -1"},
        {zunionCommand, "zunion 2 z s"},
        {zinterCommand, "zinter 2 z s withscores"},
        {zdiffCommand, "zdiff 2 z none"},
        {sortCommand, "sort s by nosort"},
        {sortCommand, "sort l alpha get # get *"},
        {hrandfieldCommand, "hrandfield h -20000"},
        {srandmemberCommand, "srandmember s -20000"},
        {zrandmemberCommand, "zrandmember z -20000"},
    };
    fixtureInit();
    fixtureCommands();
    fill();
    limit("32768");
    for (size_t i = 0; i < array_len(cases); i++) {
        client *c = fixtureClient(2);
        uint64_t before = client_state.unsent_replies;
        fixtureRun(c, cases[i].fn, cases[i].line);
        check(c, cases[i].line, before);
    }
    static const struct {
        commandHandler *fn;
        const char *name, *key;
    } named[] = {{mgetCommand, "mget", NULL},
                 {hmgetCommand, "hmget", "h"},
                 {zmscoreCommand, "zmscore", "z"},
                 {geoposCommand, "geopos", "z"},
                 {geohashCommand, "geohash", "z"}};
    for (size_t i = 0; i < array_len(named); i++) {
        client *c = fixtureClient(2);
        uint64_t before = client_state.unsent_replies;
        runMany(c, named[i].fn, named[i].name, named[i].key, NULL, NULL);
        check(c, named[i].name, before);
    }
    limit("0");
    dbEmpty(-1, false);
    bioDrain(BIO_LAZY_FREE);
}

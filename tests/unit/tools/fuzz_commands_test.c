/* fuzz_commands_test.c -- random commands: excluded commands, counts of words, damage.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"
#include "unit.h"

#include <stdlib.h>

#define TEXT(text_) \
    { .type = '$', .str = (char *)(text_), .len = sizeof(text_) - 1 }
#define LIST(items_) \
    { .type = '*', .count = array_len(items_), .items = (items_) }

static replyValue multiple[] = {TEXT("multiple")};
static replyValue numkeys[] = {TEXT("name"), TEXT("numkeys"), TEXT("type"), TEXT("integer")};
static replyValue keys[] = {TEXT("name"), TEXT("key"), TEXT("type"), TEXT("key"), TEXT("flags"), LIST(multiple)};
static replyValue timeout[] = {TEXT("name"), TEXT("timeout"), TEXT("type"), TEXT("double")};
static replyValue counted[] = {LIST(numkeys), LIST(keys)};
static replyValue waiting[] = {LIST(keys), LIST(timeout)};
static replyValue sinter[] = {TEXT("group"), TEXT("set"), TEXT("arguments"), LIST(counted)};
static replyValue blpop[] = {TEXT("group"), TEXT("list"), TEXT("arguments"), LIST(waiting)};
static replyValue server[] = {TEXT("group"), TEXT("server")};
static replyValue pubsub[] = {TEXT("group"), TEXT("pubsub")};
static replyValue client_parts[] = {TEXT("client|id"), LIST(server), TEXT("client|kill"), LIST(server)};
static replyValue client[] = {TEXT("group"), TEXT("connection"), TEXT("subcommands"), LIST(client_parts)};
static replyValue commands[] = {TEXT("sintercard"), LIST(sinter), TEXT("blpop"),  LIST(blpop),
                                TEXT("shutdown"),   LIST(server), TEXT("time"),   LIST(server),
                                TEXT("subscribe"),  LIST(pubsub), TEXT("client"), LIST(client)};
static replyValue docs = LIST(commands);
static replyValue settings_list[] = {TEXT("hz"), TEXT("10"), TEXT("dir"), TEXT("/"), TEXT("requirepass"), TEXT("")};
static replyValue settings = LIST(settings_list);

TEST(fuzz_commands_are_whole) {
    fuzzCatalog *b = fuzzCatalogMake(&docs, NULL);
    rng r;
    rngSeed(&r, 1);
    CHECK_EQ_INT(fuzzCatalogCommands(b), 4);
    int seen[4] = {0};
    for (int i = 0; i < 2000; i++) {
        int count;
        sds *words = fuzzCatalogDraw(b, &r, false, &count);
        if (!strcmp(words[0], "SINTERCARD")) {
            seen[0]++;
            CHECK(count >= 3 && count <= 5);
            CHECK_EQ_INT(atoi(words[1]), count - 2);
            for (int k = 2; k < count; k++) CHECK(!strncmp(words[k], "fuzz:", 5));
        } else if (!strcmp(words[0], "BLPOP")) {
            seen[1]++;
            CHECK(count >= 3 && !strcmp(words[count - 1], "0.01"));
        } else if (!strcmp(words[0], "CLIENT")) {
            seen[2]++;
            CHECK(count == 2 && !strcmp(words[1], "ID"));
        } else {
            seen[3]++;
            CHECK(count == 1 && !strcmp(words[0], "TIME"));
        }
        sdsFreeSplitRes(words, count);
    }
    for (int i = 0; i < 4; i++) CHECK(seen[i] > 300);
    fuzzCatalogFree(b);
}

TEST(fuzz_commands_are_damaged_where_they_do_not_wait) {
    fuzzCatalog *b = fuzzCatalogMake(&docs, NULL);
    rng r;
    rngSeed(&r, 2);
    int odd = 0;
    for (int i = 0; i < 2000; i++) {
        int count;
        sds *words = fuzzCatalogDraw(b, &r, true, &count);
        CHECK(count >= 1 && sdsLen(words[0]) >= 4);
        if (!strcmp(words[0], "BLPOP")) CHECK_EQ_STR(words[count - 1], "0.01");
        if (!strcmp(words[0], "SINTERCARD")) odd += count < 3 || atoi(words[1]) != count - 2;
        if (!strcmp(words[0], "TIME")) CHECK_EQ_INT(count, 2);
        sdsFreeSplitRes(words, count);
    }
    CHECK(odd > 200);
    fuzzCatalogFree(b);
}

TEST(fuzz_commands_change_no_setting_that_matters) {
    fuzzCatalog *b = fuzzCatalogMake(&docs, &settings);
    rng r;
    rngSeed(&r, 3);
    int changed = 0;
    for (int i = 0; i < 2000; i++) {
        int count;
        sds *words = fuzzCatalogDraw(b, &r, false, &count);
        if (!strcmp(words[0], "CONFIG")) {
            changed++;
            CHECK(count == 4 && !strcmp(words[1], "SET") && !strcmp(words[2], "hz"));
        }
        sdsFreeSplitRes(words, count);
    }
    CHECK(changed > 50);
    fuzzCatalogFree(b);
}

TEST(fuzz_commands_repeat_with_their_seed) {
    fuzzCatalog *b = fuzzCatalogMake(&docs, NULL);
    rng one, two;
    rngSeed(&one, 4);
    rngSeed(&two, 4);
    for (int i = 0; i < 200; i++) {
        int count, again;
        sds *words = fuzzCatalogDraw(b, &one, true, &count), *same = fuzzCatalogDraw(b, &two, true, &again);
        CHECK_EQ_INT(count, again);
        for (int w = 0; w < count && w < again; w++) CHECK(sliceEq(sdsSlice(words[w]), sdsSlice(same[w])));
        sdsFreeSplitRes(words, count);
        sdsFreeSplitRes(same, again);
    }
    fuzzCatalogFree(b);
}

/* acl_user_test.c -- rules to text and back, patterns compared with globMatch(), memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_user.h"

#include "slice.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

static void handler(client *c) { unused(c); }

#define IN(categories) .proc = handler, .arity = -1, .acl_categories = categories

static serverCommand in_box[] = {{.name = "open", IN(ACL_CATEGORY_SLOW | ACL_CATEGORY_PUBSUB)},
                                 {.name = "shut", IN(ACL_CATEGORY_FAST)},
                                 {.name = NULL}};
static serverCommand commands[] = {{.name = "acl-tell", IN(ACL_CATEGORY_PUBSUB | ACL_CATEGORY_FAST)},
                                   {.name = "acl-hear", IN(ACL_CATEGORY_PUBSUB | ACL_CATEGORY_SLOW)},
                                   {.name = "acl-wait", IN(ACL_CATEGORY_SLOW)},
                                   {.name = "acl-box", .arity = -2, .subcommands = in_box}};

static void once(void) {
    static bool done;
    if (!done) commandTableRegister(commands, array_len(commands));
    done = true;
}

static const char *const words[] = {"on",
                                    "off",
                                    "nopass",
                                    "resetpass",
                                    ">p",
                                    ">q",
                                    "<p",
                                    "<q",
                                    "~*",
                                    "~a*",
                                    "%R~a*",
                                    "%W~b",
                                    "%RW~c?",
                                    "resetkeys",
                                    "allkeys",
                                    "&*",
                                    "&n*",
                                    "&m",
                                    "resetchannels",
                                    "allchannels",
                                    "+@all",
                                    "-@all",
                                    "+@pubsub",
                                    "-@pubsub",
                                    "+@slow",
                                    "-@fast",
                                    "+acl-tell",
                                    "-acl-tell",
                                    "+acl-wait",
                                    "+pubsub",
                                    "-pubsub",
                                    "+pubsub|channels",
                                    "-pubsub|numsub",
                                    "+acl-tell|c",
                                    "+acl-tell|d",
                                    "+acl-hear|C",
                                    "-acl-hear",
                                    "db=1,2",
                                    "db=3",
                                    "alldbs",
                                    "resetdbs",
                                    "(~x +acl-tell)",
                                    "(-@all)",
                                    "(%W~y &z db=0 +@pubsub)",
                                    "clearselectors",
                                    "reset",
                                    "nonsense",
                                    "+nosuch",
                                    "%~a",
                                    "db=,"};

static sds textOf(const user *u) { return userCat(sdsEmpty(), u); }

/* A user made from the rules that describe another one is equal to it. */
static void checkComesBack(const user *u) {
    int count;
    slice open, pieces[200];
    sds text = textOf(u);
    sds *shown = sdsSplitLen(text, sdsLen(text), " ", 1, &count);
    CHECK(count <= (int)array_len(pieces));
    for (int i = 1; i < count; i++) pieces[i - 1] = sdsSlice(shown[i]);
    int joined_count = count - 1;
    sds *joined = aclJoinWords(pieces, &joined_count, &open);
    user *back = userCreate(sdsSlice(shown[0]));
    for (int i = 0; i < joined_count; i++) {
        const char *err = userApply(back, sdsSlice(joined[i]));
        if (!CHECK(!err)) printf("    %s: %s\n", joined[i], err);
    }
    sds again = textOf(back);
    if (!CHECK(sdsCmp(text, again) == 0)) printf("    '%s' became '%s'\n", text, again);
    CHECK_EQ_INT(back->selectors_count, u->selectors_count);
    for (uint32_t i = 0; i < u->selectors_count && i < back->selectors_count; i++)
        for (int id = 0; id < commandIdCount(); id++) {
            serverCommand cmd = {.id = id};
            CHECK_EQ_INT(aclSelectorHasCommand(back->selectors[i], &cmd), aclSelectorHasCommand(u->selectors[i], &cmd));
        }
    CHECK_EQ_INT(back->unrestricted, u->unrestricted);
    sdsFreeSplitRes(joined, joined_count);
    sdsFreeSplitRes(shown, count);
    sdsFree(text);
    sdsFree(again);
    userFree(back);
}

TEST(acl_user_random_rules_come_back_from_their_text) {
    once();
    uint64_t seed = unitRandomSeed();
    size_t before = zmallocUsed();
    for (int round = 0; round < 500; round++) {
        user *u = userCreate(sliceStr("u"));
        for (uint64_t n = unitRandom(&seed) % 40; n; n--) {
            user *copy = userDup(u);
            const char *err = userApply(copy, sliceStr(words[unitRandom(&seed) % array_len(words)]));
            sds was = textOf(u), is = textOf(copy);
            if (err) CHECK(sdsCmp(was, is) == 0); /* unchanged after an error */
            sdsFree(was);
            sdsFree(is);
            userTake(u, copy);
        }
        checkComesBack(u);
        userFree(u);
    }
    CHECK_EQ_INT(zmallocUsed(), before);
}

TEST(acl_user_passwords) {
    once();
    user *u = userCreate(sliceStr("u"));
    CHECK(!userPasswordIs(u, sliceStr("")));
    CHECK(!userApply(u, sliceStr(">p")) && !userApply(u, sliceStr(">")));
    CHECK(userPasswordIs(u, sliceStr("p")) && userPasswordIs(u, sliceStr("")) && !userPasswordIs(u, sliceStr("P")));
    CHECK(!userApply(u, sliceStr("<")));
    CHECK(!userPasswordIs(u, sliceStr("")));
    CHECK(!userApply(u, sliceStr("nopass")));
    CHECK(userPasswordIs(u, sliceStr("anything")) && u->passwords.count == 0);
    userFree(u);
}

#define MANY 60000

static void applyMany(user *u, const char *format) {
    for (int i = 0; i < MANY; i++) {
        sds word = sdsCatPrintf(sdsEmpty(), format, i);
        CHECK(!userApply(u, sdsSlice(word)));
        sdsFree(word);
    }
}

/* A client chooses the number of rules: no rule may walk over all rules before it. (With quadratic time this test would
 * not end.) */
TEST(acl_user_with_many_words_of_each_kind) {
    once();
    size_t before = zmallocUsed();
    user *u = userCreate(sliceStr("u"));
    for (int round = 0; round < 2; round++) { /* the second round finds all of them present */
        applyMany(u, "%%R~key:%d:*");
        applyMany(u, "&channel:%d");
        applyMany(u, ">%d");
        applyMany(u, "+acl-tell|%d");
        CHECK_EQ_INT(u->selectors[0]->keys.count, MANY);
        CHECK_EQ_INT(u->selectors[0]->channels.count, MANY);
        CHECK_EQ_INT(u->passwords.count, MANY);
        CHECK_EQ_INT(u->selectors[0]->rules.count, MANY);
    }
    user *copy = userDup(u);
    sds was = textOf(u), is = textOf(copy);
    CHECK(sdsCmp(was, is) == 0);
    sdsFree(was);
    sdsFree(is);
    applyMany(copy, "%%W~key:%d:*");
    CHECK(aclPatternsMatch(&copy->selectors[0]->keys, sliceStr("key:777:x"), ACL_READ_WRITE));
    CHECK(!aclPatternsMatch(&u->selectors[0]->keys, sliceStr("key:777:x"), ACL_READ_WRITE));
    CHECK_EQ_INT(copy->selectors[0]->keys.count, MANY);
    userFree(u);
    applyMany(copy, "<%d");
    CHECK_EQ_INT(copy->passwords.count, 0);
    for (int i = 0; i < MANY / 2; i++) { /* removes one, and all */
        sds word = sdsCatPrintf(sdsEmpty(), "+acl-hear|%d", i);
        CHECK(!userApply(copy, sdsSlice(word)) && !userApply(copy, sliceStr("-@slow")));
        sdsFree(word);
    }
    CHECK_EQ_INT(copy->selectors[0]->rules.count, MANY + MANY / 2 + 1);
    CHECK(!userApply(copy, sliceStr("-acl-hear")) && !userApply(copy, sliceStr("+acl-tell")));
    CHECK_EQ_INT(copy->selectors[0]->rules.count, 3);
    CHECK_EQ_INT(copy->selectors[0]->first_args, 0);
    userFree(copy);
    CHECK_EQ_INT(zmallocUsed(), before);
}

/* Texts that are too long for a rax are stored by their digest, and stay distinct. */
TEST(acl_words_of_any_length) {
    once();
    user *u = userCreate(sliceStr("u"));
    for (int round = 0; round < 2; round++)
        for (size_t n = 1; n <= 600; n++) {
            sds word = sdsNewLen(NULL, n + 10);
            memset(word, 'x', n + 10);
            memcpy(word, "+acl-tell|", 10);
            CHECK(!userApply(u, sdsSlice(word)));
            word[9] = '~';
            CHECK(!userApply(u, sliceOf(word + 9, n + 1)));
            sdsFree(word);
        }
    CHECK_EQ_INT(u->selectors[0]->rules.count, 600);
    CHECK_EQ_INT(u->selectors[0]->keys.count, 600);
    CHECK(!userApply(u, sliceStr("+acl-tell")));
    CHECK_EQ_INT(u->selectors[0]->rules.count, 1);
    userFree(u);
}

/* The preparation of patterns does not change what they match. */
TEST(acl_patterns_match_as_globs_do) {
    static const char letters[] = "ab*?[]^-\\";
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 200000; round++) {
        char pattern[8], text[6];
        size_t n = unitRandom(&seed) % sizeof(pattern), m = unitRandom(&seed) % sizeof(text);
        for (size_t i = 0; i < n; i++) pattern[i] = letters[unitRandom(&seed) % (round % 2 ? 3 : sizeof(letters) - 1)];
        for (size_t i = 0; i < m; i++) text[i] = "ab"[unitRandom(&seed) % 2];
        aclPatterns p = {.all = false};
        aclPatternsAdd(&p, sliceOf(pattern, n), ACL_READ);
        CHECK_EQ_INT(aclPatternsMatch(&p, sliceOf(text, m), ACL_READ),
                     globMatch(sliceOf(pattern, n), sliceOf(text, m), false));
        CHECK(!aclPatternsMatch(&p, sliceOf(text, m), ACL_WRITE));
        aclPatternsClear(&p, false);
    }
}

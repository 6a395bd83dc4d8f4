/* command_table_test.c -- names in any case and length, subcommands, renaming, and every way to find keys.
 *
 * The table is made once for the program, so the tests share it: each adds commands with names of its own, and renames
 * only these.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_table.h"
#include "unit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void handlerA(client *c) { unused(c); }

static void handlerB(client *c) { unused(c); }

/* Finds only the first key, with flags of its own; a syntax error if that is "bad". */
static int oneKey(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd);
    unused(argc);
    if (sliceIs(argv[1], "bad")) return -1;
    if (cap > 0) out[0] = (requestKey){.index = 1, .flags = CMD_KEY_OW};
    return 1;
}

#define RANGE(begin_, last_, step_, limit_)                                                           \
    .begin = KEYS_BEGIN_INDEX, .begin_index = (begin_), .find = KEYS_FIND_RANGE, .last_key = (last_), \
    .key_step = (step_), .limit = (limit_)
#define COUNTED(begin_, count_, first_, step_)                                                              \
    .begin = KEYS_BEGIN_INDEX, .begin_index = (begin_), .find = KEYS_FIND_KEYNUM, .keynum_index = (count_), \
    .first_key = (first_), .keynum_step = (step_)
#define SPECS(...) \
    .specs = (const keySpec[]){__VA_ARGS__}, .nspecs = sizeof((const keySpec[]){__VA_ARGS__}) / sizeof(keySpec)

static serverCommand commands[] = {
    {.name = "get",
     .proc = handlerA,
     .arity = 2,
     .flags = CMD_READONLY | CMD_FAST,
     SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_RO | CMD_KEY_ACCESS})},
    {.name = "set",
     .proc = handlerA,
     .arity = -3,
     .flags = CMD_WRITE | CMD_BUILDS_VALUE,
     .value_arg = 2,
     .get_keys = oneKey,
     SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_RW | CMD_KEY_VARIABLE_FLAGS})},
    {.name = "mset", .proc = handlerA, .arity = -3, SPECS({RANGE(1, -1, 2, 0), .flags = CMD_KEY_OW})},
    {.name = "rename",
     .proc = handlerA,
     .arity = 3,
     SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_RW}, {RANGE(2, 0, 1, 0), .flags = CMD_KEY_OW})},
    {.name = "blpop", .proc = handlerA, .arity = -3, SPECS({RANGE(1, -2, 1, 0), .flags = CMD_KEY_RW})},
    {.name = "zunionstore",
     .proc = handlerA,
     .arity = -4,
     SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_OW}, {COUNTED(2, 0, 1, 1), .flags = CMD_KEY_RO})},
    {.name = "eval", .proc = handlerA, .arity = -3, .flags = CMD_NO_MANDATORY_KEYS, SPECS({COUNTED(2, 0, 1, 1)})},
    {.name = "msetex", .proc = handlerA, .arity = -4, SPECS({COUNTED(1, 0, 1, 2)})},
    {.name = "spublish", .proc = handlerA, .arity = 3, SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_NOT_KEY})},
    {.name = "ping", .proc = handlerA, .arity = -1},
    {.name = "config",
     .arity = -2,
     .subcommands =
         (serverCommand[]){{.name = "get", .proc = handlerB, .arity = -3, .acl_categories = ACL_CATEGORY_ADMIN},
                           {.name = "count-failure-reports", .proc = handlerB, .arity = 3},
                           {.name = NULL}}},
    {.name = "georadiusbymember_ro", .proc = handlerA, .arity = -5},
    {.name = "a23456789012345678901b3", .proc = handlerA, .arity = 1},
    {.name = "exactly8", .proc = handlerA, .arity = 1},
    {.name = "exactly_sixteen_", .proc = handlerA, .arity = 1},
    {.name = "late", .proc = handlerB, .arity = 1},
};

static void registerOnce(void) {
    static bool done;
    if (done) return;
    done = true;
    commandTableRegister(commands, array_len(commands));
}

/* Splits "GET key" at blanks. Returns argc. */
static uint32_t splitWords(const char *text, slice *argv) {
    uint32_t argc = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        argv[argc++] = sliceOf(text, len);
        text += len + (text[len] == ' ');
    }
    return argc;
}

static serverCommand *lookup(const char *text, bool *bad_sub) {
    slice argv[32];
    uint32_t argc = splitWords(text, argv);
    return commandLookup(argv, argc, bad_sub);
}

static const char *nameOf(const char *text) {
    bool bad_sub;
    const serverCommand *cmd = lookup(text, &bad_sub);
    if (!cmd) return "(none)";
    static char name[64];
    snprintf(name, sizeof(name), "%s%s", cmd->fullname, bad_sub ? "?" : "");
    return name;
}

static const char *ownNameOf(const char *text) {
    slice argv[8];
    uint32_t argc = splitWords(text, argv);
    bool bad_sub;
    const serverCommand *cmd = commandLookupByOwnName(argv, argc, &bad_sub);
    static char name[64];
    snprintf(name, sizeof(name), "%s%s", cmd ? cmd->fullname : "(none)", bad_sub ? " ?" : "");
    return name;
}

TEST(command_names_match_in_any_case) {
    registerOnce();
    CHECK_EQ_STR(nameOf("get k"), "get");
    CHECK_EQ_STR(nameOf("GET k"), "get");
    CHECK_EQ_STR(nameOf("gEt"), "get");
    CHECK_EQ_STR(nameOf("GeoRadiusByMember_RO k"), "georadiusbymember_ro");
    CHECK_EQ_STR(nameOf("A23456789012345678901B3"), "a23456789012345678901b3");
    CHECK_EQ_STR(nameOf("EXACTLY8"), "exactly8");
    CHECK_EQ_STR(nameOf("exactly_SIXTEEN_"), "exactly_sixteen_");
}

TEST(other_names_are_unknown) {
    registerOnce();
    const char *unknown[] = {"g",
                             "ge",
                             "gett",
                             "get|",
                             "config|get x",
                             "exactly8x",
                             "exactly_sixteen",
                             "[et",
                             "\x67\xe5t",
                             "GEORADIUSBYMEMBER_RO_AND_MORE_THAN_FITS",
                             "a23456789012345678901b34"};
    for (size_t i = 0; i < array_len(unknown); i++) CHECK_EQ_STR(nameOf(unknown[i]), "(none)");
    bool bad_sub;
    slice empty = sliceOf("", 0), nul = sliceOf("get\0", 4), none = sliceOf(NULL, 0);
    CHECK(!commandLookup(&empty, 1, &bad_sub));
    CHECK(!commandLookup(&none, 1, &bad_sub));
    CHECK(!commandLookup(&nul, 1, &bad_sub));
    CHECK(!commandLookup(&nul, 0, &bad_sub));
}

/* '@' and '`' come before 'A' and 'a', '[' and '{' after 'Z' and 'z': only letters are case-insensitive. */
TEST(only_letters_fold) {
    registerOnce();
    static char name[8][16];
    static serverCommand odd[8];
    const char *ends = "@`[{_-09";
    for (int i = 0; i < 8; i++) {
        snprintf(name[i], sizeof(name[i]), "odd%c", ends[i]);
        odd[i] = (serverCommand){.name = name[i], .proc = handlerA, .arity = 1};
    }
    commandTableRegister(odd, 8);
    for (int i = 0; i < 8; i++) {
        char upper[16];
        for (int k = 0; k < 5; k++) upper[k] = (char)toupper((unsigned char)name[i][k]);
        CHECK_EQ_STR(nameOf(upper), name[i]);
    }
}

TEST(containers_give_subcommands) {
    registerOnce();
    CHECK_EQ_STR(nameOf("config"), "config");
    CHECK_EQ_STR(nameOf("CONFIG GET x"), "config|get");
    CHECK_EQ_STR(nameOf("config set x"), "config?");
    CHECK_EQ_STR(nameOf("config Count-Failure-Reports x"), "config|count-failure-reports");
    CHECK_EQ_STR(nameOf("config this-subcommand-is-longer-than-any"), "config?");
    CHECK_EQ_STR(nameOf("get config"), "get");
    bool bad_sub;
    const serverCommand *sub = lookup("config get", &bad_sub);
    CHECK(sub->parent == lookup("config", &bad_sub));
    CHECK(sub->proc == handlerB);
    CHECK_EQ_STR(sub->name, "get");
    CHECK_EQ_STR(clientCommandName(sub), "config|get");
}

TEST(full_names_are_found) {
    registerOnce();
    CHECK(commandLookupByName(sliceStr("Get")) != NULL);
    CHECK_EQ_STR(commandLookupByName(sliceStr("CONFIG|get"))->fullname, "config|get");
    const char *unknown[] = {"", "|", "config|", "|get", "config|set", "config|get|x", "get|x", "nope|get"};
    for (size_t i = 0; i < array_len(unknown); i++) CHECK(!commandLookupByName(sliceStr(unknown[i])));
}

TEST(many_names_against_a_list) {
    registerOnce();
    enum { NAMES = 500 };
    static serverCommand many[NAMES];
    static char names[NAMES][24];
    uint64_t seed = unitRandomSeed();
    for (int i = 0; i < NAMES; i++) {
        int len = 2 + (int)(unitRandom(&seed) % 16);
        int at = snprintf(names[i], sizeof(names[i]), "m%d_", i);
        while (at < len) names[i][at++] = (char)('a' + unitRandom(&seed) % 26);
        names[i][at] = '\0';
        many[i] = (serverCommand){.name = names[i], .proc = handlerA, .arity = 1};
    }
    size_t before = commandCount();
    commandTableRegister(many, NAMES);
    CHECK_EQ_INT(commandCount(), before + NAMES);
    for (int i = 0; i < NAMES; i++) {
        CHECK(commandLookupByName(sliceStr(names[i])) == &many[i]);
        char longer[32];
        snprintf(longer, sizeof(longer), "%sx", names[i]);
        CHECK(!commandLookupByName(sliceStr(longer)));
    }
}

TEST(renamed_commands_keep_their_own_name) {
    registerOnce();
    static serverCommand box[] = {{.name = "in", .proc = handlerA, .arity = 2}, {.name = NULL}};
    static serverCommand renamed[] = {
        {.name = "first", .proc = handlerA, .arity = 1},
        {.name = "second", .proc = handlerA, .arity = 1},
        {.name = "third", .proc = handlerA, .arity = 1},
        {.name = "box", .arity = -2, .subcommands = box},
    };
    commandTableRegister(renamed, array_len(renamed));
    size_t before = commandCount();
    CHECK(commandTableRename("FIRST", "Primero"));
    CHECK_EQ_STR(nameOf("first"), "(none)");
    CHECK_EQ_STR(nameOf("PRIMERO"), "first");
    CHECK(!commandTableRename("first", "other"));
    CHECK(!commandTableRename("second", "primero"));
    CHECK_EQ_STR(nameOf("second"), "second");
    CHECK(commandTableRename("second", "a-secret-that-is-longer-than-a-packed-name-may-be"));
    CHECK_EQ_STR(nameOf("A-secret-that-is-longer-than-a-packed-name-may-BE"), "second");
    CHECK(!commandTableRename("third", "a-SECRET-that-is-longer-than-a-packed-name-may-be"));
    CHECK(commandTableRename("a-secret-that-is-longer-than-a-packed-name-may-be", "second"));
    CHECK(commandTableRename("box", "crate"));
    CHECK_EQ_STR(nameOf("crate in"), "box|in");
    CHECK_EQ_STR(nameOf("box in"), "(none)");
    CHECK_EQ_INT(commandCount(), before);
    CHECK(commandTableRename("third", ""));
    CHECK_EQ_STR(nameOf("third"), "(none)");
    CHECK_EQ_INT(commandCount(), before - 1);
    CHECK(commandNamed("FIRST") == &renamed[0] && commandNamed("third") == &renamed[2] && !commandNamed("primero"));
    CHECK_EQ_STR(ownNameOf("Third"), "third");
    CHECK_EQ_STR(ownNameOf("Box In"), "box|in");
    CHECK_EQ_STR(ownNameOf("box out"), "box ?");
    CHECK_EQ_STR(ownNameOf("crate in"), "(none)");
    CHECK(commandTableRename("crate", ""));
    CHECK_EQ_STR(nameOf("box in"), "(none)");
    CHECK_EQ_STR(ownNameOf("Box In"), "box|in");
    CHECK_EQ_STR(ownNameOf("box out"), "box ?");
}

/* Returns the keys of a request as "index index ...", or "bad". */
static const char *keysOf(const char *text) {
    static char out[256];
    slice argv[32];
    uint32_t argc = splitWords(text, argv);
    bool bad_sub;
    const serverCommand *cmd = commandLookup(argv, argc, &bad_sub);
    requestKey keys[32];
    int count = commandExtractKeys(cmd, argv, argc, keys, 32);
    if (count < 0) return "bad";
    out[0] = '\0';
    size_t at = 0;
    for (int i = 0; i < count; i++) at += (size_t)snprintf(out + at, sizeof(out) - at, i ? " %u" : "%u", keys[i].index);
    return out;
}

TEST(keys_of_ranges) {
    registerOnce();
    CHECK_EQ_STR(keysOf("get a"), "1");
    CHECK_EQ_STR(keysOf("mset a 1 b 2 c 3"), "1 3 5");
    CHECK_EQ_STR(keysOf("mset a 1 b"), "1 3");
    CHECK_EQ_STR(keysOf("rename a b"), "1 2");
    CHECK_EQ_STR(keysOf("blpop a b c 0"), "1 2 3");
    CHECK_EQ_STR(keysOf("ping x"), "");
    CHECK_EQ_STR(keysOf("spublish ch x"), "");
    CHECK_EQ_STR(keysOf("set a b"), "1");
    CHECK_EQ_STR(keysOf("set bad b"), "bad");
}

TEST(keys_that_are_counted) {
    registerOnce();
    CHECK_EQ_STR(keysOf("zunionstore d 2 a b"), "1 3 4");
    CHECK_EQ_STR(keysOf("zunionstore d 2 a b weights 1 2"), "1 3 4");
    CHECK_EQ_STR(keysOf("zunionstore d 3 a b"), "bad");
    CHECK_EQ_STR(keysOf("zunionstore d 0 a b"), "bad");
    CHECK_EQ_STR(keysOf("zunionstore d -1 a b"), "bad");
    CHECK_EQ_STR(keysOf("zunionstore d x a b"), "bad");
    CHECK_EQ_STR(keysOf("zunionstore d 9223372036854775807 a b"), "bad");
    CHECK_EQ_STR(keysOf("eval s 0"), "");
    CHECK_EQ_STR(keysOf("eval s 1 a b"), "3");
    CHECK_EQ_STR(keysOf("msetex 2 a 1 b 2 ex 5"), "2 4");
}

TEST(few_places_still_count_all_keys) {
    registerOnce();
    slice argv[32];
    uint32_t argc = splitWords("mset a 1 b 2 c 3 d 4", argv);
    bool bad_sub;
    const serverCommand *cmd = commandLookup(argv, argc, &bad_sub);
    requestKey keys[3] = {{.hash = 7}, {.hash = 7}, {.index = 99}};
    CHECK_EQ_INT(commandExtractKeys(cmd, argv, argc, keys, 2), 4);
    CHECK_EQ_INT(keys[1].index, 3);
    CHECK_EQ_INT(keys[1].flags, CMD_KEY_OW);
    CHECK_EQ_INT(keys[1].hash, 7);
    CHECK_EQ_INT(keys[2].index, 99);
    CHECK_EQ_INT(commandExtractKeys(cmd, argv, argc, NULL, 0), 4);
}

/* For any request that a client sends, the positions of keys are within the request. */
TEST(keys_of_random_requests_stay_inside) {
    registerOnce();
    const char *words[] = {"1", "2", "0", "-1", "a", "99999999999999999999", "", "4294967297"};
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 20000; round++) {
        const serverCommand *cmd = &commands[unitRandom(&seed) % 10];
        slice argv[12];
        uint32_t argc = (uint32_t)abs(cmd->arity) + (cmd->arity < 0 ? (uint32_t)(unitRandom(&seed) % 6) : 0);
        argv[0] = sliceStr(cmd->name);
        for (uint32_t i = 1; i < argc; i++) argv[i] = sliceStr(words[unitRandom(&seed) % array_len(words)]);
        requestKey keys[12];
        int count = commandExtractKeys(cmd, argv, argc, keys, 12);
        if (!CHECK(count >= -1 && count < (int)argc)) return;
        for (int i = 0; i < count; i++) CHECK(keys[i].index >= 1 && keys[i].index < argc);
    }
}

TEST(fast_form_and_arity) {
    registerOnce();
    bool bad_sub;
    const serverCommand *mset = lookup("mset", &bad_sub), *rename = lookup("rename", &bad_sub);
    CHECK_EQ_INT(mset->first_key, 1);
    CHECK_EQ_INT(mset->last_key, -1);
    CHECK_EQ_INT(mset->key_step, 2);
    CHECK_EQ_INT(rename->first_key, 0);
    CHECK_EQ_INT(lookup("set", &bad_sub)->first_key, 1);
    CHECK_EQ_INT(lookup("spublish", &bad_sub)->first_key, 0);
    CHECK(commandArityOk(mset, 3) && commandArityOk(mset, 30) && !commandArityOk(mset, 2));
    CHECK(commandArityOk(rename, 3) && !commandArityOk(rename, 2) && !commandArityOk(rename, 4));
}

TEST(flags_and_categories_have_names) {
    CHECK_EQ_STR(commandFlagName(0), "write");
    CHECK_EQ_STR(commandFlagName(__builtin_ctz(CMD_FAST)), "fast");
    CHECK_EQ_STR(commandFlagName(__builtin_ctz(CMD_ALLOW_BUSY)), "allow_busy");
    CHECK(!commandFlagName(__builtin_ctz(CMD_PROTECTED)));
    CHECK(!commandFlagName(__builtin_ctz(CMD_BUILDS_VALUE)));
    CHECK_EQ_STR(commandKeyFlagName(__builtin_ctz(CMD_KEY_VARIABLE_FLAGS)), "variable_flags");
    CHECK(!commandKeyFlagName(11) && !commandKeyFlagName(-1));
    CHECK_EQ_INT(aclCategoryByName(sliceStr("STRING")), ACL_CATEGORY_STRING);
    CHECK_EQ_INT(aclCategoryByName(sliceStr("@string")), 0);
    int bit = 0;
    while (aclCategoryName(bit)) {
        CHECK_EQ_INT(aclCategoryByName(sliceStr(aclCategoryName(bit))), 1ull << bit);
        bit++;
    }
    CHECK_EQ_INT(1ull << (bit - 1), ACL_CATEGORY_SCRIPTING);
}

static void addCalls(void *arg, serverCommand *cmd) {
    *(long long *)arg += cmd->stats->calls;
    for (int i = 0; i < cmd->nsubcommands; i++) addCalls(arg, &cmd->subcommands[i]);
}

TEST(stats_are_reset_for_subcommands_too) {
    registerOnce();
    bool bad_sub;
    lookup("get", &bad_sub)->stats->calls = 3;
    lookup("config get", &bad_sub)->stats->calls = 4;
    CHECK(lookup("get", &bad_sub)->stats != lookup("config get", &bad_sub)->stats);
    long long calls = 0;
    commandEach(addCalls, &calls);
    CHECK_EQ_INT(calls, 7);
    commandStatsResetAll();
    calls = 0;
    commandEach(addCalls, &calls);
    CHECK_EQ_INT(calls, 0);
}

TEST(lookups_cost_nanoseconds) {
    registerOnce();
    const char *names[] = {"GET", "set", "CONFIG", "georadiusbymember_ro"};
    struct timespec from, to;
    size_t found = 0;
    enum { ROUNDS = 100000 };
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < ROUNDS; i++) {
        bool bad_sub;
        slice argv[2] = {sliceStr(names[i & 3]), sliceStr("get")};
        found += commandLookup(argv, 2, &bad_sub) != NULL;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    CHECK_EQ_INT(found, ROUNDS);
    CHECK(ns / ROUNDS < 2000); /* far above the time of any build; a walk over the table would take longer */
    printf("lookup: %.1f ns\n", ns / ROUNDS);
}

static void withoutHandler(void *arg) {
    unused(arg);
    static serverCommand alone[] = {{.name = "alone", .arity = 1}};
    commandTableRegister(alone, 1);
    commandTableSeal();
}

static void registeredTwice(void *arg) {
    unused(arg);
    static serverCommand again[] = {{.name = "get", .proc = handlerA, .arity = 2}};
    commandTableRegister(again, 1);
}

static void sealed(void *arg) {
    unused(arg);
    commandTableSeal();
    exit(commandLookupByName(sliceStr("get")) ? 0 : 1);
}

TEST(mistakes_at_boot_end_the_process) {
    registerOnce();
    struct {
        void (*body)(void *arg);
        const char *says;
    } mistakes[] = {{withoutHandler, "'alone' has no handler"}, {registeredTwice, "'get' is registered twice"}};
    for (size_t i = 0; i < array_len(mistakes); i++) {
        char output[16384];
        int status = unitInChild(mistakes[i].body, NULL, output, sizeof(output));
        CHECK(status != 0);
        CHECK(strstr(output, mistakes[i].says) != NULL);
    }
    char output[16384];
    CHECK_EQ_INT(unitInChild(sealed, NULL, output, sizeof(output)), 0); /* other tests must still register commands */
}

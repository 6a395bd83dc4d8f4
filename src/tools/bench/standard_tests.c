/* standard_tests.c -- the tests that run if no command is given, in this order.
 *
 * Titles and commands are those of Valkey's valkey-benchmark, with which results are published, so that figures can be
 * compared.
 *
 * Tests       tests/tools/benchmark.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "standard_tests.h"
#include "zmalloc.h"

#define LRANGE_NAMES \
    { "lrange", "lrange_100", "lrange_300", "lrange_500", "lrange_600" }

const standardTest standard_tests[STANDARD_TESTS] = {
    {"PING_INLINE", {"ping", "ping_inline"}, "PING", TEST_INLINE},
    {"PING_MBULK", {"ping", "ping_mbulk"}, "PING", TEST_COMMAND},
    {"SET", {"set"}, "SET key:__rand_int__ __data__", TEST_COMMAND},
    {"GET", {"get"}, "GET key:__rand_int__", TEST_COMMAND},
    {"INCR", {"incr"}, "INCR counter:__rand_int__", TEST_COMMAND},
    {"LPUSH", {"lpush"}, "LPUSH mylist __data__", TEST_COMMAND},
    {"RPUSH", {"rpush"}, "RPUSH mylist __data__", TEST_COMMAND},
    {"LPOP", {"lpop"}, "LPOP mylist", TEST_COMMAND},
    {"RPOP", {"rpop"}, "RPOP mylist", TEST_COMMAND},
    {"SADD", {"sadd"}, "SADD myset element:__rand_int__", TEST_COMMAND},
    {"HSET", {"hset"}, "HSET myhash element:__rand_int__ __data__", TEST_COMMAND},
    {"SPOP", {"spop"}, "SPOP myset", TEST_COMMAND},
    {"ZADD", {"zadd"}, "ZADD myzset __score__ element:__rand_1st__", TEST_COMMAND},
    {"ZPOPMIN", {"zpopmin"}, "ZPOPMIN myzset", TEST_COMMAND},
    {"LPUSH (needed to benchmark LRANGE)", LRANGE_NAMES, "LPUSH mylist __data__", TEST_COMMAND},
    {"LRANGE_100 (first 100 elements)", {"lrange", "lrange_100"}, "LRANGE mylist 0 99", TEST_COMMAND},
    {"LRANGE_300 (first 300 elements)", {"lrange", "lrange_300"}, "LRANGE mylist 0 299", TEST_COMMAND},
    {"LRANGE_500 (first 500 elements)", {"lrange", "lrange_500"}, "LRANGE mylist 0 499", TEST_COMMAND},
    {"LRANGE_600 (first 600 elements)", {"lrange", "lrange_600"}, "LRANGE mylist 0 599", TEST_COMMAND},
    {"MSET (10 keys)", {"mset"}, "MSET key:__rand_int__ __data__", TEST_MULTI_KEY},
    {"MGET (10 keys)", {"mget"}, "MGET key:__rand_int__", TEST_MULTI_KEY},
    {"XADD", {"xadd"}, "XADD mystream * myfield __data__", TEST_COMMAND},
    {"FUNCTION LOAD", {"function_load"}, "function load replace", TEST_FUNCTION_LOAD},
    {"FCALL", {"fcall"}, "fcall foo1", TEST_FCALL},
};

/* Returns whether `name` is one of the test's names; `guess` considers all of them. */
static bool hasName(const standardTest *test, const char *name, suggestion *guess) {
    bool found = false;
    for (int i = 0; i < STANDARD_TEST_NAMES_MAX && test->names[i]; i++) {
        found = found || strcasecmp(test->names[i], name) == 0;
        if (guess) suggestConsider(guess, test->names[i]);
    }
    return found;
}

bool standardTestIsKnown(const char *name, suggestion *guess) {
    bool found = false;
    for (int i = 0; i < STANDARD_TESTS; i++) found = hasName(&standard_tests[i], name, guess) || found;
    return found;
}

bool standardTestSelected(const standardTest *test, const char *selection) {
    if (!selection) return true;
    bool found = false;
    int count;
    sds *words = sdsSplitLen(selection, strlen(selection), ",", 1, &count);
    for (int i = 0; i < count && !found; i++) found = hasName(test, words[i], NULL);
    sdsFreeSplitRes(words, count);
    return found;
}

/* Appends a word to the array and takes ownership of it. */
static void addWord(sds **words, int *count, sds word) {
    *words = zrealloc(*words, sizeof(sds) * (size_t)(*count + 1));
    (*words)[(*count)++] = word;
}

/* Returns the source of the library. It uses `redis`, the old name of the API table, which both Valkey and Redis
 * have. */
static sds functionLibrary(int functions) {
    sds code = sdsNew("#!lua name=benchlib\n");
    for (int i = functions; i > 0; i--) {
        code = sdsCatPrintf(code, "local function foo%d()\nreturn 0\nend\n", i);
        code = sdsCatPrintf(code, "redis.register_function('foo%d', foo%d)\n", i, i);
    }
    return code;
}

sds *standardTestWords(const standardTest *test, bool random, int functions, int fcall_keys, int *count) {
    sds *words = sdsSplitLen(test->command, strlen(test->command), " ", 1, count);
    for (int i = 0; i < *count; i++) {
        if (strcmp(words[i], "__score__") != 0) continue;
        sdsFree(words[i]);
        words[i] = sdsNew(random ? "__rand_int__" : "0");
    }
    int per_key = *count - 1;
    switch (test->kind) {
    case TEST_MULTI_KEY:
        for (int key = 1; key < 10; key++)
            for (int i = 0; i < per_key; i++) addWord(&words, count, sdsDup(words[1 + i]));
        break;
    case TEST_FUNCTION_LOAD: addWord(&words, count, functionLibrary(functions)); break;
    case TEST_FCALL:
        addWord(&words, count, sdsFromLongLong(fcall_keys));
        for (int key = 1; key <= fcall_keys; key++) addWord(&words, count, sdsCatPrintf(sdsEmpty(), "key%d", key));
        break;
    case TEST_COMMAND:
    case TEST_INLINE: break;
    }
    return words;
}

sds *standardTestFcallLibrary(int *count) {
    sds *words = sdsSplitLen("FUNCTION LOAD REPLACE", 21, " ", 1, count);
    addWord(&words, count,
            sdsNew("#!lua name=benchlib\nlocal function foo1(keys, args)\nreturn keys[0]\nend\n"
                   "redis.register_function('foo1', foo1)\n"));
    return words;
}

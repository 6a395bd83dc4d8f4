/* hot_keys_test.c -- sampled commands, their costs, and the counts reported; many threads (run under TSan).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hot_keys.h"

#include "call_after.h"
#include "command_table.h"
#include "panic.h"
#include "thread.h"
#include "unit.h"
#include "zmalloc.h"

#include <pthread.h>
#include <stdio.h>

static void handler(client *c) { unused(c); }

#define KEYS(last_)                                        \
    .specs = (const keySpec[]){{.begin = KEYS_BEGIN_INDEX, \
                                .begin_index = 1,          \
                                .find = KEYS_FIND_RANGE,   \
                                .last_key = (last_),       \
                                .key_step = 1,             \
                                .flags = CMD_KEY_RW}},     \
    .nspecs = 1

static serverCommand commands[] = {
    {.name = "hot-get", .proc = handler, .arity = -2, KEYS(0)},
    {.name = "hot-del", .proc = handler, .arity = -2, KEYS(-1)},
    {.name = "hot-hget", .proc = handler, .arity = 3, .element_arg = 2, KEYS(0)},
    {.name = "hot-ping", .proc = handler, .arity = 1},
};

/* The state of a thread: an arena with records, a collector. */
typedef struct reader {
    recordArena arena;
    recordCache cache;
    parsedCommand *first, *last;
    size_t count;
    requestSample *samples;
    hotCollector hot;
    char piece[4096];
} reader;

static void begin(unsigned metrics, uint64_t ratio) {
    static bool registered;
    panicSetMainThread();
    if (!registered) commandTableRegister(commands, array_len(commands));
    registered = true;
    hotKeysBegin(&(hotKeysPlan){.metrics = metrics, .ratio = ratio});
}

static void readerInit(reader *r) {
    recordArenaInit(&r->arena, r->piece, sizeof(r->piece));
    r->first = r->last = NULL;
    r->samples = NULL;
    r->count = 0;
}

/* Receives a request of these words, which must outlive it. */
static parsedCommand *comes(reader *r, const char *text) {
    slice argv[8];
    size_t argc = 0;
    for (; *text; text += argv[argc].len + (text[argv[argc].len] == ' '), argc++)
        argv[argc] = sliceOf(text, strcspn(text, " "));
    parsedCommand *p = recordCreate(&r->arena, argc);
    memcpy(p->argv, argv, argc * sizeof(*argv));
    p->wire_len = 100;
    recordComplete(&r->arena, &r->cache, p, 0);
    if (r->last) r->last->next = p;
    else r->first = p;
    r->last = p;
    r->count++;
    return p;
}

/* Samples the block and hands it to main. */
static void picks(reader *r) {
    bool none = hotKeysPassBy(&r->hot, r->count);
    r->samples = none ? NULL : hotKeysPick(&r->hot, &r->arena, r->first, r->count);
}

static void runs(const parsedCommand *p, uint64_t ns, size_t reply_bytes) {
    client c = {.req = p};
    if (call_after & CALL_AFTER_HOT_KEYS) hotKeysRan(&c, ns, reply_bytes);
}

/* Takes the block back. */
static void isBack(reader *r) {
    hotKeysCount(&r->hot, r->samples);
    recordArenaFree(&r->arena);
    readerInit(r);
}

/* Returns "key=weight key=weight" of at most `max` keys. */
static const char *top(hotKeysMetric metric, size_t max) {
    static char text[512];
    heavyKey keys[64];
    size_t n = hotKeysTop(metric, keys, max), len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n && len < sizeof(text); i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=%llu", i ? " " : "", keys[i].key,
                                (unsigned long long)keys[i].weight);
    heavyKeysFree(keys, n);
    return text;
}

#define BOTH 3u

TEST(hot_keys_each_command_with_keys_counts_for_them) {
    reader *r = zcalloc(1, sizeof(*r));
    readerInit(r);
    begin(BOTH, 1);
    parsedCommand *get = comes(r, "hot-get a"), *del = comes(r, "hot-del a b c"), *ping = comes(r, "hot-ping");
    parsedCommand *never = comes(r, "hot-get never"), *hget = comes(r, "hot-hget h field");
    uint64_t key = hget->keys[0].hash, element = requestElements(hget)->hash;
    picks(r);
    CHECK_EQ_INT(hget->keys[0].hash, key); /* the keys have moved */
    CHECK_EQ_INT(requestElementCount(hget), 1);
    CHECK_EQ_INT(requestElements(hget)->hash, element);
    runs(get, 1000, 11);
    runs(del, 3002, 5); /* a third of the cost for each key */
    runs(ping, 500, 7);
    runs(hget, 10, 50);
    CHECK_EQ_STR(top(HOT_KEYS_CPU, 9), "");
    isBack(r);
    CHECK_EQ_STR(top(HOT_KEYS_CPU, 9), "a=2000 b=1000 c=1000 h=10");
    CHECK_EQ_STR(top(HOT_KEYS_NET, 2), "h=150 a=146");
    CHECK_EQ_INT(hotKeysSum(HOT_KEYS_NET), 150 + 111 + 3 * 35);
    CHECK_EQ_INT(hot_keys_totals.ns, 1000 + 3002 + 10);
    CHECK_EQ_INT(hot_keys_totals.net_bytes, 111 + 105 + 150);
    unused(never);
    hotKeysEnd();
    comes(r, "hot-get late");
    picks(r);
    CHECK(r->samples == NULL);
    isBack(r);
    CHECK_EQ_STR(top(HOT_KEYS_NET, 1), "h=150");
    CHECK(hotKeysMemory() > 0);
    hotKeysForget();
    CHECK_EQ_STR(top(HOT_KEYS_NET, 9), "");
    hotKeysTidy(&r->hot);
    CHECK_EQ_INT(hotKeysMemory(), 0);
    zfree(r);
}

TEST(hot_keys_of_one_metric) {
    reader *r = zcalloc(1, sizeof(*r));
    readerInit(r);
    begin(1u << HOT_KEYS_NET, 1);
    parsedCommand *get = comes(r, "hot-get a");
    picks(r);
    runs(get, 1000, 11);
    isBack(r);
    CHECK_EQ_STR(top(HOT_KEYS_CPU, 9), "");
    CHECK_EQ_STR(top(HOT_KEYS_NET, 9), "a=111");
    hotKeysForget();
    hotKeysTidy(&r->hot);
    zfree(r);
}

/* A command that was sampled in one session and returns in another counts for neither. */
TEST(hot_keys_sessions_do_not_mix) {
    reader *r = zcalloc(1, sizeof(*r)), *other = zcalloc(1, sizeof(*r));
    readerInit(r);
    readerInit(other);
    begin(BOTH, 1);
    parsedCommand *early = comes(r, "hot-get early");
    parsedCommand *get = comes(other, "hot-get a");
    picks(r);
    picks(other);
    runs(early, 5, 5);
    runs(get, 5, 5);
    isBack(other);
    begin(BOTH, 1);
    CHECK_EQ_STR(top(HOT_KEYS_NET, 9), ""); /* before the thread notices the session */
    get = comes(other, "hot-get b");
    picks(other);
    runs(get, 7, 7);
    isBack(other);
    isBack(r);
    CHECK_EQ_STR(top(HOT_KEYS_NET, 9), "b=107");
    hotKeysForget();
    hotKeysTidy(&r->hot);
    hotKeysTidy(&other->hot);
    CHECK_EQ_INT(hotKeysMemory(), 0);
    zfree(r);
    zfree(other);
}

/* Main counts the commands of transactions and blocked clients, whose records outlive their block. */
TEST(hot_keys_of_detached_records) {
    reader *r = zcalloc(1, sizeof(*r));
    readerInit(r);
    begin(BOTH, 1);
    parsedCommand *p = comes(r, "hot-hget h field"), *plain = comes(r, "hot-ping");
    p->wire = plain->wire = "";
    picks(r);
    parsedCommand *d = recordDetach(p), *plain_d = recordDetach(plain);
    CHECK(d->flags & REQ_SAMPLED && !(plain_d->flags & REQ_SAMPLED));
    CHECK_EQ_INT(d->keys[0].hash, p->keys[0].hash);
    CHECK_EQ_INT(requestElements(d)->hash, requestElements(p)->hash);
    isBack(r);
    CHECK_EQ_STR(top(HOT_KEYS_CPU, 9), "");
    for (int i = 0; i < 2; i++) { /* a blocked command runs until it is served */
        runs(d, 21, 1);
        runs(plain_d, 21, 1);
    }
    CHECK_EQ_STR(top(HOT_KEYS_CPU, 9), "h=42");
    recordFree(d);
    recordFree(plain_d);
    hotKeysForget();
    CHECK_EQ_INT(hotKeysMemory(), 0);
    zfree(r);
}

TEST(hot_keys_counted_here_do_not_count_again) {
    reader *r = zcalloc(1, sizeof(*r));
    readerInit(r);
    begin(BOTH, 1);
    parsedCommand *a = comes(r, "hot-get a"), *b = comes(r, "hot-get b");
    picks(r);
    runs(a, 5, 5);
    hotKeysCountHere(r->samples);
    CHECK_EQ_STR(top(HOT_KEYS_NET, 9), "a=105");
    runs(b, 5, 5);
    isBack(r);
    CHECK_EQ_STR(top(HOT_KEYS_NET, 9), "a=105 b=105");
    hotKeysForget();
    hotKeysTidy(&r->hot);
    zfree(r);
}

/* The thread with the main role drops blocks of closed clients: so it counts for a session in which it sampled
 * nothing. */
TEST(hot_keys_counted_by_another_thread) {
    reader *r = zcalloc(1, sizeof(*r)), *other = zcalloc(1, sizeof(*r));
    readerInit(r);
    readerInit(other);
    begin(BOTH, 1);
    parsedCommand *p = comes(r, "hot-get a");
    picks(r);
    runs(p, 5, 5);
    hotKeysCount(&other->hot, r->samples);
    p = comes(other, "hot-get b");
    comes(other, "hot-get c");
    picks(other);
    runs(p, 5, 5);
    isBack(other);
    CHECK_EQ_STR(top(HOT_KEYS_NET, 9), "a=105 b=105");
    hotKeysForget();
    hotKeysTidy(&r->hot);
    hotKeysTidy(&other->hot);
    zfree(r);
    zfree(other);
}

TEST(hot_keys_of_a_thread_that_ends_stay) {
    reader *r = zcalloc(1, sizeof(*r));
    begin(BOTH, 1);
    for (int i = 0; i < 3; i++) { /* the first is taken as it is, the others are added to it */
        readerInit(r);
        parsedCommand *p = comes(r, i == 1 ? "hot-get b" : "hot-get a");
        picks(r);
        runs(p, 1000, 0);
        isBack(r);
        hotKeysRetire(&r->hot);
    }
    CHECK_EQ_STR(top(HOT_KEYS_CPU, 9), "a=2000 b=1000");
    CHECK_EQ_STR(top(HOT_KEYS_NET, 9), "a=200 b=100");
    hotKeysForget();
    CHECK_EQ_INT(hotKeysMemory(), 0);
    zfree(r);
}

/* One command in `ratio` is sampled, at any position in its block, and no pattern of the client coincides with the
 * sampling. */
TEST(hot_keys_one_in_a_ratio) {
    enum { BLOCKS = 40000, RATIO = 8, LENGTH = 8 };
    static const char *const texts[LENGTH] = {"hot-get 0", "hot-get 1", "hot-get 2", "hot-get 3",
                                              "hot-get 4", "hot-get 5", "hot-get 6", "hot-get 7"};
    reader *r = zcalloc(1, sizeof(*r));
    uint64_t rng = unitRandomSeed();
    size_t by_place[LENGTH] = {0}, all = 0, picked = 0;
    readerInit(r);
    begin(BOTH, RATIO);
    for (int i = 0; i < BLOCKS; i++) {
        size_t n = i < BLOCKS / 2 ? LENGTH : 1 + unitRandom(&rng) % LENGTH;
        for (size_t j = 0; j < n; j++) comes(r, texts[j]);
        picks(r);
        for (const requestSample *s = r->samples; s; s = s->next, picked++)
            if (n == LENGTH) by_place[s->req->argv[1].ptr[0] - '0']++;
        all += n;
        isBack(r);
    }
    CHECK(picked > all / RATIO * 95 / 100 && picked < all / RATIO * 105 / 100);
    for (size_t j = 0; j < LENGTH; j++) CHECK(by_place[j] > BLOCKS / 2 / RATIO * 8 / 10);
    hotKeysForget();
    hotKeysTidy(&r->hot);
    zfree(r);
}

/* --- threads ------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 3000 };

/* Each thread does main's part as well: it stores the cost of a command in its sample. */
static void readMany(void *arg) {
    static const char *const texts[] = {"hot-get a", "hot-del a b", "hot-get c", "hot-hget d f"};
    reader *r = arg;
    readerInit(r);
    for (int i = 0; i < ROUNDS; i++) {
        for (size_t j = 0; j < array_len(texts); j++) comes(r, texts[j]);
        picks(r);
        for (requestSample *s = r->samples; s; s = s->next) s->ns = 100;
        isBack(r);
    }
}

TEST(hot_keys_threads_beside_main) {
    reader *readers = zcalloc(THREADS, sizeof(*readers));
    pthread_t threads[THREADS];
    begin(BOTH, 1);
    for (int i = 0; i < THREADS; i++)
        CHECK(threadStart(&threads[i], &(threadPlan){.name = "reader"}, readMany, &readers[i]) == 0);
    for (int i = 0; i < 300; i++) {
        CHECK(strlen(top(HOT_KEYS_CPU, 9)) < 200);
        CHECK(hotKeysSum(HOT_KEYS_NET) % 50 == 0);
        if (i % 100 == 50) begin(BOTH, 1 + (uint64_t)i % 3);
        if (i % 100 == 99) hotKeysForget();
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    begin(BOTH, 1); /* in this session no count may be lost */
    for (int i = 0; i < THREADS; i++)
        CHECK(threadStart(&threads[i], &(threadPlan){.name = "reader"}, readMany, &readers[i]) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_EQ_STR(top(HOT_KEYS_CPU, 9), "a=1800000 c=1200000 d=1200000 b=600000");
    for (int i = 0; i < THREADS; i++) hotKeysRetire(&readers[i].hot);
    CHECK_EQ_STR(top(HOT_KEYS_CPU, 9), "a=1800000 c=1200000 d=1200000 b=600000");
    hotKeysForget();
    CHECK_EQ_INT(hotKeysMemory(), 0);
    zfree(readers);
}

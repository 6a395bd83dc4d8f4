/* command_batch_test.c -- order, batch sizes, and clients that end or pause in the middle of a batch.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net_fixture.h"
#include "rebalance.h"
#include "output_limits.h"
#include "pause.h"
#include "engine_settings.h"
#include "log.h"
#include "panic.h"
#include "record_prefetch.h"
#include "sessions.h"
#include "sliced.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static const long long batch_sizes[] = {0, 1, 2, 16, 128};

static void allGone(void) {
    CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
    dbEmpty(-1, false);
}

static void resetLog(void) {
    sdsFree(fixture_log);
    fixture_log = sdsEmpty();
}

static sds cat(sds s, const char *text) { return sdsCatLen(s, text, strlen(text)); }

#define CLIENTS 9

/* Several clients with pipelines of several blocks: the notes of each client are in order, every reply is right. */
TEST(batch_keeps_the_order_of_each_client) {
    netFixtureInit();
    uint64_t seed = unitRandomSeed();
    for (size_t size = 0; size < array_len(batch_sizes); size++) {
        engine_settings.prefetch_batch_max_size = batch_sizes[size];
        resetLog();
        int peers[CLIENTS], next[CLIENTS] = {0};
        client *c[CLIENTS];
        sds want[CLIENTS];
        for (int i = 0; i < CLIENTS; i++) {
            c[i] = fixtureConnect(&peers[i], false);
            want[i] = sdsEmpty();
        }
        for (int round = 0; round < 60; round++) {
            int i = (int)(unitRandom(&seed) % CLIENTS), n = (int)(unitRandom(&seed) % 70);
            sds wire = sdsEmpty();
            for (int k = 0; k < n; k++) {
                char words[64];
                snprintf(words, sizeof(words), "NOTE %d", next[i]);
                wire = catWords(wire, words);
                snprintf(words, sizeof(words), "ECHO %d-of-%d", next[i]++, i);
                wire = catWords(wire, words);
                want[i] = sdsCatPrintf(want[i], "+OK\r\n$%zu\r\n%s\r\n", strlen(words + 5), words + 5);
            }
            fixtureSend(peers[i], wire, sdsLen(wire));
            sdsFree(wire);
            if (unitRandom(&seed) % 4 == 0) fixtureTurn();
        }
        int seen[CLIENTS] = {0};
        for (int i = 0; i < CLIENTS; i++) {
            sds got = fixtureReceiveBytes(peers[i], sdsLen(want[i]));
            CHECK_EQ_STR(got, want[i]);
            sdsFree(got);
            sdsFree(want[i]);
        }
        for (char *p = fixture_log; *p; p = strchr(p, ' ') + 1) {
            unsigned long long id = strtoull(p, &p, 10);
            for (int i = 0; i < CLIENTS; i++)
                if (c[i]->id == id) CHECK_EQ_INT(strtol(p + 1, NULL, 10), seen[i]++);
        }
        for (int i = 0; i < CLIENTS; i++) {
            CHECK_EQ_INT(seen[i], next[i]);
            close(peers[i]);
        }
        allGone();
    }
    engine_settings.prefetch_batch_max_size = 16;
}

/* Keys are added and deleted within a batch: the replies are those of executing one command after another. */
TEST(batch_sizes_give_the_same_answers) {
    netFixtureInit();
    uint64_t seed = unitRandomSeed();
    for (size_t size = 0; size < array_len(batch_sizes); size++) {
        engine_settings.prefetch_batch_max_size = batch_sizes[size];
        sds model[12] = {NULL}, wire = sdsEmpty(), want = sdsEmpty();
        for (int i = 0; i < 4000; i++) {
            unsigned k = (unsigned)(unitRandom(&seed) % array_len(model));
            char words[400];
            switch (unitRandom(&seed) % 4) {
            case 0:
                snprintf(words, sizeof(words), "SET k%u %0*d", k, 1 + (int)(unitRandom(&seed) % 300), i);
                sdsFree(model[k]);
                model[k] = sdsNew(strrchr(words, ' ') + 1);
                want = cat(want, "+OK\r\n");
                break;
            case 1:
                snprintf(words, sizeof(words), "DEL k%u", k);
                want = cat(want, model[k] ? ":1\r\n" : ":0\r\n");
                sdsFree(model[k]);
                model[k] = NULL;
                break;
            default:
                snprintf(words, sizeof(words), "GET k%u", k);
                want = model[k] ? sdsCatPrintf(want, "$%zu\r\n%s\r\n", sdsLen(model[k]), model[k])
                                : cat(want, "$-1\r\n");
            }
            wire = catWords(wire, words);
        }
        int peer;
        fixtureConnect(&peer, false);
        fixtureSend(peer, wire, sdsLen(wire));
        sds got = fixtureReceiveBytes(peer, sdsLen(want));
        CHECK(sdsLen(got) == sdsLen(want) && !memcmp(got, want, sdsLen(got)));
        close(peer);
        allGone();
        for (size_t k = 0; k < array_len(model); k++) sdsFree(model[k]);
        sdsFree(wire);
        sdsFree(want);
        sdsFree(got);
    }
    engine_settings.prefetch_batch_max_size = 16;
}

/* ---- Into a value's table ---- */

static slice memberName(const void *entry) { return sliceStr(entry); }

static const dictType members_type = {.entryKey = memberName};
static unsigned tables_asked;

static const dict *tableOf(const void *structure) {
    tables_asked++;
    return structure;
}

static void freeTable(void *structure) { dictRelease(structure); }

/* Elements are prefetched after their keys, and counted with them; keys of other types and absent keys have none. */
TEST(batch_prefetch_goes_on_into_values) {
    static const objectTypeOps ops = {.free = freeTable, .elements = tableOf};
    static char members[][3] = {"a", "b", "c"};
    int peer;
    objectRegisterType(OBJ_SET, &ops);
    fixtureConnect(&peer, false);
    dict *d = dictCreate(&members_type);
    for (size_t i = 0; i < array_len(members); i++) dictAddNew(d, members[i], dictHash(d, sliceStr(members[i])));
    hashedKey key = hashedKeyOf(sliceStr("members"));
    dbAddTake(dbGet(0), objectCreateTake(key.name, OBJ_SET, OBJ_ENC_HASHTABLE, d), key);
    dbKeyChanged(dbGet(0), key, 0, NULL, 0);

    sds wire = catWords(sdsEmpty(), "SET text x");
    wire = catWords(wire, "ELEMENTS members a");
    wire = catWords(wire, "ELEMENTS members b c nosuch d");
    wire = catWords(wire, "ELEMENTS text a");
    wire = catWords(wire, "ELEMENTS nosuch a");
    wire = catWords(wire, "ELEMENTS members");
    long long entries = prefetch_stats.entries;
    tables_asked = 0;
    fixtureSend(peer, wire, sdsLen(wire));
    sdsFree(fixtureReceiveBytes(peer, 6 * 5));
    CHECK_EQ_INT(tables_asked, 2);
    CHECK_EQ_INT(prefetch_stats.entries - entries, 6 + 5);

    /* More elements than are hashed ahead, and than a batch holds. */
    sdsFree(wire);
    wire = catWords(sdsEmpty(), "PING");
    slice many[REQ_ELEMENTS_MAX + 20];
    many[0] = sliceStr("ELEMENTS");
    many[1] = key.name;
    for (size_t i = 2; i < array_len(many); i++) many[i] = sliceOf("abcdefghijklmnopqrstuvwxyz", i % 26);
    wire = catRequest(wire, array_len(many), many);
    fixtureSend(peer, wire, sdsLen(wire));
    sdsFree(fixtureReceiveBytes(peer, 7 + 5));

    dbDelete(dbGet(0), key);
    dbKeyChanged(dbGet(0), key, 0, NULL, 0);
    sdsFree(wire);
    close(peer);
}

TEST(batch_prefetch_is_counted) {
    int peer;
    fixtureConnect(&peer, false);
    sds wire = sdsEmpty();
    for (int i = 0; i < 32; i++) wire = catWords(wire, "GET k");
    const struct {
        long long size, batches, entries;
    } cases[] = {{0, 0, 0}, {1, 0, 0}, {16, 2, 32}, {32, 1, 32}, {128, 1, 32}};
    for (size_t i = 0; i < array_len(cases); i++) {
        engine_settings.prefetch_batch_max_size = cases[i].size;
        long long batches = prefetch_stats.batches, entries = prefetch_stats.entries;
        fixtureSend(peer, wire, sdsLen(wire));
        sdsFree(fixtureReceiveBytes(peer, 32 * 5));
        CHECK_EQ_INT(prefetch_stats.batches - batches, cases[i].batches);
        CHECK_EQ_INT(prefetch_stats.entries - entries, cases[i].entries);
    }
    engine_settings.prefetch_batch_max_size = 16;
    sdsFree(wire);
    close(peer);
    allGone();
}

static parsedCommand *recordOf(recordArena *arena, size_t argc, const slice *argv) {
    static recordCache cache;
    parsedCommand *p = recordCreate(arena, argc);
    memcpy(p->argv, argv, argc * sizeof(*argv));
    recordComplete(arena, &cache, p, object_main_owner);
    return p;
}

/* A command without keys gets no part of the time of a prefetch. A command whose keys an earlier batch has prefetched
 * gets a part of the next, as that of the earlier one was lost. */
TEST(batch_prefetch_time_is_shared_out_by_keys) {
    netFixtureInit();
    static char piece[4096];
    recordArena arena;
    recordArenaInit(&arena, piece, sizeof(piece));
    client *c = clientCreate(NULL, -1, "", "", false);
    slice get[] = {sliceStr("get"), sliceStr("a")}, del[] = {sliceStr("del"), sliceStr("a"), sliceStr("b")};
    recordItem items[] = {{c, recordOf(&arena, 2, get)},
                          {c, recordOf(&arena, 1, (slice[]){sliceStr("ping")})},
                          {c, recordOf(&arena, 3, del)},
                          {c, recordOf(&arena, 2, get)}};
    CHECK_EQ_INT(recordPrefetchShare(items[0].req, 10), 0);
    CHECK_EQ_INT(recordsPrefetch(items, 3, 16, NULL), 3);
    CHECK_EQ_INT(recordPrefetchShare(items[0].req, 10), 10);
    CHECK_EQ_INT(recordPrefetchShare(items[1].req, 10), 0);
    CHECK_EQ_INT(recordPrefetchShare(items[2].req, 10), 20);
    CHECK_EQ_INT(recordsPrefetch(items, 3, 16, NULL), 0);
    CHECK_EQ_INT(recordsPrefetch(items + 1, 3, 16, NULL), 3);
    clientFree(c);
}

TEST(batch_client_is_closed_by_another_in_the_middle) {
    netFixtureInit();
    for (size_t size = 0; size < array_len(batch_sizes); size++) {
        engine_settings.prefetch_batch_max_size = batch_sizes[size];
        resetLog();
        int a, b;
        client *killer = fixtureConnect(&a, false), *victim = fixtureConnect(&b, false);
        char words[64];
        snprintf(words, sizeof(words), "KILL %llu", (unsigned long long)victim->id);
        sds wire = catWords(catWords(sdsEmpty(), words), "NOTE still");
        sds many = sdsEmpty();
        for (int i = 0; i < 300; i++) many = catWords(many, "SET never value");
        /* The client that kills is read first or second; in both cases no command runs for the killed client
         * afterwards. */
        fixtureSend(a, wire, sdsLen(wire));
        fixtureSend(b, many, sdsLen(many));
        sds got = fixtureReceiveBytes(a, 10);
        CHECK_EQ_STR(got, "+OK\r\n+OK\r\n");
        snprintf(words, sizeof(words), "%llu:still ", (unsigned long long)killer->id);
        CHECK_EQ_STR(fixture_log, words);
        for (int i = 0; i < 5; i++) fixtureTurn();
        CHECK_EQ_INT(listLength(client_state.clients), 1);
        close(a);
        close(b);
        allGone();
        sdsFree(wire);
        sdsFree(many);
        sdsFree(got);
    }
    engine_settings.prefetch_batch_max_size = 16;
}

TEST(batch_paused_clients_go_on) {
    netFixtureInit();
    resetLog();
    int a, b;
    fixtureConnect(&a, false);
    fixtureConnect(&b, false);
    pauseClients(PAUSE_BY_CLIENT_COMMAND, PAUSE_WRITES, clockWallMs() + 100000);
    sds wire = catWords(catWords(catWords(sdsEmpty(), "GET k"), "SET k v"), "GET k");
    fixtureSend(a, wire, sdsLen(wire));
    fixtureSend(b, wire, sdsLen(wire));
    for (int i = 0; i < 5; i++) fixtureTurn();
    sds got = sdsEmpty();
    fixtureReceive(a, &got);
    CHECK_EQ_STR(got, "$-1\r\n"); /* the read has run, the write and everything after it wait */
    CHECK_EQ_INT(pausePostponed(), 2);
    fixtureSend(a, wire, sdsLen(wire)); /* more requests arrive meanwhile */
    close(b);                           /* and one client closes */
    for (int i = 0; i < 5; i++) fixtureTurn();
    CHECK_EQ_INT(pausePostponed(), 1);
    unpauseClients(PAUSE_BY_CLIENT_COMMAND);
    sdsFree(got);
    const char *want = "+OK\r\n$1\r\nv\r\n$1\r\nv\r\n+OK\r\n$1\r\nv\r\n";
    got = fixtureReceiveBytes(a, strlen(want));
    CHECK_EQ_STR(got, want);
    CHECK_EQ_INT(pausePostponed(), 0);
    sdsFree(got);
    sdsFree(wire);
    close(a);
    allGone();
}

/* When many clients resume at once, others are served in between: they resume as they are executed, in their order. */
TEST(batch_paused_clients_go_on_by_and_by) {
    enum { HELD = 200, AT_ONCE = 64 };
    netFixtureInit();
    int peers[HELD];
    pauseClients(PAUSE_BY_CLIENT_COMMAND, PAUSE_ALL, clockWallMs() + 100000);
    for (size_t i = 0; i < HELD; i++) {
        fixtureConnect(&peers[i], false);
        fixtureSend(peers[i], "HELD\r\n", 6);
        for (int k = 0; k < 100 && pausePostponed() <= i; k++) fixtureTurn();
    }
    CHECK_EQ_INT(pausePostponed(), HELD);
    unpauseClients(PAUSE_BY_CLIENT_COMMAND);
    for (size_t i = 0; i < HELD; i++) {
        size_t left = i < 3 * AT_ONCE ? HELD - (i / AT_ONCE + 1) * AT_ONCE : 0;
        sds want = sdsCatPrintf(sdsEmpty(), ":%zu\r\n", left);
        sds got = fixtureReceiveBytes(peers[i], sdsLen(want));
        CHECK_EQ_STR(got, want);
        sdsFree(got);
        sdsFree(want);
    }
    for (size_t i = 0; i < HELD; i++) close(peers[i]);
    allGone();
}

/* A client that a command resumes is served in the same iteration, as there may be no other event for long. */
TEST(batch_unpaused_clients_do_not_wait_for_an_iteration) {
    netFixtureInit();
    int a, b;
    fixtureConnect(&a, false);
    fixtureConnect(&b, false);
    resetLog();
    pauseClients(PAUSE_BY_CLIENT_COMMAND, PAUSE_WRITES, clockWallMs() + 100000);
    fixtureSend(a, "SET k v\r\nNOTE on\r\n", 18);
    for (int i = 0; i < 100 && pausePostponed() == 0; i++) fixtureTurn();
    CHECK_EQ_INT(pausePostponed(), 1);
    fixtureSend(b, "UNPAUSE\r\n", 9);
    for (int i = 0; i < 100 && pauseNow() != PAUSE_NONE; i++) fixtureTurn();
    CHECK_EQ_INT(pausePostponed(), 0);
    CHECK(strstr(fixture_log, ":on ") != NULL);
    close(a);
    close(b);
    allGone();
}

/* Clients end anywhere in a queue of waiting clients: the others keep their positions. */
static void endAnywhere(bool paused, uint64_t *seed) {
    int peers[CLIENTS];
    client *c[CLIENTS];
    bool closed[CLIENTS] = {false};
    size_t left = CLIENTS, kept = unitRandom(seed) % (CLIENTS + 1);
    resetLog();
    if (paused) pauseClients(PAUSE_BY_CLIENT_COMMAND, PAUSE_ALL, clockWallMs() + 100000);
    else fixtureSuspend(true);
    for (int i = 0; i < CLIENTS; i++) {
        c[i] = fixtureConnect(&peers[i], false);
        fixtureSend(peers[i], "NOTE here\r\n", 11);
        while (!(c[i]->flags & (paused ? CLIENT_PAUSED : CLIENT_READY))) fixtureTurn();
    }
    CHECK_EQ_INT(pausePostponed(), paused ? CLIENTS : 0);
    while (left > kept) {
        size_t i = unitRandom(seed) % CLIENTS;
        if (closed[i]) continue;
        closed[i] = true;
        clientCloseAsap(c[i]);
        sessionsFreeClosing();
        left--;
        batchCheck();
        CHECK_EQ_INT(pausePostponed(), paused ? left : 0);
    }
    sds want = sdsEmpty();
    for (int i = 0; i < CLIENTS; i++)
        if (!closed[i]) want = sdsCatPrintf(want, "%llu:here ", (unsigned long long)c[i]->id);
    if (paused) unpauseClients(PAUSE_BY_CLIENT_COMMAND);
    else fixtureSuspend(false);
    for (int i = 0; i < CLIENTS; i++) {
        if (!closed[i]) {
            sds got = fixtureReceiveBytes(peers[i], 5);
            CHECK_EQ_STR(got, "+OK\r\n");
            sdsFree(got);
        }
        close(peers[i]);
    }
    CHECK_EQ_STR(fixture_log, want);
    sdsFree(want);
    allGone();
}

TEST(batch_waiting_clients_end_anywhere) {
    netFixtureInit();
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 60; round++) endAnywhere(round % 2, &seed);
}

/* A client is freed at any stage: parsed and not executed, executed and not flushed, with half a block. */
TEST(batch_client_ends_with_blocks_in_flight) {
    for (size_t stage = 0; stage < 40; stage++) {
        int peer;
        client *c = fixtureConnect(&peer, false);
        sds wire = sdsEmpty();
        for (int i = 0; i < 40; i++) wire = catWords(wire, "SET key a-value-that-is-built-ahead-of-its-time");
        engine_settings.prefetch_batch_max_size = 128; /* more than arrive: nothing runs while they are read */
        fixtureSuspend(true);
        for (int i = 0; i < 3; i++) {
            fixtureSend(peer, wire, sdsLen(wire));
            fixtureTurn();
        }
        if (stage == 0) CHECK(c->blocks_head != NULL && c->blocks_head != c->blocks_tail);
        engine_settings.prefetch_batch_max_size = 1;
        batchExecute(stage * 3);
        engine_settings.prefetch_batch_max_size = 16;
        if (stage % 3 == 0) sessionsFlush();
        clientCloseAsap(c);
        sessionsFreeClosing();
        fixtureSuspend(false);
        close(peer);
        allGone();
        sdsFree(wire);
    }
}

TEST(batch_half_closed_clients_get_their_replies) {
    netFixtureInit();
    for (int quit = 0; quit < 2; quit++) {
        int peer;
        client *c = fixtureConnect(&peer, false);
        sds wire = sdsEmpty(), want = sdsEmpty();
        for (int i = 0; i < 30; i++) {
            wire = catWords(wire, "ECHO hello");
            want = cat(want, "$5\r\nhello\r\n");
        }
        if (quit) {
            wire = catWords(wire, "QUIT");
            want = cat(want, "+OK\r\n");
            wire = catWords(wire, "ECHO never");
        }
        engine_settings.prefetch_batch_max_size = 128;
        fixtureSuspend(true);
        fixtureSend(peer, wire, sdsLen(wire));
        shutdown(peer, SHUT_WR);
        for (int i = 0; i < 3; i++) fixtureTurn(); /* requests and end of input have arrived before anything has run */
        CHECK(c->io->ended);
        engine_settings.prefetch_batch_max_size = 16;
        fixtureSuspend(false);
        sds got = fixtureReceiveBytes(peer, sdsLen(want) + 1);
        CHECK_EQ_STR(got, want);
        close(peer);
        allGone();
        sdsFree(got);
        sdsFree(want);
        sdsFree(wire);
    }
}

typedef struct laterSends {
    const int *peers;
    const char *const *sent;
    int from, to;
} laterSends;

static void *sendLater(void *arg) {
    const laterSends *later = arg;
    for (int i = later->from; i < later->to; i++) {
        poll(NULL, 0, 100);
        CHECK(send(later->peers[i], later->sent[i], strlen(later->sent[i]), MSG_NOSIGNAL) > 0);
    }
    return NULL;
}

/* While LONG runs, other clients get the commands that it allows or its error, also those in the same batch; commands
 * after it in its own pipeline wait. */
static void workLong(int threads) {
    netFixtureInit();
    const char *err = NULL;
    net_settings.io_threads = threads;
    CHECK(netApplyThreads(&err));
    for (int i = 0; i < 50; i++) fixtureTurn();
    int peers[4];
    for (int i = 0; i < 4; i++) fixtureConnect(&peers[i], false);
    for (int i = 0; i < 50; i++) fixtureTurn();
    static const char *const sent[] = {"LONG\r\nECHO behind\r\n", "ECHO refused\r\nNOTE x\r\n", "LONG\r\n",
                                       "NOTE enough\r\nECHO z\r\n"};
    static const char *const want[] = {"*1\r\n$4\r\ndone\r\n$6\r\nbehind\r\n", "-BUSY somebody works\r\n+OK\r\n",
                                       "-BUSY somebody works\r\n", "+OK\r\n"};
    int at_once = threads == 1 ? 3 : 1; /* with one thread the first three are in one batch */
    fixtureSuspend(threads == 1);
    for (int i = 0; i < at_once; i++) {
        CHECK(send(peers[i], sent[i], strlen(sent[i]), MSG_NOSIGNAL) > 0);
        if (threads == 1) fixtureTurn();
    }
    fixtureSuspend(false);
    laterSends later = {.peers = peers, .sent = sent, .from = at_once, .to = 4};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sendLater, &later) == 0);
    for (int i = 0; i < 4; i++) {
        sds got = fixtureReceiveBytes(peers[i], strlen(want[i]));
        CHECK(!strncmp(got, want[i], strlen(want[i])));
        sdsFree(got);
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; i++) close(peers[i]);
    allGone();
    net_settings.io_threads = 1;
    CHECK(netApplyThreads(&err));
    for (int i = 0; i < 50; i++) fixtureTurn();
}

TEST(batch_long_command_lets_others_in) { workLong(1); }

TEST(batch_long_command_lets_others_in_on_a_thread) { workLong(3); }

/* While PIN reads a value in slices, other clients run commands. A write to its key waits, with what follows it, and so
 * does another PIN. */
static void workPinned(int threads) {
    netFixtureInit();
    const char *err = NULL;
    net_settings.io_threads = threads;
    CHECK(netApplyThreads(&err));
    int peers[6];
    for (int i = 0; i < 6; i++) fixtureConnect(&peers[i], false);
    for (int i = 0; i < 50; i++) fixtureTurn();
    static const char *const sent[] = {
        "SET k v\r\nSET j u\r\nPIN k\r\nECHO behind\r\n", "SET k w\r\nGET k\r\n", "PIN j now\r\nGET k\r\n",
        "GET k\r\nSET other 1\r\nGET other\r\n",          "DEL other k\r\n",      "GET other\r\nNOTE enough\r\n"};
    static const char *const want[] = {"+OK\r\n+OK\r\n$1\r\nv\r\n$6\r\nbehind\r\n",
                                       "+OK\r\n$1\r\nw\r\n",
                                       "$1\r\nu\r\n",
                                       "$1\r\nv\r\n+OK\r\n$1\r\n1\r\n",
                                       ":2\r\n",
                                       "$1\r\n1\r\n+OK\r\n"};
    size_t was = sliced_from;
    long long sliced = engine_stats.commands_sliced, hits = store_stats.keyspace_hits;
    sliced_from = 1;
    laterSends later = {.peers = peers, .sent = sent, .from = 0, .to = 6};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sendLater, &later) == 0);
    for (int i = 0; i < 6; i++) {
        sds got = fixtureReceiveBytes(peers[i], strlen(want[i]));
        CHECK(!strncmp(got, want[i], strlen(want[i])));
        sdsFree(got);
    }
    pthread_join(thread, NULL);
    CHECK_EQ_INT(engine_stats.commands_sliced, sliced + 1); /* the other one waited, and then had nothing to wait for */
    CHECK(store_stats.keyspace_hits <= hits + 8);
    sliced_from = was;
    for (int i = 0; i < 6; i++) close(peers[i]);
    allGone();
    net_settings.io_threads = 1;
    CHECK(netApplyThreads(&err));
    for (int i = 0; i < 50; i++) fixtureTurn();
}

TEST(batch_pinned_value_is_not_written) { workPinned(1); }

TEST(batch_pinned_value_is_not_written_with_threads) { workPinned(3); }

typedef struct napping {
    int worker, other; /* peers */
    _Atomic int stop;
} napping;

static void *sendNaps(void *arg) {
    napping *n = arg;
    poll(NULL, 0, 20);
    CHECK(send(n->worker, "LONG\r\n", 6, MSG_NOSIGNAL) == 6);
    for (int i = 0; i < 100 && !atomic_load(&n->stop); i++) {
        static const char naps[] = "NAP 500\r\nNOTE enough\r\n";
        poll(NULL, 0, 50);
        CHECK(send(n->other, naps, sizeof(naps) - 1, MSG_NOSIGNAL) > 0);
    }
    return NULL;
}

static long long onAlarm(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id);
    *(int *)arg = panicHoldsMainRole() ? 1 : -1;
    return AE_NOMORE;
}

/* A thread runs a long command and serves another client meanwhile, whose command is slow, too, when a timer of main's
 * own thread is due: the timer waits for the role. */
TEST(batch_timers_wait_for_a_job_on_a_thread) {
    netFixtureInit();
    const char *err = NULL;
    net_settings.io_threads = 2;
    CHECK(netApplyThreads(&err));
    napping n = {.stop = 0};
    for (int i = 0; i < 50; i++) fixtureTurn();
    fixtureConnect(&n.worker, false);
    fixtureConnect(&n.other, false);
    for (int i = 0; i < 50; i++) fixtureTurn();
    int alarm = 0;
    pthread_t thread;
    aeCreateTimeEvent(fixture_loop, 250, onAlarm, &alarm);
    CHECK(pthread_create(&thread, NULL, sendNaps, &n) == 0);
    uint64_t end = clockMonotonicMs() + 20000;
    while (!alarm && clockMonotonicMs() < end) aeProcessEvents(fixture_loop, AE_ALL_EVENTS);
    CHECK_EQ_INT(alarm, 1);
    atomic_store(&n.stop, 1);
    pthread_join(thread, NULL);
    sds got = fixtureReceiveBytes(n.worker, 14);
    CHECK_EQ_STR(got, "*1\r\n$4\r\ndone\r\n");
    sdsFree(got);
    close(n.worker);
    close(n.other);
    allGone();
    net_settings.io_threads = 1;
    CHECK(netApplyThreads(&err));
    for (int i = 0; i < 50; i++) fixtureTurn();
}

static client *told; /* borrowed; gets a reply from the job of the next iteration, or from a timer */

static void tellInTurn(void) {
    if (told) addReplyOk(told);
    told = NULL;
}

static long long tellByTimer(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id);
    addReplyOk(arg);
    return AE_NOMORE;
}

/* Output that eviction, expiry and similar jobs add for clients does not wait for the next event. */
TEST(batch_output_of_jobs_and_timers_leaves_at_once) {
    netFixtureInit();
    static bool registered;
    if (!registered) netEachIteration(tellInTurn);
    registered = true;
    int peer;
    client *c = fixtureConnect(&peer, false);
    sds got = sdsEmpty();
    for (int i = 0; i < 5; i++) fixtureTurn();
    told = c;
    fixtureTurn();
    CHECK(fixtureReceive(peer, &got));
    CHECK_EQ_STR(got, "+OK\r\n");
    aeCreateTimeEvent(fixture_loop, 0, tellByTimer, c);
    for (int i = 0; i < 5 && sdsLen(got) == 5; i++) { /* in the iteration after the timer's, which does not wait */
        fixtureTurn();
        CHECK(fixtureReceive(peer, &got));
    }
    CHECK_EQ_STR(got, "+OK\r\n+OK\r\n");
    sdsFree(got);
    close(peer);
    allGone();
}

/* Requests that wait for an AUTH are parsed when main returns the block, and may run at once: their replies come after
 * that of AUTH. */
TEST(batch_replies_keep_their_order_behind_auth) {
    int peer;
    client *c = fixtureConnect(&peer, false);
    c->authenticated = false;
    ioMessage m = {.type = IO_MSG_OUTPUT, .io = c->io};
    ioThreadPost(ioThreadMain(), &m);
    sds wire = catWords(sdsEmpty(), "AUTH x"), want = cat(sdsEmpty(), "+OK\r\n");
    wire = catWords(wire, "DEL a b c d e f g h i j k l");
    want = cat(want, ":0\r\n");
    for (int i = 0; i < 100; i++) {
        wire = catWords(wire, "ECHO e");
        want = cat(want, "$1\r\ne\r\n");
    }
    fixtureSend(peer, wire, sdsLen(wire));
    sds got = fixtureReceiveBytes(peer, sdsLen(want));
    CHECK_EQ_STR(got, want);
    sdsFree(got);
    sdsFree(want);
    sdsFree(wire);
    close(peer);
    allGone();
}

/* Connections move because of a command in the middle of a pipeline of several blocks. */
TEST(batch_threads_change_inside_a_pipeline) {
    for (int round = 0; round < 20; round++) {
        int peers[4];
        for (int i = 0; i < 4; i++) fixtureConnect(&peers[i], round % 2);
        sds wire = sdsEmpty(), want = sdsEmpty();
        for (int i = 0; i < 2000; i++) {
            char words[64];
            snprintf(words, sizeof(words), "ECHO reply-%d", i);
            if (i % 400 == 200) {
                wire = catWords(wire, i % 800 == 200 ? "THREADS 4" : "THREADS 1");
                want = cat(want, "+OK\r\n");
            } else {
                wire = catWords(wire, words);
                want = sdsCatPrintf(want, "$%zu\r\n%s\r\n", strlen(words + 5), words + 5);
            }
        }
        for (int i = 0; i < 4; i++) fixtureSend(peers[i], wire, sdsLen(wire));
        for (int i = 0; i < 4; i++) {
            sds got = fixtureReceiveBytes(peers[i], sdsLen(want));
            CHECK_EQ_STR(got, want);
            sdsFree(got);
            close(peers[i]);
        }
        CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
        ioThreadsReap(rebalanceIsIdle);
        sdsFree(wire);
        sdsFree(want);
    }
    net_settings.io_threads = 1;
    const char *err = NULL;
    CHECK(netApplyThreads(&err));
    fixtureTurn();
    CHECK_EQ_INT(ioThreadsCount(), 1);
    dbEmpty(-1, false);
}

/* --- a client that does not read ---------------------------------------------------------------------- */

#define FULL_BYTES 300000
#define FULL_COMMANDS 5000 /* few enough bytes for the sockets and the owner thread, so that sending never blocks */

typedef struct fullRig {
    client *c;
    int peer;
    sds want;
} fullRig;

static bool isFull(void *arg) { return ((const client *)arg)->flags & CLIENT_OUTPUT_FULL; }

static bool isNotFull(void *arg) { return !isFull(arg); }

/* Opens a client that has requested far more than it may leave unread, and has read nothing. */
static fullRig fullOpen(bool tcp) {
    fullRig rig = {.want = sdsEmpty()};
    rig.c = fixtureConnect(&rig.peer, tcp);
    outputFullSetBytes(FULL_BYTES);
    resetLog();
    sds value = sdsGrowZero(sdsEmpty(), 20000);
    sds wire = sdsCatPrintf(sdsEmpty(), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%zu\r\n", sdsLen(value));
    wire = sdsCatLen(sdsCatSlice(wire, sdsSlice(value)), "\r\n", 2);
    rig.want = cat(rig.want, "+OK\r\n");
    for (int i = 1; i < FULL_COMMANDS; i++) {
        bool get = i % 2;
        wire = catWords(wire, get ? "GET k" : "NOTE n");
        rig.want = get ? sdsCatPrintf(rig.want, "$%zu\r\n", sdsLen(value)) : cat(rig.want, "+OK\r\n");
        if (get) rig.want = sdsCatLen(sdsCatSlice(rig.want, sdsSlice(value)), "\r\n", 2);
    }
    fixtureSend(rig.peer, wire, sdsLen(wire));
    /* It may be full several times, until the socket accepts no more. */
    long long ran = -1;
    for (int same = 0; same < 100; same++) {
        fixtureTurn();
        if (ran != rig.c->commands || !isFull(rig.c)) same = 0;
        ran = rig.c->commands;
    }
    CHECK(ran < FULL_COMMANDS);
    /* At most one command beyond the limit, and a block. */
    CHECK(rig.c->output_memory < FULL_BYTES + 20000 + REPLY_BLOCK_LARGE);
    sdsFree(value);
    sdsFree(wire);
    return rig;
}

static void fullReadAll(fullRig *rig) {
    sds got = fixtureReceiveBytes(rig->peer, sdsLen(rig->want));
    CHECK_EQ_INT(sdsLen(got), sdsLen(rig->want));
    CHECK(sdsLen(got) == sdsLen(rig->want) && !memcmp(got, rig->want, sdsLen(got)));
    sdsFree(got);
}

static void fullClose(fullRig *rig) {
    if (rig->peer >= 0) close(rig->peer);
    allGone();
    sdsFree(rig->want);
    outputFullSetBytes(OUTPUT_FULL_BYTES);
}

static void useThreads(int n) {
    const char *err = NULL;
    netFixtureInit();
    net_settings.io_threads = n;
    net_settings.io_threads_always_active = true;
    CHECK(netApplyThreads(&err));
    fixtureTurn();
}

TEST(batch_unread_output_holds_commands_until_it_is_read) {
    for (int round = 0; round < 4; round++) {
        useThreads(round / 2 ? 3 : 1);
        fullRig rig = fullOpen(round % 2);
        int other;
        client *served = fixtureConnect(&other, false);
        fixtureSend(other, "PING\r\n", 6); /* a client that reads is served */
        sds got = fixtureReceiveBytes(other, 7);
        CHECK_EQ_STR(got, "+PONG\r\n");
        CHECK(!isFull(served));
        sdsFree(got);
        close(other);
        fullReadAll(&rig);
        CHECK(fixtureUntil(isNotFull, rig.c, 10000));
        CHECK_EQ_INT(rig.c->commands, FULL_COMMANDS);
        fullClose(&rig);
    }
    useThreads(1);
}

/* In whatever way it ends, it does end, and nothing leaks. */
TEST(batch_unread_output_and_the_end_of_the_client) {
    enum { HALF_CLOSED, GONE, HALF_CLOSED_THEN_GONE, KILLED, PAUSED, LIMITED, ENDS };
    for (int threads = 1; threads <= 3; threads += 2)
        for (int end = 0; end < ENDS; end++)
            for (int tcp = 0; tcp < 2; tcp++) {
                const char *err = NULL;
                useThreads(threads);
                fullRig rig = fullOpen(tcp);
                switch (end) {
                case HALF_CLOSED: /* all earlier requests get their reply, then the server closes */
                    shutdown(rig.peer, SHUT_WR);
                    for (int i = 0; i < 20; i++) fixtureTurn();
                    fullReadAll(&rig);
                    CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
                    break;
                case HALF_CLOSED_THEN_GONE:
                    shutdown(rig.peer, SHUT_WR);
                    for (int i = 0; i < 20; i++) fixtureTurn();
                    break;
                case KILLED: clientCloseAsap(rig.c); break;
                case PAUSED: /* two reasons to wait, which end one after the other */
                    pauseClients(PAUSE_BY_CLIENT_COMMAND, PAUSE_ALL, clockWallMs() + 100000);
                    sdsFree(fixtureReceiveBytes(rig.peer, FULL_BYTES));
                    CHECK(fixtureUntil(isNotFull, rig.c, 10000));
                    unpauseClients(PAUSE_BY_CLIENT_COMMAND);
                    CHECK(fixtureUntil(isFull, rig.c, 10000));
                    break;
                case LIMITED: { /* the limit is set while it waits, and is noticed without an action of the client */
                    char *words[] = {"normal", "100000", "0", "0"}, *none[] = {"normal", "0", "0", "0"};
                    CHECK(outputLimitsSet(NULL, words, 4, &err));
                    netCron();
                    CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
                    CHECK(outputLimitsSet(NULL, none, 4, &err));
                    break;
                }
                default: break;
                }
                fullClose(&rig);
            }
    useThreads(1);
}

/* --- batchCheck() itself -------------------------------------------------------------------------------- */

typedef void damageFn(client *a, client *b);

static void readyNotQueued(client *a, client *b) {
    unused(b);
    batchForget(a);
    a->flags |= CLIENT_READY;
}
static void queuedNotReady(client *a, client *b) {
    unused(b);
    a->flags &= ~CLIENT_READY;
}
static void commandsForgotten(client *a, client *b) {
    unused(b);
    batchForget(a);
}
static void queuedTwice(client *a, client *b) { b->next_ready = a; }
static void queueCutShort(client *a, client *b) {
    unused(b);
    a->next_ready = NULL;
}
static void queueCutShortBackwards(client *a, client *b) {
    unused(a);
    b->prev_ready = NULL;
}
static void readyWithoutCommands(client *a, client *b) {
    unused(b);
    a->blocks_head = a->blocks_tail = NULL;
    a->input_bytes = 0;
}
static void tailIsNotLast(client *a, client *b) { a->blocks_tail = b->blocks_tail; }
static void currentOfAnotherBlock(client *a, client *b) { a->blocks_head->current = b->blocks_head->current; }
static void currentBeyondTheEnd(client *a, client *b) {
    unused(b);
    a->blocks_head->current = NULL;
}
static void laterBlockBegun(client *a, client *b) {
    a->blocks_tail = a->blocks_head->next = b->blocks_head;
    a->input_bytes += b->blocks_head->wire_bytes;
    b->blocks_head->current = b->blocks_head->first->next;
}
static void recordsMissing(client *a, client *b) {
    unused(b);
    a->blocks_head->commands++;
}
static void recordsCutShort(client *a, client *b) {
    unused(b);
    a->blocks_head->first->next = NULL;
}
static void bytesMissing(client *a, client *b) {
    unused(b);
    a->input_bytes--;
}

typedef struct damage {
    damageFn *make;
    const char *expected; /* part of the condition that must be reported as failed */
    client *a, *b;        /* runnable, with a block each */
} damage;

static void checkDamaged(void *arg) {
    damage *d = arg;
    logSetLevel(LL_WARNING); /* so that the assertion is reported */
    batchCheck();
    printf("sound\n");
    fflush(stdout);
    d->make(d->a, d->b);
    batchCheck();
}

TEST(batch_check_finds_damage) {
    static damage kinds[] = {{.make = readyNotQueued, .expected = "ready == 0"},
                             {.make = queuedNotReady, .expected = "CLIENT_READY"},
                             {.make = commandsForgotten, .expected = "batchMayExecute"},
                             {.make = queuedTwice, .expected = "ready > 0"},
                             {.make = queueCutShort, .expected = "ready == 0"},
                             {.make = queueCutShortBackwards, .expected = "prev_ready"},
                             {.make = readyWithoutCommands, .expected = "blocks_head != NULL"},
                             {.make = tailIsNotLast, .expected = "blocks_tail == last"},
                             {.make = currentOfAnotherBlock, .expected = "current_seen"},
                             {.make = currentBeyondTheEnd, .expected = "current_seen"},
                             {.make = laterBlockBegun, .expected = "b->current == b->first"},
                             {.make = recordsMissing, .expected = "records == b->commands"},
                             {.make = recordsCutShort, .expected = "b->last"},
                             {.make = bytesMissing, .expected = "input_bytes == bytes"}};
    int peers[2];
    client *a = fixtureConnect(&peers[0], false), *b = fixtureConnect(&peers[1], false);
    fixtureTurn();
    fixtureSuspend(true);
    for (int i = 0; i < 2; i++) {
        fixtureSend(peers[i], "PING\r\nPING\r\nPING\r\n", 18);
        while (!(i ? b : a)->blocks_head) fixtureTurn();
    }
    CHECK(a->flags & b->flags & CLIENT_READY);
    for (size_t i = 0; i < array_len(kinds); i++) {
        char out[8192];
        kinds[i].a = a;
        kinds[i].b = b;
        bool found = CHECK(unitInChild(checkDamaged, &kinds[i], out, sizeof(out)) != 0);
        const char *damaged = strstr(out, "sound\n");
        found &= CHECK(damaged != NULL && strstr(damaged, kinds[i].expected) != NULL);
        if (!found) printf("%zu (%s): %s\n", i, kinds[i].expected, out);
    }
    fixtureSuspend(false);
    for (int i = 0; i < 2; i++) {
        sds got = fixtureReceiveBytes(peers[i], 21);
        CHECK_EQ_STR(got, "+PONG\r\n+PONG\r\n+PONG\r\n");
        sdsFree(got);
        close(peers[i]);
    }
    allGone();
}

/* --- memory that comes back ---------------------------------------------------------------------------- */

#if !defined(USE_LIBC_MALLOC)
#define SPENT 65536

/* Allocates all memory, continues as long as the reserve allows, and frees all. */
static void runShort(void) {
    static void *all[4096];
    size_t n = 0;
    while (n < array_len(all) && (all[n] = ztrymalloc(SPENT))) n++;
    if (n == array_len(all)) _exit(43); /* there is no limit */
    zfree(zmalloc(SPENT));              /* would end the process without the reserve */
    while (n) zfree(all[--n]);
}

static void runShortAgain(void *arg) {
    int peer;
    unused(arg);
    client *c = fixtureConnect(&peer, false);
    fixtureTurn();
    zmallocKeepReserve();
    if (!unitLittleMemory(32u << 20)) _exit(43);
    runShort();
    clientCloseAsap(c);
    sessionsFreeClosing();
    runShort();
    fixtureTurn();
    runShort();
    _exit(0);
}
#endif

/* The reserve does not wait for a tick of the server: it is made again from memory that clients free, and in an
 * iteration. */
TEST(batch_makes_the_reserve_again_when_memory_is_back) {
#if !defined(USE_LIBC_MALLOC)
    netFixtureInit();
    int status = unitInChild(runShortAgain, NULL, NULL, 0);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 43));
#endif
}

#if !defined(USE_LIBC_MALLOC)
#define WAIT_LEAST_MS 10 /* half of RESERVE_TRIES, to allow for coarse clocks */

/* Without memory and reserve, the request is read only after waiting for memory without success for at least this
 * time. */
static void readWithoutReserve(void *arg) {
    static void *all[4096];
    size_t n = 0;
    int peer;
    unused(arg);
    fixtureConnect(&peer, false);
    for (int i = 0; i < 2; i++) { /* what one request takes is available from the first on */
        fixtureSend(peer, "PING\r\n", 6);
        sdsFree(fixtureReceiveBytes(peer, 7));
    }
    zmallocKeepReserve();
    if (!unitLittleMemory(32u << 20)) _exit(43);
    while (n < array_len(all) && (all[n] = ztrymalloc(SPENT))) n++;
    if (n == array_len(all)) _exit(43); /* there is no limit */
    zfree(zmalloc(SPENT));              /* uses the reserve */
    while (n < array_len(all) && (all[n] = ztrymalloc(SPENT))) n++;
    if (zmallocKeepReserve()) _exit(44);
    if (send(peer, "PING\r\n", 6, MSG_NOSIGNAL) != 6) _exit(45);
    uint64_t begin = clockMonotonicMs();
    fixtureTurn();
    uint64_t took = clockMonotonicMs() - begin;
    while (n) zfree(all[--n]);
    sds got = fixtureReceiveBytes(peer, 7);
    if (strcmp(got, "+PONG\r\n")) _exit(46);
    _exit(took >= WAIT_LEAST_MS ? 0 : 47);
}
#endif

/* A thread without a reserve begins no request before it has given others time to free memory. */
TEST(batch_waits_for_memory_before_it_reads) {
#if !defined(USE_LIBC_MALLOC)
    netFixtureInit();
    int status = unitInChild(readWithoutReserve, NULL, NULL, 0);
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) != 43) CHECK_EQ_INT(WEXITSTATUS(status), 0);
#endif
}

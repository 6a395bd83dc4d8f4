/* session_fan_test.c -- messages for many clients over sockets: each gets all of its own, in order, among its replies.
 *
 * A model keeps what each client must read. Some do not read for a while, some close, protocols change, output is held,
 * connections move between threads.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fan_out.h"
#include "net_fixture.h"
#include "rebalance.h"
#include "net_settings.h"
#include "reply_hold.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLIENTS 24
#define AUDIENCES 4

static struct {
    client *c[CLIENTS]; /* NULL if closed */
    int peer[CLIENTS];
    sds want[CLIENTS];
    bool reads[CLIENTS]; /* the sockets of the others fill up */
    sds got[CLIENTS];
} crowd;

static struct {
    client *members[CLIENTS];
    int index[CLIENTS];
    fanAudience to;
} audiences[AUDIENCES];
static uint64_t versions;

static struct {
    holdSequence seq;
    uint64_t offset; /* of the last hold */
    bool waits;      /* output of main is held */
} hold = {.seq = -1};

static bool gate(holdSequence *seq, uint64_t *offset) {
    if (!hold.waits) return false;
    *seq = hold.seq;
    *offset = ++hold.offset;
    return true;
}

static void choose(int a, uint64_t *seed) {
    size_t n = 0;
    for (int i = 0; i < CLIENTS; i++) {
        if (!crowd.c[i] || unitRandom(seed) % 3 == 0) continue;
        audiences[a].index[n] = i;
        audiences[a].members[n++] = crowd.c[i];
    }
    audiences[a].to = (fanAudience){audiences[a].members, n, ++versions};
}

static void publish(int a, size_t body_len, unsigned number) {
    char head[64];
    sds body = sdsCatPrintf(sdsEmpty(), "%u:", number);
    while (sdsLen(body) < body_len) body = sdsCatLen(body, "0123456789abcdef", 16);
    int n = snprintf(head, sizeof(head), "2\r\n+m\r\n$%zu\r\n", sdsLen(body));
    fanText t = {sliceOf(head, (size_t)n), sdsSlice(body), sliceStr("\r\n")};
    for (size_t i = 0; i < audiences[a].to.count; i++) {
        sds *want = &crowd.want[audiences[a].index[i]];
        char mark = fanMark(audiences[a].members[i]->resp);
        *want =
            sdsCatLen(sdsCatLen(sdsCatLen(sdsCatLen(*want, &mark, 1), head, (size_t)n), body, sdsLen(body)), "\r\n", 2);
    }
    fanOut(&audiences[a].to, &t);
    sdsFree(body);
}

static void reply(int i, unsigned number) {
    char text[32];
    int n = snprintf(text, sizeof(text), "+reply %u\r\n", number);
    crowd.want[i] = sdsCatLen(crowd.want[i], text, (size_t)n);
    addReplyProto(crowd.c[i], text, (size_t)n);
}

static void leave(int i) {
    crowd.c[i] = NULL;
    close(crowd.peer[i]);
}

static void readAll(void) {
    for (int i = 0; i < CLIENTS; i++)
        if (crowd.c[i] && crowd.reads[i]) CHECK(fixtureReceive(crowd.peer[i], &crowd.got[i]));
}

static bool allThere(void *arg) {
    unused(arg);
    readAll();
    for (int i = 0; i < CLIENTS; i++)
        if (crowd.c[i] && sdsLen(crowd.got[i]) < sdsLen(crowd.want[i])) return false;
    return true;
}

static bool noneOwes(void *arg) {
    unused(arg);
    for (int i = 0; i < CLIENTS; i++)
        if (crowd.c[i] && (crowd.c[i]->output_memory || crowd.c[i]->output_bytes || crowd.c[i]->output_blocks))
            return false;
    return true;
}

static void askForThreads(int n) {
    const char *err = NULL;
    net_settings.io_threads = n;
    net_settings.io_threads_always_active = n > 1;
    CHECK(netApplyThreads(&err));
}

static void setThreads(int n) {
    askForThreads(n);
    fixtureTurn();
    if (n == 1) CHECK(fixtureUntil(fixtureOnlyMain, NULL, 10000));
}

static void step(uint64_t *seed, unsigned number, int threads) {
    int a = (int)(unitRandom(seed) % AUDIENCES), i = (int)(unitRandom(seed) % CLIENTS);
    uint64_t what = unitRandom(seed) % 100;
    if (what < 70) {
        /* Some runs have the same clients as before; sizes on both sides of the limits for copying and joining. */
        const size_t sizes[] = {3, 100, 100, 3000, 5000, 30000, 70000, 400000};
        size_t len = sizes[unitRandom(seed) % (unitRandom(seed) % 8 == 0 ? array_len(sizes) : 4)];
        for (uint64_t again = unitRandom(seed) % 4; again > 0; again--) publish(a, len, number);
    } else if (what < 80) {
        choose(a, seed);
    } else if (what < 88) {
        if (crowd.c[i]) reply(i, number);
    } else if (what < 91) {
        crowd.reads[i] = !crowd.reads[i];
    } else if (what < 93) {
        if (crowd.c[i]) crowd.c[i]->resp = 5 - crowd.c[i]->resp, reply(i, number);
    } else if (what < 94) {
        hold.waits = !hold.waits;
    } else if (what < 95) {
        holdReached(hold.seq, hold.offset - unitRandom(seed) % (hold.offset / 2 + 1));
    } else if (what < 96 && threads > 1) {
        askForThreads(1 + (int)(unitRandom(seed) % (unsigned)threads)); /* moves connections in mid-iteration */
    } else {
        fixtureTurn();
        if (what < 98) readAll();
    }
}

static void crowdOf(int threads, int steps) {
    netFixtureInit();
    fixtureNoPubsubLimit();
    uint64_t seed = unitRandomSeed() + (uint64_t)threads;
    if (hold.seq < 0) hold.seq = holdSequenceAdd();
    sessionsSetHold(gate);
    setThreads(threads);
    for (int i = 0; i < CLIENTS; i++) {
        crowd.c[i] = fixtureConnect(&crowd.peer[i], i % 2);
        crowd.c[i]->flags |= CLIENT_PUBSUB;
        crowd.c[i]->resp = 2 + i % 2;
        crowd.want[i] = sdsEmpty();
        crowd.got[i] = sdsEmpty();
        crowd.reads[i] = true;
    }
    for (int a = 0; a < AUDIENCES; a++) choose(a, &seed);
    for (int n = 0; n < steps; n++) {
        step(&seed, (unsigned)n, threads);
        if (n % 400 != 399) continue;
        int i = (int)(unitRandom(&seed) % CLIENTS);
        if (crowd.c[i]) {
            fixtureTurn();
            leave(i);
            for (int a = 0; a < AUDIENCES; a++) choose(a, &seed);
        }
    }
    sessionsSetHold(NULL);
    hold.waits = false;
    holdReached(hold.seq, hold.offset);
    for (int i = 0; i < CLIENTS; i++) crowd.reads[i] = true;
    CHECK(fixtureUntil(allThere, NULL, 30000));
    CHECK(fixtureUntil(noneOwes, NULL, 30000));
    for (int i = 0; i < CLIENTS; i++) {
        if (crowd.c[i]) {
            CHECK_EQ_INT(sdsLen(crowd.got[i]), sdsLen(crowd.want[i]));
            CHECK(sliceEq(sdsSlice(crowd.got[i]), sdsSlice(crowd.want[i])));
            leave(i);
        }
        sdsFree(crowd.got[i]);
        sdsFree(crowd.want[i]);
    }
    CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
    setThreads(1);
}

TEST(fan_every_client_reads_its_messages_in_order) { crowdOf(1, 4000); }

TEST(fan_over_threads_every_client_reads_its_messages_in_order) {
    crowdOf(2, 2000);
    crowdOf(4, 3000);
}

/* Output that a socket does not accept counts for its client, with its actual cost, and not for others. */
TEST(fan_who_does_not_read_is_counted) {
    netFixtureInit();
    uint64_t seed = unitRandomSeed();
    for (int i = 0; i < CLIENTS; i++) {
        crowd.c[i] = i < 2 ? fixtureConnect(&crowd.peer[i], false) : NULL;
        if (i < 2) crowd.want[i] = sdsEmpty(), crowd.got[i] = sdsEmpty();
        crowd.reads[i] = i == 0;
    }
    do choose(0, &seed);
    while (audiences[0].to.count < 2);
    size_t bytes = 0;
    for (unsigned n = 0; n < 6000; n++) {
        publish(0, 1000, n);
        bytes += 1000;
        fixtureTurn();
        readAll();
    }
    fixtureTurn();
    CHECK_EQ_INT(crowd.c[0]->output_memory, 0);
    size_t kept = crowd.c[1]->output_bytes, cost = crowd.c[1]->output_memory;
    CHECK(kept > bytes / 2);
    CHECK(cost >= kept && cost < kept + kept / 4);
    crowd.reads[1] = true;
    CHECK(fixtureUntil(allThere, NULL, 30000));
    CHECK(fixtureUntil(noneOwes, NULL, 30000));
    for (int i = 0; i < 2; i++) {
        CHECK(sliceEq(sdsSlice(crowd.got[i]), sdsSlice(crowd.want[i])));
        leave(i);
        sdsFree(crowd.got[i]);
        sdsFree(crowd.want[i]);
    }
    CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
}

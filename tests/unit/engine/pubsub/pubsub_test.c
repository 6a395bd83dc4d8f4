/* pubsub_test.c -- compares subscriptions and deliveries with a table of clients and names.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pubsub.h"

#include "client/client_fixture.h"
#include "fan_out.h"
#include "slice.h"
#include "engine.h"
#include "unit.h"
#include "zmalloc.h"
#include <stdio.h>

#define CLIENTS 30
#define NAMES 12

static const char *const names[PUBSUB_KINDS][NAMES] = {
    [PUBSUB_CHANNEL] = {"", "a", "b", "ab", "abc", "news.1", "news.2", "c", "d", "e", "*", "long name"},
    [PUBSUB_PATTERN] = {"", "*", "a*", "?", "ab", "[ab]", "news.*", "n*", "\\*", "c*", "*1", "x"},
    [PUBSUB_SHARD_CHANNEL] = {"", "a", "b", "ab", "abc", "news.1", "news.2", "c", "d", "e", "*", "long name"},
};

static client *clients[CLIENTS];
static bool subscribed[CLIENTS][PUBSUB_KINDS][NAMES];

static void begin(void) {
    static bool begun;
    fixtureInit();
    if (begun) return;
    begun = true;
    fixtureBackground();
    gateSet(GATE_SUBSCRIBED, subscribedGate);
    pubsubInit();
}

static hashedKey keyOf(int kind, size_t name) { return hashedKeyOf(sliceStr(names[kind][name])); }

static void checkClient(size_t i) {
    bool any = false;
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        size_t count = 0;
        for (size_t n = 0; n < NAMES; n++) count += subscribed[i][kind][n];
        CHECK_EQ_INT(pubsubCount(clients[i], (pubsubKind)kind), count);
        CHECK((pubsubFirst(clients[i], (pubsubKind)kind) != NULL) == (count > 0));
        any |= count > 0;
    }
    CHECK(((clients[i]->flags & CLIENT_PUBSUB) != 0) == any);
    CHECK(((clients[i]->gates >> GATE_SUBSCRIBED) & 1) == any);
}

static void checkNames(void) {
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        size_t there = 0;
        for (size_t n = 0; n < NAMES; n++) {
            size_t count = 0;
            for (size_t i = 0; i < CLIENTS; i++) count += subscribed[i][kind][n];
            CHECK_EQ_INT(pubsubSubscribers((pubsubKind)kind, keyOf(kind, n)), count);
            there += count > 0;
        }
        CHECK_EQ_INT(pubsubNames((pubsubKind)kind), there);
    }
}

static void forget(size_t i) { memset(subscribed[i], 0, sizeof(subscribed[i])); }

/* Returns the number of messages that the client was sent, each of which must have the payload. */
static size_t received(client *c, const char *payload) {
    sds got = fixtureReplies(c);
    size_t count = 0;
    for (const char *at = got; (at = strstr(at, payload)) != NULL; at++) count++;
    sdsFree(got);
    return count;
}

/* Hands output over, as net does. */
static void deliverRuns(void) {
    for (fanRun *run = fanTakeRuns(), *next; run; run = next) {
        next = run->next;
        for (int p = 0; p < 2; p++) {
            for (size_t i = 0; i < run->count[p]; i++) {
                slice bytes = objectRawString(run->bytes[p]);
                addReplyProto(fanRunClient(run, p, i), bytes.ptr, bytes.len);
            }
        }
        fanRunFree(run);
    }
}

static void publish(int kind, size_t name) {
    static int serial;
    char payload[32];
    size_t total = 0;
    snprintf(payload, sizeof(payload), "<%d>", serial++);
    pubsubMessage m = {.payload = sliceStr(payload)};
    pubsubPublish((pubsubKind)kind, keyOf(kind, name), &m);
    deliverRuns();
    for (size_t i = 0; i < CLIENTS; i++) {
        size_t want = subscribed[i][kind][name];
        for (size_t n = 0; kind == PUBSUB_CHANNEL && n < NAMES; n++) {
            slice pattern = sliceStr(names[PUBSUB_PATTERN][n]);
            slice channel = keyOf(kind, name).name;
            bool matches = channel.len ? globMatch(pattern, channel, false) : pattern.len == 0;
            want += subscribed[i][PUBSUB_PATTERN][n] && matches;
        }
        CHECK_EQ_INT(received(clients[i], payload), want);
        total += want;
    }
    CHECK_EQ_INT(m.receivers, total);
}

static void step(uint64_t *rnd) {
    size_t i = unitRandom(rnd) % CLIENTS, n = unitRandom(rnd) % NAMES;
    int kind = (int)(unitRandom(rnd) % PUBSUB_KINDS);
    uint64_t dice = unitRandom(rnd) % 100;
    if (dice < 50) {
        CHECK(pubsubSubscribe(clients[i], (pubsubKind)kind, keyOf(kind, n)));
        subscribed[i][kind][n] = true;
    } else if (dice < 80) {
        pubsubUnsubscribe(clients[i], (pubsubKind)kind, keyOf(kind, n));
        subscribed[i][kind][n] = false;
    } else if (dice < 95) {
        publish(kind == PUBSUB_PATTERN ? PUBSUB_CHANNEL : kind, n);
    } else if (dice < 98) {
        clientReset(clients[i]);
        forget(i);
    } else {
        clientFree(clients[i]);
        clients[i] = fixtureClient(2 + (int)(dice % 2));
        forget(i);
    }
    checkClient(i);
}

TEST(pubsub_random_operations) {
    begin();
    uint64_t rnd = unitRandomSeed();
    for (size_t i = 0; i < CLIENTS; i++) clients[i] = fixtureClient(2 + (int)(i % 2));
    for (int i = 0; i < 20000; i++) {
        step(&rnd);
        if (i % 200) continue;
        checkNames();
        pubsubCheck();
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        clientFree(clients[i]);
        forget(i);
    }
    checkNames();
}

/* Unsubscribing is cheap in a channel with many subscribers, and for a client with many channels. */
TEST(pubsub_many_of_both) {
    begin();
    enum { MANY = 100000 };
    static client *many[1000];
    client *c = fixtureClient(3);
    unitLimit limit = unitLimitStart(20000);
    for (int i = 0; i < MANY; i++) CHECK(pubsubSubscribe(c, PUBSUB_CHANNEL, hashedKeyOf(sliceOf(&i, sizeof(i)))));
    for (int i = 0; i < MANY; i += 2) pubsubUnsubscribe(c, PUBSUB_CHANNEL, hashedKeyOf(sliceOf(&i, sizeof(i))));
    CHECK_EQ_INT(pubsubNames(PUBSUB_CHANNEL), MANY / 2);
    for (size_t i = 0; i < array_len(many); i++) {
        many[i] = fixtureClient(3);
        for (int n = 0; n < 100; n++)
            CHECK(pubsubSubscribe(many[i], PUBSUB_PATTERN, hashedKeyOf(sliceOf(&n, sizeof(n)))));
    }
    pubsubCheck();
    for (size_t i = 0; i < array_len(many); i++) clientFree(many[i]);
    clientFree(c);
    CHECK_EQ_INT(pubsubNames(PUBSUB_CHANNEL) + pubsubNames(PUBSUB_PATTERN), 0);
    CHECK(!unitLimitOver(&limit));
    bioDrain(BIO_LAZY_FREE);
}

/* Each allocation that may fail does so once, and the client's subscriptions do not change then. */
TEST(pubsub_without_memory) {
    begin();
    static char name[2000];
    client *c = fixtureClient(3);
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        bool done = false;
        for (long n = 1; !done && CHECK(n < 100); n++) {
            zmallocFailAfter(n);
            done = pubsubSubscribe(c, (pubsubKind)kind, hashedKeyOf(sliceOf(name, sizeof(name))));
            zmallocFailAfter(0);
            CHECK_EQ_INT(pubsubCount(c, (pubsubKind)kind), done);
            CHECK_EQ_INT(pubsubNames((pubsubKind)kind), done);
            pubsubCheck();
        }
    }
    clientFree(c);
}

/* A message that cannot be allocated is not delivered, and reports an error: its header is too long to be made without
 * memory. */
TEST(pubsub_message_without_memory) {
    begin();
    client *c = fixtureClient(3);
    static char text[1000];
    memset(text, 'p', sizeof(text));
    hashedKey channel = hashedKeyOf(sliceOf(text, sizeof(text)));
    CHECK(pubsubSubscribe(c, PUBSUB_CHANNEL, channel));
    zmallocFailAfter(1);
    pubsubMessage m = {.payload = sliceOf(text, 100)};
    pubsubPublish(PUBSUB_CHANNEL, channel, &m);
    zmallocFailAfter(0);
    CHECK(m.failed && m.receivers == 0);
    CHECK_REPLY(c, "");
    clientFree(c);
}

/* A large payload is stored once, and counts fully for each client that has not been sent it. */
TEST(pubsub_large_message_is_shared) {
    begin();
    static char text[1000000];
    memset(text, 'p', sizeof(text));
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = fixtureClient(3);
        CHECK(pubsubSubscribe(clients[i], PUBSUB_CHANNEL, hashedKeyOf(sliceStr("a"))));
    }
    size_t before = zmallocUsed();
    pubsubMessage m = {.payload = sliceOf(text, sizeof(text))};
    pubsubPublish(PUBSUB_CHANNEL, hashedKeyOf(sliceStr("a")), &m);
    CHECK(zmallocUsed() - before < 2 * sizeof(text));
    for (size_t i = 0; i < CLIENTS; i++) {
        CHECK(clientQueuedOutput(clients[i]) + CLIENT_OUTPUT_GRACE > sizeof(text));
        CHECK_EQ_INT(clients[i]->output_bytes, sizeof(text) + sizeof(">3|$7|message|$1|a|$1000000||") - 1 + 7);
        sds got = fixtureReplies(clients[i]);
        CHECK_EQ_INT(sdsLen(got), sizeof(text) + sizeof(">3|$7|message|$1|a|$1000000||") - 1 + 7);
        sdsFree(got);
        clientFree(clients[i]);
    }
}

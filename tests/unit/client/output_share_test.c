/* output_share_test.c -- what counts as unread output, and the fair part of it: against a model.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_fixture.h"
#include "evict.h"
#include "lazyfree.h"
#include "output_limits.h"
#include "output_share.h"
#include "unit.h"
#include "zmalloc.h"

#define MIB ((size_t)1024 * 1024)
#define CLIENTS 5
#define VALUES 8

static size_t waiting_requests;
static size_t requestsNow(void) { return waiting_requests; }

static void init(void) {
    static bool done;
    fixtureInit();
    if (!done) outputShareInit(requestsNow);
    done = true;
    waiting_requests = 0;
    outputShareMeasure();
}

static void limits(long long maxmemory, long long share) {
    store_settings.maxmemory = maxmemory;
    output_share_percent = share;
    outputAlarmUpdate();
}

/* ---- The sum ---- */

typedef struct far {
    client *c;
    replyBlock *head; /* handed over, and not come back */
} far;
static far fars[CLIENTS];
static robj *values[VALUES];

static robj *makeValue(uint64_t *rnd) {
    static char bytes[20000];
    return objectCreateRawString(sliceStr("key"), sliceOf(bytes, 2000 + unitRandom(rnd) % 18000), object_main_owner);
}

static void handOver(far *f) {
    replyBlock **end = &f->head;
    while (*end) end = &(*end)->next;
    *end = clientTakeReplies(f->c);
}

static size_t addBlocks(const replyBlock *b, const robj **kept, size_t *count) {
    size_t bytes = 0;
    for (; b; b = b->next) {
        bytes += replyBlockAllocSize(b);
        for (uint32_t i = 0; i < b->nrefs; i++) {
            size_t at = 0;
            while (at < *count && kept[at] != replyBlockRef(b, i)->obj) at++;
            if (at == *count) kept[(*count)++] = replyBlockRef(b, i)->obj;
        }
    }
    return bytes;
}

/* Returns the blocks of all clients, and the values that only they keep. */
static size_t modelOf(void) {
    static const robj *kept[4096];
    size_t count = 0, bytes = 0;
    for (int i = 0; i < CLIENTS; i++) {
        bytes += addBlocks(fars[i].c->reply_head, kept, &count);
        bytes += addBlocks(fars[i].head, kept, &count);
    }
    for (size_t i = 0; i < count; i++) {
        bool lives = false;
        for (int v = 0; v < VALUES; v++) lives |= values[v] == kept[i];
        if (!lives) bytes += objectMemUsage(kept[i], 0);
    }
    return bytes;
}

static void freeFar(far *f) {
    clientFree(f->c);
    replyBlockReleaseChain(f->head); /* as the connection gives it back after the client */
    *f = (far){.c = NULL};
}

static void step(uint64_t *rnd) {
    static const char bytes[60000];
    far *f = &fars[unitRandom(rnd) % CLIENTS];
    size_t v = unitRandom(rnd) % VALUES;
    switch (unitRandom(rnd) % 9) {
    case 0: addReplyBulk(f->c, sliceOf(bytes, unitRandom(rnd) % 200)); break;
    case 1: addReplyBulk(f->c, sliceOf(bytes, unitRandom(rnd) % sizeof(bytes))); break;
    case 2:
    case 3: addReplyBulkObject(f->c, values[v]); break;
    case 4: handOver(f); break;
    case 5:
    case 6: {
        replyBlock *b = f->head;
        if (!b) break;
        f->head = b->next;
        b->next = NULL;
        clientOutputWritten(f->c, b, b->total);
        break;
    }
    case 7: /* deleted, evicted or overwritten; changed in place */
        if (unitRandom(rnd) % 2) {
            objectRelease(values[v]);
            values[v] = makeValue(rnd);
        } else {
            values[v] = objectMakeWritableTake(values[v], objectStringLen(values[v]));
        }
        break;
    default:
        if (unitRandom(rnd) % 20) break;
        freeFar(f);
        f->c = fixtureClient(2);
        break;
    }
}

TEST(unread_output_is_that_of_all_clients) {
    uint64_t rnd = unitRandomSeed();
    init();
    limits(0, 5);
    size_t before = outputUnread(), orphans_before = object_orphan_bytes;
    for (int i = 0; i < CLIENTS; i++) fars[i].c = fixtureClient(2);
    for (int i = 0; i < VALUES; i++) values[i] = makeValue(&rnd);
    bool any_orphan = false;
    for (int i = 0; i < 20000; i++) {
        step(&rnd);
        any_orphan |= object_orphan_bytes > orphans_before;
        if (i % 16 == 0) CHECK_EQ_INT(outputUnread() - before, modelOf());
    }
    CHECK(any_orphan);
    for (int i = 0; i < CLIENTS; i++) freeFar(&fars[i]);
    CHECK_EQ_INT(outputUnread(), before);
    for (int i = 0; i < VALUES; i++) {
        CHECK_EQ_INT(values[i]->refcount, 1);
        objectRelease(values[i]);
    }
}

/* A value counts once, however many replies refer to it, and only while no key has it. */
TEST(unread_output_counts_an_orphaned_value_once) {
    uint64_t rnd = unitRandomSeed();
    init();
    client *c = fixtureClient(2);
    robj *value = makeValue(&rnd);
    size_t bytes = objectMemUsage(value, 0), before = object_orphan_bytes;
    for (int i = 0; i < 10; i++) addReplyBulkObject(c, value);
    CHECK_EQ_INT(value->refcount, 11);
    CHECK_EQ_INT(object_orphan_bytes, before);
    objectRelease(value);
    CHECK_EQ_INT(object_orphan_bytes, before + bytes);
    clientFree(c);
    CHECK_EQ_INT(object_orphan_bytes, before);
}

/* ---- The part of one client ---- */

TEST(fair_part_is_what_others_have_left) {
    init();
    client *c = fixtureClient(2), *other = fixtureClient(2);
    static const char bytes[100000];
    limits(0, 5);
    CHECK_EQ_INT(outputFairPart(), SIZE_MAX);
    limits(1000 * (long long)MIB, OUTPUT_SHARE_OFF);
    CHECK_EQ_INT(outputFairPart(), SIZE_MAX);
    limits(1000 * (long long)MIB, 1);
    CHECK_EQ_INT(outputFairPart(), 10 * MIB - outputUnread());
    waiting_requests = 3 * MIB;
    outputShareMeasure();
    CHECK(outputFairPart() <= 7 * MIB);
    CHECK(outputFairPart() > 6 * MIB);
    waiting_requests = 10 * MIB;
    outputShareMeasure();
    CHECK_EQ_INT(outputFairPart(), OUTPUT_PART_LEAST);
    limits(1000 * (long long)MIB, 0);
    CHECK_EQ_INT(outputFairPart(), OUTPUT_PART_LEAST);
    /* A client waits from there on, and one with less does not. */
    while (c->output_memory < OUTPUT_PART_LEAST - 2 * REPLY_BLOCK_LARGE) addReplyProto(c, bytes, 10000);
    CHECK(!(c->flags & CLIENT_OUTPUT_FULL));
    addReplyProto(c, bytes, 60000);
    addReplyOk(other);
    CHECK(c->flags & CLIENT_OUTPUT_FULL);
    CHECK(!(other->flags & CLIENT_OUTPUT_FULL));
    CHECK_EQ_INT(client_state.output_full, 1);
    /* It goes on when half of that is read, or at once if there is no limit any more. */
    size_t total = c->output_bytes;
    replyBlock *chain = clientTakeReplies(c);
    bool again = false;
    while (chain && !again) {
        replyBlock *next = chain->next;
        chain->next = NULL;
        again = clientOutputWritten(c, chain, chain->total);
        CHECK_EQ_INT(again, c->output_memory <= OUTPUT_PART_LEAST / 2);
        chain = next;
    }
    CHECK(again && chain);
    CHECK(c->output_bytes < total / 2);
    CHECK_EQ_INT(client_state.output_full, 0);
    clientOutputWritten(c, chain, c->output_bytes);
    addReplyProto(c, bytes, 100000);
    addReplyProto(c, bytes, 100000);
    addReplyProto(c, bytes, 100000);
    CHECK(c->flags & CLIENT_OUTPUT_FULL);
    CHECK(!outputFullEnds(c));
    limits(0, 5);
    CHECK(outputFullEnds(c));
    CHECK_EQ_INT(client_state.output_full, 0);
    clientFree(c);
    clientFree(other);
}

/* A limit that closes clients does so for one large reply; a client with several small ones waits before that. */
TEST(fair_part_holds_beside_a_hard_limit) {
    init();
    client *c = fixtureClient(2), *replica = fixtureClient(2);
    static const char bytes[100000];
    output_limits[CLIENT_TYPE_NORMAL].hard_bytes = 2 * MIB;
    limits((long long)MIB, 5);
    replica->flags |= CLIENT_REPLICA;
    for (int i = 0; i < 4; i++) addReplyProto(c, bytes, sizeof(bytes));
    for (int i = 0; i < 4; i++) addReplyProto(replica, bytes, sizeof(bytes));
    CHECK(c->flags & CLIENT_OUTPUT_FULL);
    CHECK(!(c->flags & CLIENT_CLOSE_ASAP));
    CHECK(!(replica->flags & CLIENT_OUTPUT_FULL));
    for (int i = 0; i < 30; i++) addReplyProto(c, bytes, sizeof(bytes));
    CHECK(c->flags & CLIENT_CLOSE_ASAP);
    output_limits[CLIENT_TYPE_NORMAL].hard_bytes = 0;
    limits(0, 5);
    clientFree(c);
    clientFree(replica);
    CHECK_EQ_INT(client_state.output_full, 0);
}

TEST(what_is_beyond_the_share_does_not_count_for_eviction) {
    init();
    client *c = fixtureClient(2);
    static const char bytes[100000];
    limits(100 * (long long)MIB, 5);
    size_t before = evictUncounted();
    waiting_requests = 4 * MIB;
    CHECK_EQ_INT(evictUncounted(), before);
    waiting_requests = 7 * MIB;
    outputShareMeasure();
    CHECK_EQ_INT(evictUncounted(), before + outputUnread() - 5 * MIB);
    size_t beyond = evictUncounted();
    for (int i = 0; i < 20; i++) addReplyProto(c, bytes, sizeof(bytes));
    CHECK(evictUncounted() >= beyond + 20 * sizeof(bytes));
    limits(100 * (long long)MIB, OUTPUT_SHARE_OFF);
    CHECK_EQ_INT(evictUncounted(), before);
    limits(0, 5);
    clientFree(c);
}

/* client_check_test.c -- clientCheck() and clientListsCheck() hold through any order of operations, and notice damage.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_check.h"
#include "client_fixture.h"
#include "command_memory.h"
#include "output_limits.h"
#include "unit.h"

#include <stdio.h>

/* ---- Any order of operations ---- */

#define CLIENTS 5

/* The blocks that the I/O half of a client would have: those handed over to it. */
typedef struct far {
    client *c;
    replyBlock *head;
} far;
static far fars[CLIENTS];

static void handOver(far *f) {
    replyBlock **end = &f->head;
    while (*end) end = &(*end)->next;
    *end = clientTakeReplies(f->c);
}

/* Returns the first block; a part of the bytes of the next may have been written as well, and is reported with it. */
static void comeBack(far *f, uint64_t *rnd) {
    replyBlock *b = f->head;
    if (!b) return;
    size_t bytes = b->total - b->sent;
    f->head = b->next;
    b->next = NULL;
    if (f->head && unitRandom(rnd) % 2) {
        size_t part = unitRandom(rnd) % (f->head->total - f->head->sent + 1);
        f->head->sent += part;
        bytes += part;
    }
    clientOutputWritten(f->c, b, bytes);
}

/* Takes a client from the list and hands its output over at once, as net does. */
static void flushOne(void) {
    client *c = clientPopPendingWrite();
    for (int i = 0; c && i < CLIENTS; i++)
        if (fars[i].c == c) handOver(&fars[i]);
}

static void step(far *f, uint64_t *rnd, robj *value) {
    char bytes[3000] = {0};

    switch (unitRandom(rnd) % 12) {
    case 0: addReplyOk(f->c); break;
    case 1: addReplyBulk(f->c, sliceOf(bytes, unitRandom(rnd) % sizeof(bytes))); break;
    case 2: addReplyBulkObject(f->c, value); break;
    case 3: {
        void *outer = addReplyDeferredLen(f->c), *inner;
        addReplyBulk(f->c, sliceOf(bytes, unitRandom(rnd) % sizeof(bytes)));
        inner = addReplyDeferredLen(f->c);
        addReplyBulkObject(f->c, value);
        f->c->req = &(parsedCommand){0}; /* a length may be deferred while a command runs */
        clientCheck(f->c);
        f->c->req = NULL;
        setDeferredArrayLen(f->c, inner, 1);
        setDeferredArrayLen(f->c, outer, 2);
        break;
    }
    case 4:
    case 5: handOver(f); break;
    case 6:
    case 7: comeBack(f, rnd); break;
    case 8: flushOne(); break;
    case 9: f->c->flags ^= CLIENT_REPLY_OFF; break;
    case 10: outputLimitCheck(f->c); break;
    default:
        f->c->req = &(parsedCommand){0};
        if (commandMemoryTry(f->c, COMMAND_MEMORY_LARGE)) clientCheck(f->c);
        commandMemoryEnd(f->c);
        f->c->req = NULL;
        break;
    }
}

TEST(checks_hold_after_any_operation) {
    uint64_t rnd = unitRandomSeed();
    char bytes[700] = {0};
    fixtureInit();
    robj *value = objectCreateRawString(sliceStr("k"), sliceOf(bytes, sizeof(bytes)), 0);
    outputFullSetBytes(60000);
    for (int i = 0; i < CLIENTS; i++) fars[i] = (far){.c = fixtureClient(2)};
    long full = 0;
    for (int i = 0; i < 40000; i++) {
        far *f = &fars[unitRandom(&rnd) % CLIENTS];
        step(f, &rnd, value);
        full += (f->c->flags & CLIENT_OUTPUT_FULL) != 0;
        for (int j = 0; j < CLIENTS; j++) clientCheck(fars[j].c);
        clientListsCheck();
        if (i % 5000 != 4999) continue;
        clientCloseAsap(f->c);
        clientCheck(f->c);
        clientListsCheck();
        while (f->head) comeBack(f, &rnd);
        clientFree(f->c);
        clientListsCheck();
        *f = (far){.c = fixtureClient(2)};
    }
    CHECK(full > 0);
    for (int i = 0; i < CLIENTS; i++) {
        while (fars[i].head) comeBack(&fars[i], &rnd);
        clientFree(fars[i].c);
    }
    clientListsCheck();
    CHECK_EQ_INT(value->refcount, 1);
    objectRelease(value);
    outputFullSetBytes(OUTPUT_FULL_BYTES);
}

TEST(checks_hold_of_a_fake_client) {
    fixtureInit();
    client *fake = clientCreate(NULL, -1, NULL, NULL, false);
    CHECK(fake->id == CLIENT_ID_FAKE);
    clientCheck(fake);
    clientListsCheck();
    clientFree(fake);
}

/* ---- Damage ---- */

static client *other;

static void idOfAnother(client *c) { c->id = other->id; }
static void idToCome(client *c) { c->id = client_state.next_id; }
static void fakeInTheList(client *c) { c->io = NULL; }
static void notInTheList(client *c) { c->node = NULL; }
static void nodeOfAnother(client *c) { c->node = other->node; }
static void thirdProtocol(client *c) { c->resp = 4; }
static void noDatabase(client *c) { c->db = NULL; }
static void halfAQueue(client *c) { c->blocks_tail = (struct requestBlock *)(void *)c; }
static void inputOfNoBlock(client *c) { c->input_bytes = 1; }
static void reservedByNobody(client *c) { c->flags |= CLIENT_RESERVED; }
static void lengthLeftOpen(client *c) { CHECK(addReplyDeferredLen(c) != NULL); }
static void lengthOpenElsewhere(client *c) {
    c->req = &(parsedCommand){0};
    c->deferred = c;
}
static void lengthsOutOfOrder(client *c) {
    c->req = &(parsedCommand){0};
    char *outer = addReplyDeferredLen(c);
    CHECK(addReplyDeferredLen(c) != NULL);
    c->deferred = outer;
    memcpy(outer + sizeof(void *), &(char *){outer}, sizeof(char *)); /* linked to itself */
}
static void tailIsNotLast(client *c) { c->reply_tail = c->reply_head; }
static void tailWithoutHead(client *c) { c->reply_head = NULL; }
static void blockTotals(client *c) { c->reply_head->total++; }
static void sentBeforeTaken(client *c) { c->reply_head->sent = 1; }
static void bytesMissing(client *c) { c->output_bytes--; }
static void bytesOfNothing(client *c) { c->output_bytes++; }
static void memoryMissing(client *c) { c->output_memory--; }
static void memoryOfNothing(client *c) { c->output_memory++; }
static void blocksMissing(client *c) { c->output_blocks--; }
static void blocksOfNothing(client *c) { c->output_blocks++; }
static void fullOfNothing(client *c) {
    client *empty = other;
    unused(c);
    empty->flags |= CLIENT_OUTPUT_FULL;
    clientCheck(empty);
}
static void outputNobodyKnows(client *c) { c->flags &= ~CLIENT_PENDING_WRITE; }
static void pendingNotListed(client *c) {
    unused(c);
    other->flags |= CLIENT_PENDING_WRITE;
    clientListsCheck();
}
static void listedNotPending(client *c) {
    c->flags &= ~CLIENT_PENDING_WRITE;
    clientListsCheck();
}
static void listedTwice(client *c) {
    c->next_pending_write = c;
    clientListsCheck();
}
static void listedInsteadOfAnother(client *c) {
    c->flags &= ~CLIENT_PENDING_WRITE;
    other->flags |= CLIENT_PENDING_WRITE;
    clientListsCheck();
}
static void closingNotListed(client *c) {
    c->flags |= CLIENT_CLOSE_ASAP;
    clientListsCheck();
}

typedef void damageFn(client *c);

static void checkDamaged(void *arg) {
    damageFn **make = arg;
    char bytes[3000] = {0};
    client *c = fixtureClient(2);
    other = fixtureClient(2);
    addReplyOk(c);
    addReplyProto(c, bytes, sizeof(bytes)); /* two blocks */
    clientCheck(c);
    clientCheck(other);
    clientListsCheck();
    printf("sound\n");
    fflush(stdout);
    (*make)(c);
    clientCheck(c);
}

TEST(checks_find_damage) {
    static struct {
        damageFn *make;
        const char *expected; /* part of the condition that must be reported as failed */
    } kinds[] = {{idOfAnother, "clientById"},
                 {idToCome, "next_id"},
                 {fakeInTheList, "c->io == NULL"},
                 {notInTheList, "node"},
                 {nodeOfAnother, "listNodeValue"},
                 {thirdProtocol, "resp"},
                 {noDatabase, "db"},
                 {halfAQueue, "blocks_tail"},
                 {inputOfNoBlock, "input_bytes"},
                 {reservedByNobody, "CLIENT_RESERVED"},
                 {lengthLeftOpen, "deferred"},
                 {lengthOpenElsewhere, "b != NULL"},
                 {lengthsOutOfOrder, "inner"},
                 {tailIsNotLast, "reply_tail"},
                 {tailWithoutHead, "reply_tail"},
                 {blockTotals, "total"},
                 {sentBeforeTaken, "sent"},
                 {bytesMissing, "output_bytes"},
                 {bytesOfNothing, "bytes"},
                 {memoryMissing, "output_memory"},
                 {memoryOfNothing, "memory"},
                 {blocksMissing, "output_blocks"},
                 {blocksOfNothing, "blocks"},
                 {fullOfNothing, "CLIENT_OUTPUT_FULL"},
                 {outputNobodyKnows, "must_be_listed"},
                 {pendingNotListed, "left == 0"},
                 {listedNotPending, "left > 0"},
                 {listedTwice, "left > 0"},
                 {listedInsteadOfAnother, "flags & flag"},
                 {closingNotListed, "left == 0"}};
    fixtureInit();
    for (size_t i = 0; i < array_len(kinds); i++) {
        char out[8192];
        bool found = CHECK(unitInChild(checkDamaged, &kinds[i].make, out, sizeof(out)) != 0);
        const char *damaged = strstr(out, "sound\n");
        found &= CHECK(damaged != NULL && strstr(damaged, kinds[i].expected) != NULL);
        if (!found) printf("%zu (%s): %s\n", i, kinds[i].expected, out);
    }
}

/* fan_out.c -- one message for many clients: main makes its bytes once, the owner threads of the connections write
 * them.
 *
 * For each subscriber main only tests its flags and stores into an array; for further messages to the same audience not
 * even that.
 *
 * Not here    the choice of clients (engine/pubsub/pubsub.c), the way to the threads (net/session/session_fan.c), the
 *             sockets (net/io/client_io_fan.c).
 * Owns        the runs until net takes them.
 * Threads     main.
 * Invariants  1. Each client gets messages and replies in the order in which they were sent: a client with pending
 *                output is in no new run, and net hands runs over before pending output.
 *             2. Only the last run accepts further messages, and only while all of its audience is in it and no client
 *                that may get pushes has got other output since (client_state.subscriber_outputs).
 *             3. `bytes` is the memory of the runs and of what fanMemoryAdd() has added; no run begins or grows while
 *                it exceeds FAN_BYTES_MAX.
 * Cost        per client and run its first cache line, prefetched, and a store; per message a copy.
 * Tests       tests/unit/client/fan_out_test.c, tests/engine/pubsub.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fan_out.h"

#include "panic.h"
#include "reply.h"
#include "zmalloc.h"

#define AHEAD 8                /* clients whose flags are prefetched before they are tested */
#define RUN_BYTES_MAX 65536    /* a run of this length accepts no further message */
#define RUN_BYTES_AT_FIRST 512 /* capacity for a few more messages */

/* Clients that get nothing, and clients that get a copy after their pending output. */
#define SKIPPED (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY | CLIENT_PRIMARY)
#define COPIED (CLIENT_PENDING_WRITE | CLIENT_FAKE)

static struct {
    fanRun *head, *tail; /* owns */
    fanRun *open;        /* the last one, if all of its audience is in it */
    uint64_t outputs;    /* client_state.subscriber_outputs when it was made */
    size_t bytes;        /* of all runs that are not freed, and of batches on their way to owner threads and back */
} fan;

bool fanHasRuns(void) { return fan.head != NULL; }

fanRun *fanTakeRuns(void) {
    assertMainRole();
    fanRun *head = fan.head;
    fan.head = fan.tail = fan.open = NULL;
    return head;
}

void fanMemoryAdd(size_t bytes) { fan.bytes += bytes; }

void fanMemoryDrop(size_t bytes) {
    debugAssert(bytes <= fan.bytes);
    fan.bytes -= bytes;
}

/* Returns the memory of a run: itself, and its bytes with their spare capacity. */
static size_t costOf(const fanRun *run) {
    size_t bytes = sizeof(*run) + run->capacity * sizeof(client *);
    for (int p = 0; p < 2; p++)
        if (run->bytes[p]) bytes += RUN_BYTES_AT_FIRST + objectStringLen(run->bytes[p]);
    return bytes;
}

void fanRunFree(fanRun *run) {
    fanMemoryDrop(costOf(run));
    for (int p = 0; p < 2; p++)
        if (run->bytes[p]) decrRefCount(run->bytes[p]);
    zfree(run);
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------ */

static size_t wireLen(const fanText *t) { return 1 + t->head.len + t->body.len + t->tail.len; }

static void writeWire(char *out, int resp, const fanText *t) {
    const slice parts[] = {t->head, t->body, t->tail};
    *out++ = fanMark(resp);
    for (size_t i = 0; i < array_len(parts); i++) {
        if (parts[i].len) memcpy(out, parts[i].ptr, parts[i].len);
        out += parts[i].len;
    }
}

/* Returns the message as a value to which all replies refer, or NULL if there is no memory. */
static robj *makeBytes(int resp, const fanText *t) {
    size_t len = wireLen(t);
    if (len > OBJ_STRING_MAX) return NULL;
    char *block = ztrymalloc(len < RUN_BYTES_AT_FIRST ? RUN_BYTES_AT_FIRST : len);
    if (!block) return NULL;
    writeWire(block, resp, t);
    return objectCreateFromBlockTake(sliceOf("", 0), block, len, object_main_owner);
}

/* Adds a message for the same clients to the run. Returns false if it cannot be merged with the last ones. */
static bool addToRun(fanRun *run, const fanAudience *to, const fanText *t) {
    if (!run || run->audience != to->version || fan.outputs != client_state.subscriber_outputs) return false;
    size_t len = wireLen(t);
    if (fan.bytes > FAN_BYTES_MAX) return false;
    for (int p = 0; p < 2; p++)
        if (run->bytes[p] && objectStringLen(run->bytes[p]) + len > RUN_BYTES_MAX) return false;
    for (int p = 0; p < 2; p++) {
        robj *o = run->bytes[p];
        if (!o) continue;
        size_t used = objectStringLen(o);
        o = run->bytes[p] = objectMakeWritableTake(o, used + len);
        writeWire(objectWritableBytes(o) + used, p + 2, t);
        objectSetStringLen(o, used + len);
        fanMemoryAdd(len);
    }
    return true;
}

/* ---- Clients ---------------------------------------------------------------------------------------------------- */

/* Sends a copy to one client, after its pending output. */
static void addCopy(client *c, const fanText *t) {
    const char mark = fanMark(c->resp);
    pushBegin(c);
    addReplyProto(c, &mark, 1);
    addReplyProto(c, t->head.ptr, t->head.len);
    if (t->body.len) addReplyProto(c, t->body.ptr, t->body.len);
    if (t->tail.len) addReplyProto(c, t->tail.ptr, t->tail.len);
    pushEnd(c);
}

/* Puts the client into the run, or sends it a copy. */
static void addClient(fanRun *run, client *c, const fanText *t) {
    if (unlikely(c->flags & SKIPPED)) return;
    if (unlikely(c->flags & COPIED || c->req)) {
        addCopy(c, t);
        return;
    }
    int p = c->resp - 2;
    size_t i = run->count[p]++;
    run->clients[p == 0 ? i : run->capacity - 1 - i] = c;
}

static fanRun *makeRun(const fanAudience *to) {
    if (fan.bytes > FAN_BYTES_MAX) return NULL;
    fanRun *run = ztrymalloc(sizeof(*run) + to->count * sizeof(client *));
    if (!run) return NULL;
    *run = (fanRun){.audience = to->version, .capacity = to->count};
    return run;
}

/* Makes the bytes of the run. Without memory for them each client gets a copy, which closes its connection if that
 * fails, too. Returns false if no client is left in the run. */
static bool fillRun(fanRun *run, const fanText *t) {
    bool any = false;
    for (int p = 0; p < 2; p++) {
        if (run->count[p] == 0) continue;
        run->bytes[p] = makeBytes(p + 2, t);
        if (!run->bytes[p]) {
            for (size_t i = 0; i < run->count[p]; i++) addCopy(fanRunClient(run, p, i), t);
            run->count[p] = 0;
        } else {
            any = true;
        }
    }
    return any;
}

static void appendRun(fanRun *run) {
    if (fan.tail) fan.tail->next = run;
    else fan.head = run;
    fan.tail = run;
    /* If a client was left out, the next message has to test each client again. */
    fan.open = run->count[0] + run->count[1] == run->capacity ? run : NULL;
    fan.outputs = client_state.subscriber_outputs;
}

void fanOut(const fanAudience *to, const fanText *t) {
    assertMainRole();
    if (addToRun(fan.open, to, t)) return;
    fan.open = NULL; /* otherwise later messages in it would be sent before the copies below */
    fanRun *run = to->count > 1 ? makeRun(to) : NULL;
    if (!run) {
        for (size_t i = 0; i < to->count; i++) addCopy(to->clients[i], t);
        return;
    }
    for (size_t i = 0; i < to->count; i++) {
        if (likely(i + AHEAD < to->count)) prefetchRead(to->clients[i + AHEAD]);
        addClient(run, to->clients[i], t);
    }
    bool any = fillRun(run, t);
    fanMemoryAdd(costOf(run));
    if (any) appendRun(run);
    else fanRunFree(run);
}

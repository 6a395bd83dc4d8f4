/* stream_apply.c -- the stream of the primary, applied; and what the primary is told of it.
 *
 * It is a session like those of clients: read, parsed and hashed by a holder, applied in batches. So what a lost link
 * leaves is the place up to which whole commands were applied: unfinished input and an open transaction are forgotten
 * with it.
 *
 * Not here    how there comes to be a connection with a stream (primary_link.c).
 * Owns        the session, as long as it lives.
 * Threads     main.
 * Invariants  1. The stream's offset is behind the last command that was applied whole, and what has come of an open
 *                transaction lies behind it.
 *             2. `run` lies between the replication offset and the end of the backlog; it is the offset unless a
 *                transaction is open.
 * Cost        for each command a copy of its bytes into the backlog.
 * Tests       tests/repl/sync.tcl, tests/repl/partial.tcl, tests/repl/strange_primary.tcl,
 *             tests/fuzz/repl_stream_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "stream_apply.h"

#include "aof.h"
#include "apply_faults.h"
#include "call.h"
#include "client_describe.h"
#include "clock.h"
#include "command_record.h"
#include "db.h"
#include "log.h"
#include "outgoing.h"
#include "panic.h"
#include "reply.h"
#include "request_format.h"
#include "repl_stream.h"
#include "synced_offset.h"

#include <string.h>

static struct {
    void (*lost)(bool whole); /* const after boot */
    client *session;          /* NULL */
    int db;                   /* without a session: that the stream is in at its place */
    bool old_style;
    uint64_t run;                   /* the offset of what was executed, within a transaction too */
    uint64_t told_offset;           /* with the last acknowledgement */
    uint64_t heard_ms, heard_input; /* when it last had input, and how much it had then */
    uint64_t input_before;          /* bytes of former sessions */
    syncedOffset on_disk;           /* of the session's stream */
} primary;

/* Asserts the invariants. A link that is about to be closed for what it has sent has forwarded part of a command. */
static void sessionCheck(void) {
    const client *c = primary.session;
    if (!c) return;
    debugAssert(c->flags & CLIENT_PRIMARY && c->flags & CLIENT_DENY_BLOCKING && !(c->flags & CLIENT_REPLICA));
    debugAssert(replStreamIsKept() && primary.run >= replStreamOffset());
    debugAssert(primary.run == replStreamBacklog()->end || c->flags & CLIENT_PROTOCOL_ERROR);
    debugAssert(primary.db >= 0 && primary.db < dbCount());
}

/* ---- Telling the primary ---- */

#define SILENCED (CLIENT_PRIMARY | CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP)

/* The link has no other replies, whatever CLIENT REPLY has come by it. */
static void say(const char *bytes, size_t len) {
    client *c = primary.session;
    debugAssert(c->flags & CLIENT_PRIMARY);
    uint32_t silenced = c->flags & SILENCED;
    c->flags &= ~(uint32_t)SILENCED;
    addReplyProto(c, bytes, len);
    c->flags |= silenced;
}

long long streamApplyOffset(void) {
    return (long long)replStreamOffset() - primary.old_style;
}

void streamApplyAck(bool with_disk) {
    if (!primary.session) return;
    char text[256];
    bool disk = with_disk && aofIsOn();
    primary.told_offset = replStreamOffset();
    size_t n = respHeader(text, '*', disk ? 5 : 3);
    n += respBulk(text + n, sliceStr("REPLCONF"));
    n += respBulk(text + n, sliceStr("ACK"));
    n += respBulkNumber(text + n, streamApplyOffset());
    if (disk) {
        n += respBulk(text + n, sliceStr("FACK"));
        n += respBulkNumber(text + n,
                            (long long)syncedOffsetUpdate(&primary.on_disk, replStreamOffset(), aofEnd(), aofIsSynced));
    }
    debugAssert(n <= sizeof(text));
    say(text, n);
    sessionCheck();
}

void streamApplyAckChanges(void) {
    if (replStreamOffset() != primary.told_offset) streamApplyAckAnyway();
}

void streamApplyAckAnyway(void) {
    if (!primary.old_style) streamApplyAck(true);
}

void streamApplyAsked(client *c) {
    if (c == primary.session) streamApplyAck(true);
}

/* ---- The stream ---- */

/* Bytes of a command whose arguments came in several pieces. False: they are not as a server writes them. */
static bool forwardApart(const parsedCommand *req) {
    char header[RESP_HEADER_MAX];
    uint64_t before = replStreamBacklog()->end;
    replStreamForward(sliceOf(header, respHeader(header, '*', req->argc)));
    for (uint32_t i = 0; i < req->argc; i++) {
        replStreamForward(sliceOf(header, respHeader(header, '$', (long long)req->argv[i].len)));
        replStreamForward(req->argv[i]);
        replStreamForward(sliceStr("\r\n"));
    }
    return req->wire_len == UINT32_MAX || replStreamBacklog()->end - before == req->wire_len;
}

static bool forward(const parsedCommand *req) {
    if (req->flags & (REQ_INLINE | REQ_PROTOCOL_ERROR)) return false;
    if (unlikely(req->flags & REQ_SCATTERED || req->wire_len == UINT32_MAX)) return forwardApart(req);
    replStreamForward(sliceOf(req->wire, req->wire_len));
    return true;
}

/* One of its commands has run, or was queued. */
static void applied(client *c) {
    if (unlikely(c != primary.session)) return;
    if (unlikely(!forward(c->req))) {
        serverLog(LL_WARNING, "The primary has sent what no server sends: the link is closed, and begins anew.");
        c->flags |= CLIENT_PROTOCOL_ERROR;
        clientCloseAsap(c);
        return;
    }
    applyFaultsCheck(c);
    primary.run = replStreamBacklog()->end;
    if (!(c->flags & CLIENT_MULTI)) replStreamCommit(primary.run);
    debugAssert(c->flags & CLIENT_MULTI || primary.run == replStreamOffset());
    sessionCheck();
}

/* ---- Begin and end ---- */

void streamApplyBegin(connection *conn, bool old_style) {
    assertMainThread();
    serverAssert(!primary.session);
    debugAssert(replStreamIsKept() && replStreamBacklog()->end == replStreamOffset());
    client *c = outgoingAdopt(conn);
    c->flags |= CLIENT_PRIMARY | CLIENT_DENY_BLOCKING; /* the stream waits for no key of its own */
    c->db = dbSelect(primary.db);
    primary.session = c;
    primary.old_style = old_style;
    syncedOffsetForget(&primary.on_disk);
    primary.run = replStreamOffset();
    primary.heard_ms = clockMonotonicMs();
    primary.heard_input = 0;
    sessionCheck();
}

bool streamApplyIsOpen(void) {
    return primary.session != NULL;
}

/* What is left of it is the place. */
static bool letGo(void) {
    client *c = primary.session;
    sessionCheck();
    primary.session = NULL;
    primary.db = dbId(c->db);
    primary.input_before += (uint64_t)c->net_input;
    replStreamRollback();
    return !(c->flags & CLIENT_PROTOCOL_ERROR);
}

static void freed(client *c) {
    if (c == primary.session) primary.lost(letGo());
}

bool streamApplyLeave(void) {
    client *c = primary.session;
    serverAssert(c); /* streamApplyIsOpen() */
    bool whole = letGo();
    clientCloseAsap(c);
    return whole;
}

void streamApplyClose(void) {
    debugAssert(primary.session);
    clientCloseAsap(primary.session);
}

void streamApplyInit(void (*lost)(bool whole)) {
    debugAssert(!primary.lost);
    primary.lost = lost;
    clientOnFree(freed);
    callOnApplied(applied);
}

/* ---- What is known of it ---- */

int streamApplyDb(void) {
    return primary.session ? dbId(primary.session->db) : primary.db;
}

void streamApplySetDb(int db) {
    primary.db = db >= 0 && db < dbCount() ? db : 0;
}

static void noteInput(void) {
    uint64_t input = (uint64_t)primary.session->net_input + primary.session->input_bytes;
    if (input == primary.heard_input && clientIdleNs(primary.session) / 1000000 > 1000) return;
    primary.heard_input = input;
    primary.heard_ms = clockMonotonicMs();
}

uint64_t streamApplyHeardMs(void) {
    if (primary.session) noteInput();
    return primary.heard_ms;
}

uint64_t streamApplyReadOffset(void) {
    return primary.session ? primary.run + primary.session->input_bytes : replStreamOffset();
}

uint64_t streamApplyInput(void) {
    return primary.input_before + (primary.session ? (uint64_t)primary.session->net_input : 0);
}

/* stream_apply.c -- applies the replication stream of the primary, and sends acknowledgments.
 *
 * The link is a client like others: an owner thread reads, parses and hashes its commands, which main applies in
 * batches. When the connection is lost, the replication offset stays that of the last whole command or transaction;
 * incomplete input and an open transaction are discarded.
 *
 * Not here    connecting and synchronizing (primary_link.c).
 * Owns        the client of the link, `session`.
 * Threads     main.
 * Invariants  1. The replication offset is the end of the last command or transaction that was applied as a whole; the
 *                backlog has the commands of an open transaction after it.
 *             2. `run`, the end of the last command that ran, is between the replication offset and the end of the
 *                backlog; it equals the offset unless a transaction is open.
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
#include "panic.h"
#include "reply.h"
#include "resp_format.h"
#include "repl_stream.h"
#include "sessions.h"
#include "synced_offset.h"

#include <string.h>

static struct {
    void (*lost)(bool whole);                 /* const after boot */
    client *session;                          /* borrowed: the client of the link; NULL without a link */
    int db;                                   /* without a link: the database in which the next one begins */
    bool old_style;                           /* begun by SYNC */
    uint64_t run;                             /* end of the last command that ran, also within a transaction */
    uint64_t acked_offset;                    /* in the last acknowledgment */
    uint64_t last_input_ms, last_input_bytes; /* monotonic time of the last input; bytes received until then */
    uint64_t input_before;                    /* bytes received on previous links */
    syncedOffset on_disk;                     /* for the present stream */
} primary;

/* Asserts the invariants. After a protocol error the backlog may end in a part of a command. */
static void sessionCheck(void) {
    const client *c = primary.session;
    if (!c) return;
    debugAssert(c->flags & CLIENT_PRIMARY && c->flags & CLIENT_DENY_BLOCKING && !(c->flags & CLIENT_REPLICA));
    debugAssert(replStreamIsKept() && primary.run >= replStreamOffset());
    debugAssert(primary.run == replStreamBacklog()->end || c->flags & CLIENT_PROTOCOL_ERROR);
    debugAssert(primary.db >= 0 && primary.db < dbCount());
}

/* ---- Acknowledgments ---- */

#define SILENCED (CLIENT_PRIMARY | CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP)

/* Sends bytes to the primary. All other replies on the link are suppressed; CLIENT REPLY in the stream does not
 * suppress these. */
static void sendToPrimary(const char *bytes, size_t len) {
    client *c = primary.session;
    debugAssert(c->flags & CLIENT_PRIMARY);
    uint64_t silenced = c->flags & SILENCED;
    c->flags &= ~SILENCED;
    addReplyProto(c, bytes, len);
    c->flags |= silenced;
}

long long streamApplyOffset(void) { return (long long)replStreamOffset() - primary.old_style; }

void streamApplyAck(bool with_disk) {
    if (!primary.session) return;
    char text[256];
    bool disk = with_disk && aofIsOn();
    primary.acked_offset = replStreamOffset();
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
    sendToPrimary(text, n);
    sessionCheck();
}

void streamApplyAckChanges(void) {
    if (replStreamOffset() != primary.acked_offset) streamApplyAckAnyway();
}

void streamApplyAckAnyway(void) {
    if (!primary.old_style) streamApplyAck(true);
}

void streamApplyOnGetack(client *c) {
    if (c == primary.session) streamApplyAck(true);
}

/* ---- The stream ---- */

/* Appends a command whose bytes are not in one piece to the backlog, in RESP. Returns false if the primary has sent it
 * in another encoding, so that offsets would differ. */
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

/* Called when a command of a client with CLIENT_PRIMARY has run, was queued by MULTI, or could not be run. */
static void applied(client *c) {
    if (unlikely(c != primary.session)) return;
    if (unlikely(!forward(c->req))) {
        serverLog(LL_WARNING,
                  "Protocol error in the replication stream. Closing the connection to the primary and reconnecting.");
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
    client *c = sessionAdoptOutgoing(conn);
    c->flags |= CLIENT_PRIMARY | CLIENT_DENY_BLOCKING; /* a blocking command must not stop the stream */
    c->db = dbSelect(primary.db);
    primary.session = c;
    primary.old_style = old_style;
    syncedOffsetForget(&primary.on_disk);
    primary.run = replStreamOffset();
    primary.last_input_ms = clockMonotonicMs();
    primary.last_input_bytes = 0;
    sessionCheck();
}

bool streamApplyIsOpen(void) { return primary.session != NULL; }

/* Detaches this file from the client of the link. The replication offset and the database stay, for the next link.
 * Returns false after a protocol error. */
static bool detachSession(void) {
    client *c = primary.session;
    sessionCheck();
    primary.session = NULL;
    primary.db = dbId(c->db);
    primary.input_before += (uint64_t)c->net_input;
    replStreamRollback();
    return !(c->flags & CLIENT_PROTOCOL_ERROR);
}

static void streamApplyFreed(client *c) {
    if (c == primary.session) primary.lost(detachSession());
}

bool streamApplyLeave(void) {
    client *c = primary.session;
    serverAssert(c); /* streamApplyIsOpen() */
    bool whole = detachSession();
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
    clientOnFree(streamApplyFreed);
    callOnApplied(applied);
}

/* ---- State of the link ---- */

int streamApplyDb(void) { return primary.session ? dbId(primary.session->db) : primary.db; }

void streamApplySetDb(int db) { primary.db = db >= 0 && db < dbCount() ? db : 0; }

static void noteInput(void) {
    uint64_t input = (uint64_t)primary.session->net_input + primary.session->input_bytes;
    if (input == primary.last_input_bytes && clientIdleNs(primary.session) / 1000000 > 1000) return;
    primary.last_input_bytes = input;
    primary.last_input_ms = clockMonotonicMs();
}

uint64_t streamApplyLastInputMs(void) {
    if (primary.session) noteInput();
    return primary.last_input_ms;
}

uint64_t streamApplyReadOffset(void) {
    return primary.session ? primary.run + primary.session->input_bytes : replStreamOffset();
}

uint64_t streamApplyInput(void) {
    return primary.input_before + (primary.session ? (uint64_t)primary.session->net_input : 0);
}

/* handshake.c -- the handshake of a replica with its primary: authentication, REPLCONF and PSYNC.
 *
 *   PING, AUTH | REPLCONF listening-port, ip-address, capa, version ... | PSYNC --> +CONTINUE
 *                                                                              |-> +FULLRESYNC, newlines, $ header
 *                                                                              `-> +DUALCHANNELSYNC
 *
 * After the last, a second connection receives the RDB, and this one the replication stream from its offset on:
 *
 *   second   AUTH | REPLCONF ..., SYNC --> $ENDOFF: ID and offset of the RDB, and the ID of the client that gets it
 *   first    REPLCONF set-rdb-client-id | PSYNC from there --> +CONTINUE, the stream
 *   second   $ header
 *
 * An option of REPLCONF that an older primary does not know is refused by it; the handshake continues. In a cluster the
 * replica asks CLUSTER MYID before PSYNC: another node may have got the address of its primary.
 *
 * Not here    when to connect, and to which server (primary_link.c); parsing the answers (psync_reply.c); the bytes of
 *             the RDB (snapshot_reader.c).
 * Owns        nothing.
 * Threads     the job's.
 * Invariants  1. The step is CONNECTING, then HANDSHAKE, and SYNC once the primary has answered that it sends the RDB.
 *             2. The primary has either accepted or rejected PSYNC, or has not answered.
 *             3. The outcome can be CONTINUE in HANDSHAKE, if the job has requested an offset, and SNAPSHOT in SYNC.
 *             4. `stream` has a connection only if the primary wants two; then the RDB's offset is known.
 * Tests       tests/repl/sync.tcl, tests/repl/strange_primary.tcl, tests/fuzz/repl_handshake_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "link_job.h"

#include "log.h"
#include "numbers.h"
#include "panic.h"
#include "psync_reply.h"
#include "resp_format.h"
#include "snapshot_peek.h"
#include "version.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Asserts the invariants. Call at the end of a step. */
static void handshakeCheck(const linkJob *job) {
    int step = atomic_load_explicit(&job->step, memory_order_relaxed);
    bool accepted = atomic_load_explicit(&job->accepted_psync, memory_order_relaxed);
    debugAssert(!(accepted && job->rejected_psync));
    debugAssert(step == LINK_STEP_CONNECTING || job->wire.conn || job->stream.conn);
    debugAssert(step == LINK_STEP_SYNC || job->outcome != LINK_SNAPSHOT);
    debugAssert(job->outcome != LINK_CONTINUE || (step == LINK_STEP_HANDSHAKE && accepted && job->offset >= 0));
    debugAssert(job->outcome != LINK_SNAPSHOT || accepted || (job->rejected_psync && job->got_offset == -1));
    debugAssert(!job->stream.conn || (job->dual_channel && accepted));
    debugAssert(!job->stream.conn || job->outcome != LINK_SNAPSHOT || job->got_offset >= 0);
    debugAssert(!job->failover || !job->rejected_psync || job->outcome == LINK_FAILED);
    debugAssert(job->outcome != LINK_RECEIVED);
    unused(step), unused(accepted), unused(job);
}

/* ---- Sending ---- */

#define WORD(text) sliceStr(text)

static bool sendTake(linkJob *job, sds bytes) {
    bool ok = linkWrite(job, sdsSlice(bytes));
    sdsFree(bytes);
    return ok;
}

/* ---- Receiving ---- */

/* Logs errno as the reason why no line was received. */
static void logSilence(const char *what) {
    if (linkErrorIsNews(errno)) serverLog(LL_WARNING, "%s: %s", what, strerror(errno));
}

static bool readReply(linkJob *job, char *line) {
    if (linkReadLine(job, line, LINK_LINE_MAX)) return true;
    logSilence("No reply from PRIMARY in the handshake");
    return false;
}

/* Reads the reply to an option that the primary may refuse. Returns false only if there is no reply. */
static bool readOptional(linkJob *job, const char *what) {
    char line[LINK_LINE_MAX];
    if (!readReply(job, line)) return false;
    if (*line == '-') serverLog(LL_NOTICE, "(Non critical) Primary does not understand %s: %s", what, line);
    return true;
}

/* ---- Steps ---- */

static bool sendPing(linkJob *job) {
    char line[LINK_LINE_MAX];
    if (!sendTake(job, RESP_CAT_REQUEST(sdsEmpty(), WORD("PING"))) || !readReply(job, line)) return false;
    bool known = *line == '+' || lineBegins(line, "-NOAUTH") || lineBegins(line, "-NOPERM") ||
                 lineBegins(line, "-ERR operation not permitted");
    if (known) serverLog(LL_NOTICE, "Primary replied to PING, replication can continue...");
    else serverLog(LL_WARNING, "Error reply to PING from primary: '%s'", line);
    return known;
}

static sds addAuth(const linkJob *job, sds out) {
    if (!job->password) return out;
    if (!job->user) return RESP_CAT_REQUEST(out, WORD("AUTH"), sdsSlice(job->password));
    return RESP_CAT_REQUEST(out, WORD("AUTH"), sdsSlice(job->user), sdsSlice(job->password));
}

static sds addPort(const linkJob *job, sds out) {
    char port[LONG_STR_SIZE];
    size_t len = ll2string(port, job->announce_port);
    return RESP_CAT_REQUEST(out, WORD("REPLCONF"), WORD("listening-port"), sliceOf(port, len));
}

static sds addCapabilities(const linkJob *job, sds out) {
    slice words[9] = {WORD("REPLCONF"), WORD("capa"), WORD("eof"), WORD("capa"), WORD("psync2")};
    size_t n = 5;
    if (job->dual_channel) {
        words[n++] = WORD("capa");
        words[n++] = WORD("dual-channel");
    }
    if (job->skip_checksum) {
        words[n++] = WORD("capa");
        words[n++] = WORD("skip-rdb-checksum");
    }
    debugAssert(n <= (int)array_len(words));
    return respCatRequest(out, n, words);
}

static bool readAuth(linkJob *job) {
    char line[LINK_LINE_MAX];
    if (!job->password) return true;
    if (!readReply(job, line)) return false;
    if (*line != '-') return true;
    serverLog(LL_WARNING, "Unable to AUTH to PRIMARY: %s", line);
    return false;
}

/* Sends all commands at once, and then reads their replies. */
static bool announce(linkJob *job) {
    sds out = addAuth(job, sdsEmpty());
    out = addPort(job, out);
    if (job->announce_ip) out = RESP_CAT_REQUEST(out, WORD("REPLCONF"), WORD("ip-address"), WORD(job->announce_ip));
    out = addCapabilities(job, out);
    out = RESP_CAT_REQUEST(out, WORD("REPLCONF"), WORD("version"), WORD(VALKEY_VERSION));
    if (job->own_node_id[0])
        out = RESP_CAT_REQUEST(out, WORD("REPLCONF"), WORD("set-cluster-node-id"), WORD(job->own_node_id));
    return sendTake(job, out) && readAuth(job) && readOptional(job, "REPLCONF listening-port") &&
           (!job->announce_ip || readOptional(job, "REPLCONF ip-address")) && readOptional(job, "REPLCONF capa") &&
           readOptional(job, "REPLCONF version") &&
           (!job->own_node_id[0] || readOptional(job, "REPLCONF set-cluster-node-id"));
}

/* Reads a node's id, in a bulk string. A server that does not tell it (an error) may be the right one. */
static bool readNodeId(linkJob *job) {
    char line[LINK_LINE_MAX];
    if (!readReply(job, line)) return false;
    if (*line == '-') {
        serverLog(LL_NOTICE, "(Non critical) Primary does not tell its node id: %s", line);
        return true;
    }
    if (!readReply(job, line)) return false;
    if (!strcmp(line, job->node_id)) return true;
    serverLog(LL_WARNING, "The server at %s:%d is node %.*s, not the primary of this replica, node %s", job->host,
              job->port, NODE_ID_LEN, line, job->node_id);
    return false;
}

/* Returns whether the primary is the node that this replica is to follow. */
static bool isRightNode(linkJob *job) {
    if (!job->node_id[0]) return true;
    return sendTake(job, RESP_CAT_REQUEST(sdsEmpty(), WORD("CLUSTER"), WORD("MYID"))) && readNodeId(job);
}

static bool sendPsync(linkJob *job) {
    char offset[LONG_STR_SIZE];
    size_t len = ll2string(offset, job->offset);
    sds out = job->failover
                  ? RESP_CAT_REQUEST(sdsEmpty(), WORD("PSYNC"), WORD(job->id), sliceOf(offset, len), WORD("FAILOVER"))
                  : RESP_CAT_REQUEST(sdsEmpty(), WORD("PSYNC"), WORD(job->id), sliceOf(offset, len));
    if (job->offset >= 0)
        serverLog(LL_NOTICE, "Trying a partial resynchronization (request %s:%lld).", job->id, job->offset);
    else serverLog(LL_NOTICE, "Partial resynchronization not possible (no cached primary)");
    return sendTake(job, out);
}

static void takePosition(linkJob *job, const replPosition *position) {
    debugAssert(position->offset >= -1 && position->offset <= PRIMARY_OFFSET_MAX); /* psync_reply.c refuses others */
    memcpy(job->got_id, position->id, sizeof(job->got_id));
    job->got_offset = position->offset;
}

/* Parses the reply to PSYNC and turns an answer that this job has not asked for into an error. Logs all answers but the
 * expected ones, and stores the ID and the offset. */
static psyncReply judgeReply(linkJob *job, const char *line) {
    replPosition position;
    psyncReply answer = psyncReplyParse(line, &position);
    switch (answer) {
    case PSYNC_CONTINUES:
        if (job->offset >= 0) break;
        serverLog(LL_WARNING, "Primary replied with +CONTINUE to a request for a full synchronization: %s", line);
        return PSYNC_MALFORMED;
    case PSYNC_FULL: break;
    case PSYNC_DUAL_CHANNEL:
        if (job->dual_channel) break;
        serverLog(LL_WARNING, "Unexpected reply to PSYNC from primary: %s", line);
        return PSYNC_UNKNOWN;
    case PSYNC_NOT_NOW:
        serverLog(LL_NOTICE, "Primary is currently unable to PSYNC but should be in the future: %s", line);
        break;
    case PSYNC_UNKNOWN:
        if (!lineBegins(line, "-ERR")) serverLog(LL_WARNING, "Unexpected reply to PSYNC from primary: %s", line);
        else serverLog(LL_NOTICE, "Primary does not support PSYNC or is in error state (reply: %s)", line);
        break;
    case PSYNC_MALFORMED:
        if (lineBegins(line, "+F")) serverLog(LL_WARNING, "Primary replied with wrong +FULLRESYNC syntax.");
        else serverLog(LL_WARNING, "Primary replied with a +CONTINUE that has no valid replication ID: %s", line);
        break;
    }
    if (answer == PSYNC_CONTINUES || answer == PSYNC_FULL) takePosition(job, &position);
    return answer;
}

/* Reads the first line that is not empty. The primary sends newlines to keep the connection alive until it answers. */
static bool readAfterNewlines(linkJob *job, char *line) {
    do {
        if (!linkReadLine(job, line, LINK_LINE_MAX)) return false;
    } while (*line == '\0');
    return true;
}

static bool readHeader(linkJob *job) {
    char line[LINK_LINE_MAX];
    if (!readAfterNewlines(job, line)) {
        logSilence("I/O error reading bulk count from PRIMARY");
        return false;
    }
    if (*line == '-') {
        serverLog(LL_WARNING, "PRIMARY aborted replication with an error: %s", line + 1);
        return false;
    }
    if (snapshotFrameParse(&job->frame, sliceStr(line))) return true;
    serverLog(
        LL_WARNING,
        "Bad protocol from PRIMARY, the first byte is not '$' (we received '%.64s'), are you sure the host and port "
        "are right?",
        line);
    return false;
}

static void expectSnapshot(linkJob *job) {
    atomic_store_explicit(&job->step, LINK_STEP_SYNC, memory_order_relaxed);
    if (!readHeader(job)) return;
    if (job->peeks && !snapshotPeek(job)) {
        logSilence("I/O error trying to sync with PRIMARY");
        return;
    }
    job->outcome = LINK_SNAPSHOT;
}

/* ---- Two connections ---- */

static bool announceSecond(linkJob *job) {
    char port[LONG_STR_SIZE], line[LINK_LINE_MAX];
    size_t len = ll2string(port, job->announce_port);
    sds out = addAuth(job, sdsEmpty());
    out = RESP_CAT_REQUEST(out, WORD("REPLCONF"), WORD("capa"), WORD("eof"), WORD("rdb-only"), WORD("1"),
                           WORD("rdb-channel"), WORD("1"), WORD("listening-port"), sliceOf(port, len), WORD("version"),
                           WORD(VALKEY_VERSION));
    if (job->announce_ip) out = RESP_CAT_REQUEST(out, WORD("REPLCONF"), WORD("ip-address"), WORD(job->announce_ip));
    if (!sendTake(job, out) || !readAuth(job) || !readReply(job, line)) return false;
    if (*line == '-') {
        serverLog(LL_WARNING, "PRIMARY refused the second connection of dual channel replication: %s", line);
        return false;
    }
    return !job->announce_ip || readOptional(job, "REPLCONF ip-address");
}

/* Reads the $ENDOFF line: the position of the RDB in the stream, and the ID of the client that gets it. Logs a failure
 * and returns false. */
static bool readEnd(linkJob *job, long long *client) {
    char line[LINK_LINE_MAX];
    syncEnd end;
    if (!readAfterNewlines(job, line)) {
        logSilence("No reply to SYNC from PRIMARY");
        return false;
    }
    if (!syncEndParse(line, &end)) {
        serverLog(LL_WARNING, "Invalid reply to SYNC from PRIMARY: expected $ENDOFF, got '%.64s'", line);
        return false;
    }
    takePosition(job, &end.position);
    job->got_db = end.db;
    *client = end.client;
    return true;
}

/* Requests the replication stream from the RDB's offset on, on the first connection. */
static bool requestStream(linkJob *job, long long client) {
    char line[LINK_LINE_MAX], offset[LONG_STR_SIZE], id[LONG_STR_SIZE];
    size_t len = ll2string(offset, job->got_offset + 1), id_len = ll2string(id, client);
    sds out = RESP_CAT_REQUEST(sdsEmpty(), WORD("REPLCONF"), WORD("set-rdb-client-id"), sliceOf(id, id_len));
    if (!sendTake(job, out) || !readReply(job, line)) return false;
    if (*line != '-') { /* PSYNC is sent after the reply, because a primary refuses it to clients with pending output */
        out = RESP_CAT_REQUEST(sdsEmpty(), WORD("PSYNC"), WORD(job->got_id), sliceOf(offset, len));
        if (!sendTake(job, out) || !readReply(job, line)) return false;
    }
    if (lineBegins(line, "+CONTINUE")) return true;
    serverLog(LL_WARNING, "PRIMARY refused to send the replication stream beside its snapshot: %s", line);
    return false;
}

static void useDualChannel(linkJob *job) {
    long long client;
    debugAssert(!job->stream.conn && job->dual_channel);
    serverLog(LL_NOTICE, "Dual channel replication: opening a second connection for the snapshot");
    linkSwapWires(job);
    if (!linkConnect(job) || !announceSecond(job)) return;
    if (!linkWrite(job, sliceStr("SYNC\r\n")) || !readEnd(job, &client)) return;
    linkSwapWires(job);
    bool ok = requestStream(job, client);
    linkSwapWires(job);
    if (ok) expectSnapshot(job);
}

static void requestSync(linkJob *job) {
    char line[LINK_LINE_MAX];
    if (!sendPsync(job)) return;
    if (!readAfterNewlines(job, line)) {
        logSilence("Primary did not reply to PSYNC");
        return;
    }
    psyncReply answer = judgeReply(job, line);
    if (answer == PSYNC_CONTINUES || answer == PSYNC_FULL || answer == PSYNC_DUAL_CHANNEL) {
        atomic_store_explicit(&job->accepted_psync, true, memory_order_relaxed);
        job->done(); /* wakes main: a failover has succeeded, even if an RDB is still to be received */
    }
    switch (answer) {
    case PSYNC_CONTINUES: job->outcome = LINK_CONTINUE; return;
    case PSYNC_FULL:
        serverLog(LL_NOTICE, "Full resync from primary: %s:%lld", job->got_id, job->got_offset);
        expectSnapshot(job);
        return;
    case PSYNC_DUAL_CHANNEL: useDualChannel(job); return;
    case PSYNC_NOT_NOW:
    case PSYNC_MALFORMED: job->rejected_psync = true; return;
    case PSYNC_UNKNOWN:
        job->rejected_psync = true;
        if (job->failover) return;
        serverLog(LL_NOTICE, "Retrying with SYNC...");
        job->got_offset = -1;
        if (linkWrite(job, sliceStr("SYNC\r\n"))) expectSnapshot(job);
        return;
    }
}

void handshakeWork(linkJob *job) {
    debugAssert(!job->wire.conn && !job->stream.conn && job->outcome == LINK_FAILED);
    atomic_store_explicit(&job->step, LINK_STEP_CONNECTING, memory_order_relaxed);
    if (!linkConnect(job)) return;
    atomic_store_explicit(&job->step, LINK_STEP_HANDSHAKE, memory_order_relaxed);
    handshakeCheck(job);
    if (sendPing(job) && announce(job) && isRightNode(job)) requestSync(job);
    handshakeCheck(job);
}

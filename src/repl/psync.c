/* psync.c -- the commands that replicas send to a primary: PSYNC, SYNC, REPLCONF.
 *
 * Not here    sending the dataset (full_sync.c) and the replication stream (replicas.c).
 * Owns        the counters.
 * Threads     main.
 * Tests       tests/repl/psync.tcl, tests/fuzz/repl_words_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "psync.h"

#include "anet.h"
#include "command_table.h"
#include "failover.h"
#include "full_sync.h"
#include "log.h"
#include "log_limit.h"
#include "monitor.h"
#include "numbers.h"
#include "panic.h"
#include "primary_link.h"
#include "repl_settings.h"
#include "replicas.h"
#include "reply.h"
#include "role_cmds.h"
#include "sds.h"
#include "sync_cause.h"
#include "slot_check.h"
#include "slot_table.h"
#include "repl_stream.h"

#include <stdio.h>
#include <strings.h>

#define IP_MAX 255
#define ID_SHOWN 100 /* bytes of a node id in an error */

psyncStats psync_stats;
static gateFn *monitors_gate;        /* const after boot */
static void (*on_getack)(client *c); /* const after boot */
static const char *refusal_of_all;   /* no replica may synchronize; NULL: they may */

void psyncInit(gateFn *monitors, void (*getack)(client *c)) {
    debugAssert(!monitors_gate);
    monitors_gate = monitors;
    on_getack = getack;
}

/* ---- PSYNC, SYNC ---- */

/* Returns whether PSYNC requests a full synchronization. */
static bool requestsAll(slice id) { return id.len > 0 && id.ptr[0] == '?'; }

/* Returns the offset from which the replica can continue, or logs why it cannot, sets `cause` and returns -1. It must
 * request one of the two replication IDs, and the backlog must have the bytes from the offset on. `requested` counts
 * from 1. */
static long long partialOffset(const replicaState *r, slice id, long long requested, syncCause *cause) {
    const replIds *names = replicationIds();
    bool first = id.len == REPL_ID_BYTES && !strncasecmp(id.ptr, names->id, REPL_ID_BYTES);
    bool second = id.len == REPL_ID_BYTES && !strncasecmp(id.ptr, names->id2, REPL_ID_BYTES);
    if (!first && !(second && requested <= names->id2_until)) {
        *cause = (syncCause){.kind = SYNC_OTHER_ID};
        if (requestsAll(id)) {
            cause->kind = SYNC_NEW;
            LOG_LIMITED(LL_NOTICE, LOG_LIMIT_FEW, "replicas that asked for a full synchronization",
                        "Full resync requested by replica %s", replicaName(r));
        } else if (second) {
            *cause = (syncCause){.kind = SYNC_DIVERGED, .bytes = (unsigned long long)(requested - names->id2_until)};
            LOG_LIMITED(
                LL_NOTICE, LOG_LIMIT_FEW, "partial synchronizations that were refused for their offset",
                "Partial resynchronization not accepted: Requested offset for second ID was %lld, but I can reply "
                "up to %lld",
                requested, names->id2_until);
        } else {
            LOG_LIMITED(LL_NOTICE, LOG_LIMIT_FEW, "partial synchronizations that were refused for their replication ID",
                        "Partial resynchronization not accepted: Replication ID mismatch (Replica asked for '%.*s', my "
                        "replication IDs are '%s' and '%s')",
                        (int)(id.len < 64 ? id.len : 64), id.ptr, names->id, names->id2);
        }
        return -1;
    }
    uint64_t begin = replStreamIsKept() ? backlogBegin(replStreamBacklog()) : 0, end = replStreamOffset();
    if (replStreamIsKept() && requested > 0 && (uint64_t)requested - 1 >= begin && (uint64_t)requested - 1 <= end)
        return requested - 1;
    bool ahead = requested > 0 && (uint64_t)requested - 1 > end;
    if (ahead) *cause = (syncCause){.kind = SYNC_AHEAD, .bytes = (uint64_t)requested - 1 - end};
    else *cause = syncCauseOfBacklog(requested > 0 ? (uint64_t)requested - 1 : 0);
    LOG_LIMITED(
        LL_NOTICE, LOG_LIMIT_FEW, "partial synchronizations that were refused for lack of backlog",
        "Unable to partial resync with replica %s for lack of backlog (Replica request was %.*s:%lld, and I can "
        "only reply with the range [%llu, %llu]).",
        replicaName(r), (int)id.len, id.ptr, requested, (unsigned long long)begin + 1, (unsigned long long)end + 1);
    if (ahead)
        LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "replicas that asked for an offset ahead of the stream",
                    "Replica %s tried to PSYNC with an offset that is greater than the primary replication "
                    "offset.",
                    replicaName(r));
    return -1;
}

static void becomeOnline(replicaState *r, uint64_t offset) {
    char line[REPL_ID_BYTES + 16];
    int n = r->reads_psync2 ? snprintf(line, sizeof(line), "+CONTINUE %s\r\n", replicationIds()->id)
                            : snprintf(line, sizeof(line), "+CONTINUE\r\n");
    bool kept = replicaSetCursor(r, offset);
    serverAssert(kept); /* partialOffset() has checked it */
    replicaBegin(r);
    debugAssert((size_t)n < sizeof(line));
    addReplyProto(r->c, line, (size_t)n);
    replicaState *rdb = r->rdb_id ? replicaWithCursorFor(r->rdb_id) : NULL;
    if (rdb) {
        replicaLoadsBeside(r);
        fullSyncCursorTaken(rdb);
    } else {
        replicaOnline(r, false);
    }
    LOG_LIMITED(
        LL_NOTICE, LOG_LIMIT_FEW, "partial synchronizations",
        "Partial resynchronization request from %s accepted. Sending %llu bytes of backlog starting from offset "
        "%llu.",
        replicaName(r), (unsigned long long)(replStreamOffset() - offset), (unsigned long long)offset + 1);
}

/* Tries a partial synchronization. Returns true if it has begun, or after an error reply. Else sets `cause`. */
static bool tryPartial(client *c, replicaState *r, syncCause *cause) {
    long long requested;
    if (!getLongLongFromArg(c, 2, &requested, NULL)) return true;
    long long offset = partialOffset(r, c->argv[1], requested, cause);
    if (offset < 0) {
        psync_stats.partial_err += !requestsAll(c->argv[1]);
        return false;
    }
    psync_stats.partial_ok++;
    becomeOnline(r, (uint64_t)offset);
    return true;
}

void psyncRefuseAll(const char *error) { refusal_of_all = error; }

/* Returns the error reply if the client cannot synchronize now, or NULL if it can. */
static const char *psyncRefusal(const client *c, const replicaState *r) {
    if (refusal_of_all) return refusal_of_all;
    if (failoverNow() != FAILOVER_NONE) return "-NOMASTERLINK Can't SYNC while failing over";
    if (primaryLinkIsOn() && !primaryLinkIsUp()) return "-NOMASTERLINK Can't SYNC while not connected with my master";
    if (c->output_bytes) return "SYNC and PSYNC are invalid with pending output";
    if ((r->needs.no_keys || r->needs.no_functions) && !r->reads_eof) return "Filtered replica requires EOF capability";
    return NULL;
}

/* Handles PSYNC ... FAILOVER: makes this replica the primary, as its primary requests. Returns false after an error
 * reply. */
static bool takeOver(client *c) {
    if (!primaryLinkIsOn()) {
        addReplyError(c, "PSYNC FAILOVER can't be sent to a master.");
        return false;
    }
    slice id = c->argv[1];
    if (id.len != REPL_ID_BYTES || strncasecmp(id.ptr, replicationIds()->id, REPL_ID_BYTES) != 0) {
        addReplyError(c, "PSYNC FAILOVER replid must match my replid.");
        return false;
    }
    serverLog(LL_NOTICE, "Failover request received for replid %.*s.", (int)id.len, id.ptr);
    primaryLinkLeave();
    roleLogPromotion("failover request", c);
    return true;
}

static void synchronize(client *c, bool by_psync) {
    assertMainRole();
    if (c->flags & CLIENT_REPLICA) return; /* the client is already a replica, or a monitor */
    if (c->flags & CLIENT_PRIMARY) {
        addReplyError(c, "PSYNC and SYNC are not allowed for the primary of this server");
        return;
    }
    if (c->argc > 3 && sliceIs(c->argv[3], "failover") && !takeOver(c)) return;
    replicaState *r = replicaOf(c);
    debugAssert(r->phase == REPLICA_NONE && !r->has_cursor && !r->node);
    const char *error = psyncRefusal(c, r);
    if (error) {
        addReplyError(c, error);
        return;
    }
    LOG_LIMITED(LL_NOTICE, LOG_LIMIT_FEW, "replicas that asked for synchronization",
                "Replica %s asks for synchronization", replicaName(r));
    syncCause cause = {.kind = SYNC_NEW};
    if (by_psync && tryPartial(c, r, &cause)) return;
    if (!r->is_rdb_channel && !r->snapshot_only) syncCauseReport(r, cause);
    if (by_psync && r->dual_channel && !r->is_rdb_channel) {
        LOG_LIMITED(LL_NOTICE, LOG_LIMIT_FEW, "replicas that get the dataset by another connection",
                    "Dual channel replication: replica %s gets the dataset on a second connection", replicaName(r));
        addReplyProto(c, "+DUALCHANNELSYNC\r\n", 18);
        return;
    }
    debugAssert(failoverNow() == FAILOVER_NONE && (!primaryLinkIsOn() || primaryLinkIsUp())); /* psyncRefusal() */
    r->old_style = !by_psync;
    psync_stats.full++;
    if (repl_settings.no_tcp_nodelay) anetNoDelay(NULL, c->fd, false);
    replicaBegin(r);
    fullSyncRequest(r);
}

void psyncCommand(client *c) { synchronize(c, true); }

void syncCommand(client *c) { synchronize(c, false); }

/* ---- REPLCONF ---- */

/* Reads the digits up to `end`, of which there may be none. Returns false for other characters or a number over 255. */
static bool readVersionPart(const char *at, const char *end, unsigned *out) {
    *out = 0;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') return false;
        *out = *out * 10 + (unsigned)(*at - '0');
        if (*out > 255) return false;
    }
    return true;
}

/* Reads "9.1.2" as 0x00090102. Returns false if the text is not valid. */
static bool readVersion(slice text, unsigned *out) {
    unsigned version = 0;
    const char *at = text.ptr, *end = text.ptr + text.len;
    for (int i = 0; i < 3; i++) {
        const char *dot = i < 2 ? memchr(at, '.', (size_t)(end - at)) : end;
        unsigned part;
        if (!dot || !readVersionPart(at, dot, &part)) return false;
        version = version << 8 | part;
        at = dot + 1;
    }
    *out = version;
    return true;
}

static bool setIp(client *c, replicaState *r, uint32_t at) {
    slice ip = c->argv[at];
    if (ip.len > IP_MAX) {
        addReplyErrorFormat(c, "REPLCONF ip-address provided by replica instance is too long: %zu bytes", ip.len);
        return false;
    }
    sdsFree(r->ip);
    r->ip = ip.len ? sdsFromSlice(ip) : NULL;
    return true;
}

/* Returns whether dual-channel synchronization is possible, which requires that a child writes to the connection. */
static bool mayUseDualChannel(void) {
    if (!repl_settings.dual_channel) return false;
    if (!repl_settings.diskless_sync)
        LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "replicas with the dual-channel capability",
                    "Dual channel capability ignored: repl-diskless-sync disabled");
    return repl_settings.diskless_sync;
}

static void setCapability(replicaState *r, slice word) {
    if (sliceIs(word, "eof")) r->reads_eof = true;
    else if (sliceIs(word, "psync2")) r->reads_psync2 = true;
    else if (sliceIs(word, "skip-rdb-checksum")) r->skips_checksum = true;
    else if (sliceIs(word, "dual-channel")) r->dual_channel = mayUseDualChannel();
}

/* Parses the value of rdb-filter-only: words, quoted as in a configuration file, that name all that the RDB is to have.
 * Returns false after an error reply. */
static bool setFilter(client *c, replicaState *r, uint32_t at) {
    int count = 0, known = 0;
    sds text = sdsFromSlice(c->argv[at]);
    sds *words = sdsSplitArgs(text, &count);
    sdsFree(text);
    if (!words) {
        addReplyError(c, "Missing rdb-filter-only values");
        return false;
    }
    while (known < count && !strcasecmp(words[known], "functions")) known++;
    bool ok = known == count;
    if (ok) {
        r->needs.no_keys = true;
        r->needs.no_functions = count == 0;
    } else {
        addReplyErrorFormat(c, "Unsupported rdb-filter-only option: %s", words[known]);
    }
    sdsFreeSplitRes(words, count);
    return ok;
}

static bool readSwitch(client *c, uint32_t at, bool *out) {
    long long n;
    if (!getRangeLongFromArg(c, at, 0, 1, &n, NULL)) return false;
    *out = n;
    return true;
}

/* Sets which client, the RDB channel, gets the dataset for this replica. Returns false after an error reply. */
static bool setRdbClient(client *c, replicaState *r, uint32_t at) {
    long long id;
    if (!getLongLongFromArg(c, at, &id, NULL)) return false;
    if (id > 0 && replicaWithCursorFor((uint64_t)id)) {
        r->rdb_id = (uint64_t)id;
        return true;
    }
    addReplyErrorFormat(c, "Unrecognized RDB client id %lld", id);
    return false;
}

/* Applies one option of REPLCONF and its value. Returns false after an error reply. */
static bool setOption(client *c, replicaState *r, uint32_t at) {
    slice name = c->argv[at], value = c->argv[at + 1];
    if (sliceIs(name, "listening-port")) return getLongLongFromArg(c, at + 1, &r->port, NULL);
    if (sliceIs(name, "ip-address")) return setIp(c, r, at + 1);
    if (sliceIs(name, "capa")) {
        setCapability(r, value);
    } else if (sliceIs(name, "version")) {
        if (readVersion(value, &r->needs.version)) return true;
        addReplyErrorFormat(c, "Unrecognized version format: %.*s", (int)value.len, value.ptr);
        return false;
    } else if (sliceIs(name, "rdb-only")) {
        return readSwitch(c, at + 1, &r->snapshot_only);
    } else if (sliceIs(name, "rdb-channel")) {
        return readSwitch(c, at + 1, &r->is_rdb_channel);
    } else if (sliceIs(name, "set-rdb-client-id")) {
        return setRdbClient(c, r, at + 1);
    } else if (sliceIs(name, "rdb-filter-only")) {
        return setFilter(c, r, at + 1);
    } else if (sliceIs(name, "set-cluster-node-id")) {
        if (!slotsAreEnabled(c)) return false;
        if (value.len == sizeof(r->node_id.text)) memcpy(r->node_id.text, value.ptr, value.len); /* it may come */
        if (slotTableKnows(value)) return true;
        addReplyErrorFormat(c, "Unknown node %.*s", (int)(value.len < ID_SHOWN ? value.len : ID_SHOWN), value.ptr);
        return false;
    } else {
        addReplyErrorFormat(c, "Unrecognized REPLCONF option: %.*s", (int)name.len, name.ptr);
        return false;
    }
    return true;
}

static bool readOffset(slice text, long long *out) { return string2ll(text.ptr, text.len, out); }

/* Handles ACK <offset> [FACK <offset>], which have no reply. */
static void recordAck(client *c, uint32_t at) {
    replicaState *r = replicaFind(c);
    long long acked, synced = -1;
    if (!r || r->phase == REPLICA_NONE || !readOffset(c->argv[at + 1], &acked)) return;
    if (c->argc > at + 3 && sliceIs(c->argv[at + 2], "fack") && !readOffset(c->argv[at + 3], &synced)) return;
    replicaAck(r, acked, synced);
    fullSyncAcked(r);
}

void replconfCommand(client *c) {
    assertMainRole();
    if (c->argc % 2 == 0) {
        addReplySyntaxError(c);
        return;
    }
    for (uint32_t i = 1; i < c->argc; i += 2) {
        if (sliceIs(c->argv[i], "ack")) {
            recordAck(c, i);
            return;
        }
        if (sliceIs(c->argv[i], "getack")) {
            on_getack(c);
            return;
        }
        if (!setOption(c, replicaOf(c), i)) return;
    }
    addReplyOk(c);
}

/* ---- The gate for commands of replicas ---- */

/* Returns whether REPLCONF is used in a form that has no reply. */
static bool isAck(const client *c) {
    return c->argc > 1 && c->argc % 2 == 1 && (sliceIs(c->argv[1], "ack") || sliceIs(c->argv[1], "getack"));
}

gateResult replicaGate(client *c) {
    assertMainRole();
    const replicaState *r = replicaFind(c);
    if (!r || r->phase == REPLICA_NONE) return monitors_gate(c);
    bool ignored = c->cmd->proc == psyncCommand || c->cmd->proc == syncCommand || c->cmd->proc == monitorCommand;
    if (ignored) return GATE_PASSED;
    if (c->cmd->proc == replconfCommand && isAck(c)) return GATE_PASSED;
    /* A reply would be in the middle of the replication stream. */
    LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "replicas that sent a command that has a reply",
                "Closing the connection of replica %s, because it sent a command that has a reply.", replicaName(r));
    clientCloseAsap(c);
    return GATE_DIVERTED;
}

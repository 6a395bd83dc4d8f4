/* replicas.c -- the replicas of this server: their phases and offsets, and sending them the replication stream.
 *
 * Each replica has a cursor in the one chain of blocks, and is sent references to bytes of the chain: at any time only
 * as many as keep its connection busy, so that a replica that is far behind costs no more than the chain. Bytes that
 * its socket has not yet accepted are in transit, and count as not received.
 *
 * Not here    PSYNC and REPLCONF (psync.c), sending the dataset (full_sync.c), timeouts (repl_cron.c).
 * Owns        the list, and the state of each replica.
 * Threads     main.
 * Invariants  1. A client with a phase is in the list, once, and has CLIENT_REPLICA.
 *             2. The backlog is trimmed neither of bytes that a replica with a cursor has not received, nor of those of
 *                an incomplete transaction.
 *             3. external_output of a client counts the bytes that it has not received: from its cursor, minus the
 *                bytes in transit, to the offset of the stream.
 *             4. A replica that is sent the stream has a cursor, and is in ONLINE or LOADS_BESIDE. In ONLINE it is sent
 *                the stream unless it has to acknowledge the dataset first.
 * Cost        for each replica and each flush with new bytes: a block of references and a message.
 * Tests       tests/unit/repl/backlog/replicas_test.c, tests/repl/sync.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "replicas.h"

#include "anet.h"
#include "clock.h"
#include "gates.h"
#include "log.h"
#include "log_limit.h"
#include "output_limits.h"
#include "panic.h"
#include "repl_settings.h"
#include "reply.h"
#include "repl_stream.h"
#include "zmalloc.h"

#include <stdio.h>
#include <string.h>

#define IN_TRANSIT_MAX ((size_t)2 << 20)
#define NAME_BYTES 320
#define ACK_OBSERVERS 2

static struct {
    list *all; /* owns: of replicaState, borrowed from their clients */
    size_t with_cursor;
    size_t slot;                         /* const after boot: a client's replicaState */
    uint64_t sent_before;                /* bytes sent on connections that were closed */
    void (*on_ack[ACK_OBSERVERS])(void); /* const after boot; NULL: free */
    void (*on_close)(replicaState *r);   /* const after boot */
} replicas;

/* Asserts the invariants. The cursor of a client with CLIENT_CLOSE_ASAP may be in a backlog that was freed. */
static void replicaCheck(const replicaState *r) {
    debugAssert(replicaFind(r->c) == r);
    debugAssert(r->phase == REPLICA_NONE || r->node);
    debugAssert(!r->node || (listNodeValue(r->node) == r && r->c->flags & CLIENT_REPLICA));
    debugAssert(!r->streams || r->has_cursor);
    debugAssert(!r->streams || r->phase == REPLICA_ONLINE || r->phase == REPLICA_LOADS_BESIDE);
    debugAssert(r->phase != REPLICA_ONLINE || r->streams == !r->awaits_ack);
    debugAssert(!r->awaits_ack || (r->phase == REPLICA_ONLINE && r->has_cursor));
    debugAssert(r->has_cursor || r->c->external_output == 0);
    if (!r->has_cursor || r->c->flags & CLIENT_CLOSE_ASAP) return;
    debugAssert(replStreamIsKept() && r->at.offset <= replStreamOffset());
    debugAssert(backlogBegin(replStreamBacklog()) <= r->at.offset);
}

/* ---- State and address of a replica ---- */

static replicaState **stateOf(const client *c) { return clientSlot(c, replicas.slot); }

replicaState *replicaFind(const client *c) { return *stateOf(c); }

replicaState *replicaOf(client *c) {
    assertMainRole();
    replicaState *r = replicaFind(c);
    if (r) return r;
    r = zcalloc(1, sizeof(*r));
    r->c = c;
    r->synced = -1;
    *stateOf(c) = r;
    return r;
}

void replicaBegin(replicaState *r) {
    assertMainRole();
    serverAssert(!r->node && r->phase == REPLICA_NONE && !(r->c->flags & CLIENT_REPLICA));
    replicaCheck(r);
    listAddNodeTail(replicas.all, r);
    r->node = listLast(replicas.all);
    r->c->flags |= CLIENT_REPLICA;
    r->c->flags &= ~(CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP | CLIENT_REPLY_SKIP_NEXT);
    r->acked_ms = r->waits_since_ms = clockMonotonicMs();
    gateEnableClient(r->c, GATE_REPLICA_CLIENT, true);
    replicaCheck(r);
}

replicaState *replicasNext(const replicaState *r) {
    const listNode *node = r ? r->node->next : listFirst(replicas.all);
    return node ? listNodeValue(node) : NULL;
}

size_t replicasCount(void) { return listLength(replicas.all); }

/* Returns the address in "ip:port" or "[ip]:port". */
static slice hostOf(const char *peer) {
    const char *colon = strrchr(peer, ':');
    slice host = sliceOf(peer, colon ? (size_t)(colon - peer) : strlen(peer));
    bool bracketed = host.len > 1 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
    return bracketed ? sliceOf(host.ptr + 1, host.len - 2) : host;
}

void replicaAddress(const replicaState *r, char *ip, size_t size) {
    slice host = r->ip ? sdsSlice(r->ip) : hostOf(r->c->peer);
    snprintf(ip, size, "%.*s", (int)host.len, host.ptr);
}

const char *replicaName(const replicaState *r) {
    static char name[NAME_BYTES];
    char ip[NAME_BYTES - 32];
    replicaAddress(r, ip, sizeof(ip));
    if (r->port) anetFormatAddr(name, sizeof(name), ip, (int)r->port);
    else snprintf(name, sizeof(name), "%s:<unknown-replica-port>", ip);
    return name;
}

const char *replicaPhaseName(replicaPhase phase) {
    switch (phase) {
    case REPLICA_WAIT_START:
    case REPLICA_WAIT_END: return "wait_bgsave";
    case REPLICA_SEND_FILE: return "send_bulk";
    case REPLICA_ONLINE: return "online";
    case REPLICA_SNAPSHOT_SENT: return "rdb_transmitted";
    case REPLICA_LOADS_BESIDE: return "bg_transfer";
    case REPLICA_NONE: break;
    }
    return "none";
}

/* ---- Sending the replication stream ---- */

bool replicaSetCursor(replicaState *r, uint64_t offset) {
    assertMainRole();
    serverAssert(!r->has_cursor);
    if (!replStreamIsKept() || !backlogSeek(replStreamBacklog(), offset, &r->at)) return false;
    r->has_cursor = true;
    replicas.with_cursor++;
    replicaCheck(r);
    return true;
}

void replicaDropCursor(replicaState *r) {
    if (!r->has_cursor) return;
    r->has_cursor = r->streams = false;
    r->c->external_output = 0;
    debugAssert(replicas.with_cursor > 0);
    replicas.with_cursor--;
}

replicaState *replicaWithCursorFor(uint64_t rdb_id) {
    for (replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        if (r->c->id == rdb_id && r->is_rdb_channel && r->has_cursor) return r;
    }
    return NULL;
}

size_t replicasWaitingPsync(void) {
    size_t count = 0;
    for (const replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        count += r->is_rdb_channel && r->has_cursor;
    }
    return count;
}

void replicaStartStream(replicaState *r) {
    serverAssert(r->has_cursor);
    r->awaits_ack = false;
    r->streams = true;
    replicaCheck(r);
}

void replicaOnline(replicaState *r, bool awaits_ack) {
    r->phase = REPLICA_ONLINE;
    r->acked_ms = clockMonotonicMs();
    r->awaits_ack = awaits_ack;
    if (!awaits_ack) replicaStartStream(r);
    replicaCheck(r);
}

void replicaLoadsBeside(replicaState *r) {
    r->phase = REPLICA_LOADS_BESIDE;
    r->acked_ms = clockMonotonicMs();
    replicaStartStream(r);
}

uint64_t replicaReceived(const replicaState *r) {
    size_t in_transit = r->streams ? r->c->output_bytes : 0;
    return r->at.offset > in_transit ? r->at.offset - in_transit : 0;
}

static void feed(replicaState *r, uint64_t limit) {
    client *c = r->c;
    debugAssert(r->streams && c->output_bytes < IN_TRANSIT_MAX && r->at.offset < limit);
    uint64_t most = r->at.offset + (IN_TRANSIT_MAX - c->output_bytes);
    slice piece;
    if (most > limit) most = limit;
    for (robj *text; (text = backlogRead(replStreamBacklog(), &r->at, most, &piece)) != NULL;)
        addReplyExternal(c, text, piece);
}

/* Sets external_output and checks the output limits: bytes of the backlog count, whether in transit or not. */
static void count(replicaState *r, uint64_t limit) {
    client *c = r->c;
    debugAssert(replicaReceived(r) <= limit);
    c->external_output = (size_t)(limit - replicaReceived(r));
    if (unlikely(c->external_output >= output_alarm_bytes || c->soft_limit_since)) outputLimitCheck(c);
}

void replicasFeed(void) {
    if (!replStreamIsKept()) return;
    uint64_t limit = replStreamOffset(), needed = limit; /* bytes after it may be removed again */
    if (likely(replicas.with_cursor == 0)) {
        backlogTrim(replStreamBacklog(), needed);
        return;
    }
    for (replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        if (!r->has_cursor || r->c->flags & CLIENT_CLOSE_ASAP) continue;
        if (r->at.offset < limit || r->c->external_output) {
            r->c->external_output = (size_t)(limit - replicaReceived(r));
            if (r->streams && r->at.offset < limit && r->c->output_bytes < IN_TRANSIT_MAX) feed(r, limit);
            count(r, limit);
        }
        replicaCheck(r);
        uint64_t read = replicaReceived(r);
        if (read < needed) needed = read;
    }
    backlogTrim(replStreamBacklog(), needed);
}

size_t replicasKeptForOne(void) {
    size_t most = 0;
    for (const replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        const client *c = r->c;
        if (c->external_output > most && !(c->flags & CLIENT_CLOSE_ASAP)) most = c->external_output;
    }
    return most;
}

uint64_t replicasSent(void) {
    uint64_t bytes = replicas.sent_before;
    for (const replicaState *r = NULL; (r = replicasNext(r)) != NULL;) bytes += (uint64_t)r->c->net_output;
    return bytes;
}

/* ---- Acknowledgments ---- */

void replicasOnAck(void (*fn)(void)) {
    size_t i = 0;
    while (i < ACK_OBSERVERS && replicas.on_ack[i]) i++;
    serverAssert(i < ACK_OBSERVERS);
    replicas.on_ack[i] = fn;
}

void replicaAck(replicaState *r, long long offset, long long synced) {
    assertMainRole();
    debugAssert(r->node);
    replicaCheck(r);
    if (offset > r->acked) r->acked = offset;
    if (synced > r->synced && synced <= (long long)replStreamOffset()) r->synced = synced;
    r->acked_ms = clockMonotonicMs();
    for (size_t i = 0; i < ACK_OBSERVERS && replicas.on_ack[i]; i++) replicas.on_ack[i]();
}

typedef bool replicaTest(const replicaState *r, long long number);

static size_t countThose(replicaTest *test, long long number) {
    size_t n = 0;
    for (const replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        n += r->phase == REPLICA_ONLINE && !(r->c->flags & CLIENT_CLOSE_ASAP) && test(r, number);
    }
    return n;
}

static bool hasAcked(const replicaState *r, long long offset) { return r->acked >= offset; }

static bool hasSynced(const replicaState *r, long long offset) { return r->synced >= offset; }

static bool isFresh(const replicaState *r, long long max_lag_s) {
    return clockMonotonicMs() - r->acked_ms <= (uint64_t)max_lag_s * 1000 + 999; /* compares whole seconds */
}

size_t replicasWithout(uint64_t offset, unsigned version) {
    size_t n = 0;
    for (const replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        bool counts = r->phase == REPLICA_ONLINE && !(r->c->flags & CLIENT_CLOSE_ASAP) && r->needs.version >= version;
        n += counts && !hasAcked(r, (long long)offset);
    }
    return n;
}

size_t replicasAcked(uint64_t offset) { return countThose(hasAcked, (long long)offset); }

size_t replicasSynced(uint64_t offset) { return countThose(hasSynced, (long long)offset); }

size_t replicasGood(void) { return countThose(isFresh, repl_settings.min_replicas_max_lag_s); }

bool replicasHaveAll(void) {
    for (const replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        if (r->phase == REPLICA_ONLINE && !hasAcked(r, (long long)replStreamOffset())) return false;
    }
    return true;
}

void replicasLogLag(void) {
    size_t in_sync = 0, online = 0;
    for (const replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        if (r->phase != REPLICA_ONLINE) continue;
        online++;
        if (hasAcked(r, (long long)replStreamOffset())) {
            in_sync++;
            continue;
        }
        long long lag_s = (long long)((clockMonotonicMs() - r->acked_ms) / 1000);
        serverLog(LL_NOTICE, "Lagging replica %s reported offset %lld behind master, lag=%lld, state=%s.",
                  replicaName(r), (long long)replStreamOffset() - r->acked, lag_s, replicaPhaseName(r->phase));
    }
    if (online) serverLog(LL_NOTICE, "%zu of %zu replicas are in sync when shutting down.", in_sync, online);
}

/* ---- Closing ---- */

void replicasDisconnect(void) {
    for (replicaState *r = NULL; (r = replicasNext(r)) != NULL;) clientCloseAsap(r->c);
}

void replicasOnClose(void (*fn)(replicaState *r)) {
    debugAssert(!replicas.on_close);
    replicas.on_close = fn;
}

/* Returns the bytes kept for the replica if they exceed its output limit, or 0. */
static size_t keptAtLimit(const client *c) {
    const outputLimit limit = outputLimitInForce(CLIENT_TYPE_REPLICA);
    size_t kept = c->external_output;
    bool hard = limit.hard_bytes && kept >= limit.hard_bytes;
    bool soft = limit.soft_bytes && kept >= limit.soft_bytes && c->soft_limit_since;
    return hard || soft ? kept : 0;
}

static void freeState(client *c) {
    replicaState *r = replicaFind(c);
    if (!r) return;
    replicaCheck(r);
    if (r->node) {
        LOG_LIMITED(LL_NOTICE, LOG_LIMIT_FEW, "connections with replicas that were lost",
                    "Connection with replica %s lost.", replicaName(r));
        listDelNode(replicas.all, r->node);
        r->node = NULL;
        r->kept_at_limit = keptAtLimit(c);
        replicaDropCursor(r);
        replicas.sent_before += (uint64_t)c->net_output;
        if (replicas.on_close) replicas.on_close(r);
    }
    debugAssert(!r->has_cursor); /* else the backlog would keep its bytes for ever */
    *stateOf(c) = NULL;
    sdsFree(r->ip);
    zfree(r);
}

void replicasInit(void) {
    assertMainRole();
    debugAssert(!replicas.all);
    replicas.all = listCreate();
    replicas.slot = clientSlotRegister(sizeof(replicaState *));
    clientOnFree(freeState);
}

/* failover.c -- FAILOVER: a primary and one of its replicas exchange their roles.
 *
 * Writes are paused (engine/wait/pause.h) until a replica, the target, has acknowledged the whole replication stream.
 * Then this server becomes a replica of the target, and its first PSYNC asks the target to become the primary. If the
 * target refuses, this server becomes a primary again.
 *
 *   NONE --FAILOVER--> WAITS --a replica has all, or timeout with FORCE--> RUNS --target accepts--> NONE
 *                       | ABORT, or timeout                                 | ABORT, or target refuses
 *                       `--> NONE                                           `--> NONE, a primary again
 *
 * Not here    the link (primary_link.c), PSYNC on the side of the target (psync.c).
 * Owns        the present failover.
 * Threads     main; functions that change the link, main's own thread.
 * Invariants  1. Clients are paused for a failover exactly while there is one.
 *             2. This server is a primary in WAITS, and a replica of the target in RUNS.
 * Tests       tests/repl/failover.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "failover.h"

#include "clock.h"
#include "log.h"
#include "panic.h"
#include "pause.h"
#include "primary_link.h"
#include "replicas.h"
#include "slot_table.h"
#include "reply.h"
#include "repl_stream.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HOST_BYTES 256

static struct {
    failoverState state;
    sds host; /* owns: the target; NULL if it may be any replica */
    long long port;
    bool force;
    uint64_t until_ms; /* monotonic: end of WAITS; 0 without a timeout */
} failover;

static void failoverCheck(void) {
    debugAssert(failover.state != FAILOVER_NONE || !failover.host);
    debugAssert(failover.state == FAILOVER_NONE || pause_any);
    debugAssert(failover.state != FAILOVER_WAITS || !primaryLinkIsOn());
    debugAssert(failover.state != FAILOVER_RUNS || (primaryLinkIsOn() && failover.host));
    debugAssert(!failover.force || failover.state == FAILOVER_NONE || (failover.host && failover.until_ms));
}

failoverState failoverNow(void) { return failover.state; }

const char *failoverText(void) {
    switch (failover.state) {
    case FAILOVER_NONE: break;
    case FAILOVER_WAITS: return "waiting-for-sync";
    case FAILOVER_RUNS: return "failover-in-progress";
    }
    return "no-failover";
}

static void failoverEnd(void) {
    failover.state = FAILOVER_NONE;
    sdsFree(failover.host);
    failover.host = NULL;
    unpauseClients(PAUSE_DURING_FAILOVER);
}

static void failoverAbort(const char *reason) {
    if (failover.host) serverLog(LL_NOTICE, "FAILOVER to %s:%lld aborted: %s", failover.host, failover.port, reason);
    else serverLog(LL_NOTICE, "FAILOVER to any replica aborted: %s", reason);
    if (failover.state == FAILOVER_RUNS) primaryLinkLeave();
    failoverEnd();
}

/* ---- The steps of a failover ---- */

static bool isAt(const replicaState *r, const char *host, long long port) {
    char ip[HOST_BYTES];
    replicaAddress(r, ip, sizeof(ip));
    return r->port == port && !strcasecmp(ip, host);
}

static replicaState *findAt(const char *host, long long port) {
    for (replicaState *r = NULL; (r = replicasNext(r)) != NULL;)
        if (isAt(r, host, port)) return r;
    return NULL;
}

static bool hasAll(const replicaState *r) {
    return r && r->phase == REPLICA_ONLINE && r->acked >= 0 && (uint64_t)r->acked == replStreamOffset();
}

static replicaState *firstWithAll(void) {
    for (replicaState *r = NULL; (r = replicasNext(r)) != NULL;)
        if (hasAll(r)) return r;
    return NULL;
}

/* Called when the target has answered PSYNC FAILOVER. */
static void answered(bool accepted) {
    if (failover.state != FAILOVER_RUNS) return;
    if (accepted) failoverEnd();
    else failoverAbort("Failover target rejected psync request");
    failoverCheck();
}

static void handOver(void) {
    debugAssert(failover.state == FAILOVER_WAITS && failover.host);
    serverLog(LL_NOTICE, "Failover target %s:%lld is in sync. Handing over the primary role.", failover.host,
              failover.port);
    failover.state = FAILOVER_RUNS;
    primaryLinkFollowForFailover(failover.host, failover.port);
}

static void pollTarget(void) {
    replicaState *r = failover.host ? findAt(failover.host, failover.port) : firstWithAll();
    if (hasAll(r)) {
        if (!failover.host) {
            char ip[HOST_BYTES];
            replicaAddress(r, ip, sizeof(ip));
            failover.host = sdsNew(ip);
            failover.port = r->port;
        }
        handOver();
    } else if (failover.until_ms && clockMonotonicMs() >= failover.until_ms) {
        if (!failover.force) {
            failoverAbort("Replica never caught up before timeout");
            return;
        }
        serverLog(LL_NOTICE, "FAILOVER to %s:%lld time out exceeded, failing over.", failover.host, failover.port);
        handOver();
    }
}

void failoverStep(void) {
    assertMainThread();
    failoverCheck();
    if (failover.state == FAILOVER_WAITS) pollTarget();
    failoverCheck();
}

void failoverInit(void) { primaryLinkOnFailover(answered); }

/* ---- The command ---- */

typedef struct failoverWords {
    slice host;
    long long port, timeout_ms;
    bool to, force;
} failoverWords;

/* Returns false after an error reply. */
static bool failoverParse(client *c, failoverWords *w) {
    uint32_t i = 1;
    while (i < c->argc) {
        slice word = c->argv[i];
        if (sliceIs(word, "timeout") && i + 1 < c->argc && !w->timeout_ms) {
            if (!getLongLongFromArg(c, i + 1, &w->timeout_ms, NULL)) return false;
            if (w->timeout_ms <= 0) {
                addReplyError(c, "FAILOVER timeout must be greater than 0");
                return false;
            }
            i += 2;
        } else if (sliceIs(word, "to") && i + 2 < c->argc && !w->to) {
            if (!getLongLongFromArg(c, i + 2, &w->port, NULL)) return false;
            w->host = c->argv[i + 1];
            w->to = true;
            i += 3;
        } else if (sliceIs(word, "force") && !w->force) {
            w->force = true;
            i++;
        } else {
            addReplySyntaxError(c);
            return false;
        }
    }
    return true;
}

/* Returns the reason why no failover may begin, as an error, or NULL if it may. */
static const char *failoverRefusal(const failoverWords *w, const char *host) {
    if (failover.state != FAILOVER_NONE) return "FAILOVER already in progress.";
    if (primaryLinkIsOn()) return "FAILOVER is not valid when server is a replica.";
    if (!replicasCount()) return "FAILOVER requires connected replicas.";
    if (w->force && (!w->timeout_ms || !w->to))
        return "FAILOVER with force option requires both a timeout and target HOST and IP.";
    if (!w->to) return NULL;
    const replicaState *r = findAt(host, w->port);
    if (!r) return "FAILOVER target HOST and PORT is not a replica.";
    return r->phase == REPLICA_ONLINE ? NULL : "FAILOVER target replica is not online.";
}

static void failoverBegin(const failoverWords *w, sds host) {
    debugAssert(failover.state == FAILOVER_NONE && !failover.host && !w->to == !host);
    failover.host = host;
    failover.port = w->port;
    failover.force = w->force;
    failover.until_ms = w->timeout_ms ? clockMonotonicMs() + (uint64_t)w->timeout_ms : 0;
    failover.state = FAILOVER_WAITS;
    pauseClients(PAUSE_DURING_FAILOVER, PAUSE_WRITES, PAUSE_WITHOUT_END);
    if (host) serverLog(LL_NOTICE, "FAILOVER requested to %s:%lld.", host, w->port);
    else serverLog(LL_NOTICE, "FAILOVER requested to any replica.");
}

static void abortByCommand(client *c) {
    if (failover.state == FAILOVER_NONE) {
        addReplyError(c, "No failover in progress.");
        return;
    }
    failoverAbort("Failover manually aborted");
    addReplyOk(c);
}

void failoverCommand(client *c) {
    assertMainThread();
    failoverWords w = {.port = 0};
    failoverCheck();
    if (slots_enabled) {
        addReplyError(c, "FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.");
        return;
    }
    if (c->argc == 2 && sliceIs(c->argv[1], "abort")) {
        abortByCommand(c);
        return;
    }
    if (!failoverParse(c, &w)) return;
    sds host = w.to ? sdsFromSlice(w.host) : NULL;
    const char *error = failoverRefusal(&w, host);
    if (error) {
        addReplyError(c, error);
        sdsFree(host);
        return;
    }
    failoverBegin(&w, host);
    addReplyOk(c);
    failoverStep();
}

/* sync_cause.c -- why a replica needs a full synchronization, and what would have avoided it: a log line and counters.
 *
 * The lines of Valkey about PSYNC, which programs read, say what was refused. This one is for an operator who wants to
 * know what to change.
 *
 * A replica that was disconnected at its output limit asks again like any other. So the last such losses are kept, by
 * the name of the replica.
 *
 * Owns        the losses.
 * Threads     main.
 * Tests       tests/repl/sync_cause.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sync_cause.h"

#include "clock.h"
#include "log_limit.h"
#include "panic.h"
#include "repl_settings.h"
#include "repl_stream.h"
#include "sds.h"

#include <stdio.h>
#include <string.h>

#define LOSSES 16
#define LOSS_COUNTS_MS (10 * 60 * 1000ull) /* a replica that comes back later has had other reasons */
#define NAME_BYTES 320
#define MIB (1ull << 20)

unsigned long long sync_causes[SYNC_CAUSES];

typedef struct loss {
    char name[NAME_BYTES]; /* "" if unused */
    uint64_t at_ms;        /* monotonic */
    size_t kept;
    bool synchronized; /* it had its dataset */
} loss;

static loss losses[LOSSES];
static size_t next_loss;

#define LIMITED(text) \
    { .level = LL_NOTICE, .lines = LOG_LIMIT_FEW, .kind = "full synchronizations of " text }
/* For each cause one, so that a frequent one does not use up the lines of the others. */
static logLimit limits[SYNC_CAUSES] = {
    [SYNC_NEW] = LIMITED("replicas that asked for the whole dataset"),
    [SYNC_OTHER_ID] = LIMITED("replicas of another history"),
    [SYNC_DIVERGED] = LIMITED("replicas with bytes of the previous primary"),
    [SYNC_AHEAD] = LIMITED("replicas that are ahead"),
    [SYNC_BACKLOG_SMALL] = LIMITED("replicas for which the backlog is too small"),
    [SYNC_BACKLOG_NEW] = LIMITED("replicas for which the backlog was begun too late"),
    [SYNC_OUTPUT_LIMIT] = LIMITED("replicas that were disconnected at their output limit"),
};

/* ---- Losses ---- */

void syncCauseNoteLoss(const replicaState *r) {
    assertMainRole();
    if (!r->kept_at_limit) return;
    loss *l = &losses[next_loss++ % LOSSES];
    snprintf(l->name, sizeof(l->name), "%s", replicaName(r));
    l->at_ms = clockMonotonicMs();
    l->kept = r->kept_at_limit;
    l->synchronized = r->phase == REPLICA_ONLINE && !r->awaits_ack;
}

/* Removes the losses of the replica. Returns one of them that is recent, borrowed until the next loss, or NULL. */
static const loss *takeLoss(const char *name) {
    const loss *found = NULL;
    uint64_t now_ms = clockMonotonicMs();
    for (size_t i = 0; i < LOSSES; i++) {
        loss *l = &losses[i];
        if (strcmp(l->name, name) != 0) continue; /* names are not empty */
        *l->name = '\0';
        if (now_ms - l->at_ms <= LOSS_COUNTS_MS) found = l;
    }
    return found;
}

/* ---- Causes ---- */

syncCause syncCauseOfBacklog(uint64_t offset) {
    uint64_t end = replStreamOffset(), begin = replStreamIsKept() ? backlogBegin(replStreamBacklog()) : end;
    debugAssert(offset <= end);
    bool full = end - begin >= (uint64_t)repl_settings.backlog_size;
    return (syncCause){.kind = full ? SYNC_BACKLOG_SMALL : SYNC_BACKLOG_NEW,
                       .bytes = begin > offset ? begin - offset : 0,
                       .needed = end - offset};
}

/* Appends a size for repl-backlog-size that is at least `bytes`. */
static sds catSize(sds s, unsigned long long bytes) { return sdsCatPrintf(s, "%llumb", (bytes + MIB - 1) / MIB); }

static sds catLoss(sds s, const loss *l) {
    s = sdsCatPrintf(s,
                     "its connection was closed %llu seconds ago, when %zu bytes were kept for it%s: its output limit. "
                     "A higher 'client-output-buffer-limit replica' avoids it",
                     (unsigned long long)((clockMonotonicMs() - l->at_ms) / 1000), l->kept,
                     l->synchronized ? "" : " during a full synchronization");
    return sdsCat(s, repl_settings.slow_writers ? "." : ", or 'repl-slow-writers yes'.");
}

static sds catCause(sds s, const syncCause *cause) {
    switch (cause->kind) {
    case SYNC_NEW: return sdsCat(s, "it has asked for the whole dataset: it is new, or has lost its own.");
    case SYNC_OTHER_ID:
        return sdsCat(s, "its dataset has a replication ID that this server does not know: it followed another one, or "
                         "this server was started without its snapshot. A SHUTDOWN that saves, and FAILOVER for a "
                         "planned change of the primary, avoid it.");
    case SYNC_DIVERGED:
        return sdsCatPrintf(s,
                            "it has %llu bytes of the previous primary that this server has not got. FAILOVER, which "
                            "waits for them, avoids it.",
                            cause->bytes);
    case SYNC_AHEAD:
        return sdsCatPrintf(s, "it has %llu bytes that this server has lost: was an older snapshot restored?",
                            cause->bytes);
    case SYNC_BACKLOG_SMALL:
        s = sdsCatPrintf(s, "the backlog begins %llu bytes after what it has. 'repl-backlog-size ", cause->bytes);
        return sdsCat(catSize(s, cause->needed), "' or more would have been enough.");
    case SYNC_BACKLOG_NEW:
        return sdsCatPrintf(s,
                            "the backlog of this server was begun %llu bytes after what it has: at a start, or when "
                            "there was no replica for repl-backlog-ttl (%lld seconds).",
                            cause->bytes, repl_settings.backlog_ttl_s);
    case SYNC_OUTPUT_LIMIT:
    case SYNC_CAUSES: break;
    }
    return s;
}

void syncCauseReport(const replicaState *r, syncCause cause) {
    assertMainRole();
    const loss *l = takeLoss(replicaName(r));
    if (l) cause.kind = SYNC_OUTPUT_LIMIT;
    sync_causes[cause.kind]++;
    sds why = l ? catLoss(sdsEmpty(), l) : catCause(sdsEmpty(), &cause);
    serverLogLimited(&limits[cause.kind], "Full synchronization of replica %s: %s", replicaName(r), why);
    sdsFree(why);
}

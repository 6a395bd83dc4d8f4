/* failure.c -- which nodes do not answer, which have failed by agreement, and whether this node may serve.
 *
 *     answers --no answer within the timeout--> NODE_SUSPECTED --a majority suspects it, or FAIL--> NODE_FAILED
 *        ^------------------ a pong ------------------'                                                  |
 *        '------ a pong, and no replica can replace it, or none has for twice the timeout ---------------'
 *
 * A primary serves while a majority of the primaries with slots has heard it within the node timeout. Another one that
 * has heard it at a time does not suspect it until the timeout after that has passed, and that it has heard is known
 * from its answer: the time is that at which the answered ping was sent. So a primary stops before a majority can
 * suspect it, whichever direction of its links does not work, and however long its process was stopped. After it was
 * cut off it waits for frames about its own replacement before it serves again.
 *
 * A process that is stopped (SIGSTOP, a suspended machine) goes on with a clock that has jumped. Its sockets have
 * frames from before the jump: if that was longer than the timeout, it opens its links anew and serves when a majority
 * has answered on them. A shorter stop is not counted against the other nodes.
 *
 * Not here    what follows from a failure (election.c); pings (handshake.c).
 * Threads     the caller's lock.
 * Invariants  1. Reports of a node are ordered by seat, one for each reporter.
 *             2. A failed node has none.
 * Cost        a tick: a few passes over the nodes, and the reports about suspected ones.
 * Tests       tests/unit/cluster_core/failure_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#define TICK_MS 100
#define STOP_LEAST_MS 300   /* three ticks */
#define STOP_GRACE_MS 200   /* for answers that have come during a stop */
#define REJOIN_LEAST_MS 500 /* before a primary serves again that was cut off */
#define REJOIN_MOST_MS 5000

static uint64_t since(const clusterMachine *m, uint64_t ms) { return m->now.mono_ms - ms; }
static uint64_t nodeTimeout(const clusterMachine *m) { return m->config.node_timeout_ms; }

/* ---- Reports ---- */

/* Returns the index of a reporter's report, or that where it belongs. */
static uint32_t findReport(const clusterNode *n, unsigned seat) {
    uint32_t low = 0, high = n->report_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (n->reports[middle].seat < seat) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool hasReport(const clusterNode *n, uint32_t i, unsigned seat) {
    return i < n->report_count && n->reports[i].seat == seat;
}

static void insertReport(clusterNode *n, uint32_t at, unsigned seat) {
    if (n->report_count == n->report_capacity) {
        n->report_capacity = n->report_capacity ? 2 * n->report_capacity : 4;
        n->reports = zrealloc(n->reports, n->report_capacity * sizeof(*n->reports));
    }
    memmove(n->reports + at + 1, n->reports + at, (n->report_count - at) * sizeof(*n->reports));
    n->reports[at] = (failureReport){.seat = (uint16_t)seat};
    n->report_count++;
}

static bool removeReport(clusterNode *n, unsigned seat) {
    uint32_t at = findReport(n, seat);
    if (!hasReport(n, at, seat)) return false;
    n->report_count--;
    memmove(n->reports + at, n->reports + at + 1, (n->report_count - at) * sizeof(*n->reports));
    return true;
}

/* Drops reports that are too old, and returns how many of the others count. */
static unsigned countReports(const clusterMachine *m, clusterNode *n) {
    uint32_t kept = 0;
    unsigned counted = 0;
    for (uint32_t i = 0; i < n->report_count; i++) {
        if (n->reports[i].until_ms <= m->now.mono_ms) continue;
        counted += nodeIsVoting(nodeAt(m, n->reports[i].seat));
        n->reports[kept++] = n->reports[i];
    }
    n->report_count = kept;
    return counted;
}

static void clearReports(clusterNode *n) {
    zfree(n->reports);
    n->reports = NULL;
    n->report_count = n->report_capacity = 0;
}

void failureReportsForget(clusterMachine *m, unsigned seat) {
    EACH_NODE (m, n) removeReport(n, seat);
}

/* ---- Failures ---- */

static void setFailed(clusterMachine *m, clusterNode *n) {
    n->flags = (uint16_t)((n->flags & ~NODE_SUSPECTED) | NODE_FAILED);
    n->failed_ms = m->now.mono_ms;
    clearReports(n);
    machineChanged(m);
    machineViewChanged(m);
}

static void startElection(clusterMachine *m, const clusterNode *failed) {
    if (nodeIsReplica(m->myself) && m->myself->primary == failed->seat) electionTick(m);
}

void failureMark(clusterMachine *m, clusterNode *n) {
    if (nodeHas(n, NODE_MYSELF | NODE_FAILED)) return;
    setFailed(m, n);
    startElection(m, n);
}

/* Marks a suspected node as failed if the quorum suspects it. Replicas do so too. */
static void failByQuorum(clusterMachine *m, clusterNode *n) {
    if (!nodeHas(n, NODE_SUSPECTED) || countReports(m, n) + nodeIsVoting(m->myself) < quorum(m)) return;
    machineLog(m, LL_NOTICE, "Marking node %s as failing (quorum reached).", nodeName(n));
    setFailed(m, n);
    broadcastFail(m, n);
    startElection(m, n);
}

void failureReportAdd(clusterMachine *m, clusterNode *n, const clusterNode *reporter) {
    if (!nodeIsVoting(reporter) || n == reporter || nodeHas(n, NODE_MYSELF | NODE_FAILED)) return;
    uint32_t at = findReport(n, reporter->seat);
    bool is_new = !hasReport(n, at, reporter->seat);
    if (is_new) {
        insertReport(n, at, reporter->seat);
        machineLog(m, LL_VERBOSE, "Node %s reported node %s as not reachable.", nodeName(reporter), nodeName(n));
    }
    n->reports[at].until_ms = m->now.mono_ms + 2 * nodeTimeout(m);
    if (is_new) failByQuorum(m, n);
}

void failureReportRemove(clusterMachine *m, clusterNode *n, const clusterNode *reporter) {
    if (removeReport(n, reporter->seat))
        machineLog(m, LL_VERBOSE, "Node %s reported node %s is back online.", nodeName(reporter), nodeName(n));
}

static void suspectSilent(clusterMachine *m, clusterNode *n) {
    uint64_t timeout = nodeTimeout(m);
    if (nodeIsOut(n) || !n->ping_sent_ms || since(m, n->ping_sent_ms) <= timeout || since(m, n->data_ms) <= timeout)
        return;
    machineLog(m, LL_DEBUG, "NODE %s possibly failing.", nodeName(n));
    n->flags |= NODE_SUSPECTED;
    machineViewChanged(m);
}

/* ---- A node is back ---- */

/* Returns whether a replica could be elected in the place of a failed primary. */
static bool canBeReplaced(const clusterMachine *m, const clusterNode *primary) {
    EACH_NODE (m, n)
        if (nodeIsReplica(n) && n->primary == primary->seat && !nodeHas(n, NODE_NO_FAILOVER | NODE_FAILED)) return true;
    return false;
}

/* Returns whether a failed node that answers is no longer failed: an election for its slots must not be disturbed. */
static bool mayReturn(clusterMachine *m, const clusterNode *n) {
    if (!nodeIsVoting(n)) {
        machineLog(m, LL_NOTICE, "Clear FAIL state for node %s: %s is reachable again.", nodeName(n),
                   nodeIsReplica(n) ? "replica" : "primary without slots");
        return true;
    }
    if (since(m, n->failed_ms) <= 2 * nodeTimeout(m) && (isPlain(m) || canBeReplaced(m, n))) return false;
    machineLog(m, LL_NOTICE,
               "Clear FAIL state for node %s: is reachable again and nobody is serving its slots after some time.",
               nodeName(n));
    return true;
}

void failureAnswered(clusterMachine *m, clusterNode *n) {
    n->answered_ms = m->now.mono_ms;
    if (!nodeIsOut(n)) return;
    if (nodeHas(n, NODE_FAILED) && !mayReturn(m, n)) return;
    if (nodeHas(n, NODE_FAILED)) machineChanged(m);
    n->flags &= (uint16_t) ~(NODE_SUSPECTED | NODE_FAILED);
    n->failed_ms = 0;
    machineViewChanged(m);
}

/* ---- This process was stopped ---- */

/* The links have old frames, and the other nodes may have replaced this one. */
static void cutOff(clusterMachine *m, uint64_t gap_ms) {
    machineLog(
        m, LL_WARNING,
        "This node did not run for %llu milliseconds, longer than the cluster node timeout. It does not serve until "
        "it has heard of a majority again.",
        (unsigned long long)gap_ms);
    EACH_NODE (m, n) {
        n->answered_ms = n->heard_until_ms = 0;
        clusterLink *out = linkTo(m, n);
        if (out) linkClose(m, out);
    }
    if (!m->minority_ms) m->minority_ms = m->ran_ms;
    machineViewChanged(m);
}

/* Pings that wait since before the stop get time for answers that have come meanwhile. */
static void allowAnswers(clusterMachine *m) {
    uint64_t half = nodeTimeout(m) / 2, grace = half / 2 < STOP_GRACE_MS ? half / 2 : STOP_GRACE_MS;
    uint64_t earliest = m->now.mono_ms - half + grace;
    if (m->now.mono_ms < half) return;
    EACH_NODE (m, n)
        if (n->ping_sent_ms && n->ping_sent_ms < earliest) n->ping_sent_ms = earliest;
}

void failureNoticeStop(clusterMachine *m) {
    uint64_t gap = since(m, m->ran_ms);
    if (gap > STOP_LEAST_MS && gap > nodeTimeout(m) / 4) allowAnswers(m);
    if (gap > STOP_LEAST_MS && gap > nodeTimeout(m) && !isPlain(m)) cutOff(m, gap);
    m->ran_ms = m->now.mono_ms;
}

/* ---- Each tick ---- */

/* Notes since when primaries that had replicas have none that works. */
static void findOrphans(clusterMachine *m) {
    bool has_replica[CLUSTER_NODES_MAX];
    memset(has_replica, 0, m->seats * sizeof(*has_replica));
    EACH_NODE (m, n)
        if (nodeIsReplica(n) && !nodeHas(n, NODE_FAILED)) has_replica[n->primary] = true;
    EACH_NODE (m, n) {
        bool is_orphaned = nodeIsVoting(n) && nodeHas(n, NODE_MIGRATE_TO) && !nodeHas(n, NODE_FAILED) &&
                           !has_replica[n->seat];
        if (!is_orphaned) n->orphaned_ms = 0;
        else if (!n->orphaned_ms) n->orphaned_ms = m->now.mono_ms;
    }
}

void failureTick(clusterMachine *m) {
    EACH_NODE (m, n) {
        if (nodeHas(n, NODE_MYSELF | NODE_HANDSHAKE)) continue;
        suspectSilent(m, n);
        failByQuorum(m, n);
    }
    findOrphans(m);
}

/* ---- The state of the cluster ---- */

typedef enum stateReason { STATE_OK, STATE_NOT_COVERED, STATE_MINORITY } stateReason;

/* Returns whether a primary counts for the majority. One that was met a moment ago does before it has answered. */
static bool isReached(const clusterMachine *m, const clusterNode *n) {
    uint64_t timeout = nodeTimeout(m);
    if (nodeIsMyself(n)) return true;
    if (isPlain(m)) return !nodeIsOut(n);
    bool is_new = n->created_ms > m->started_ms && since(m, n->created_ms) <= timeout;
    if (nodeIsOut(n) || (!n->answered_ms && !is_new)) return false;
    if (!nodeIsVoting(m->myself) || (is_new && !n->heard_until_ms)) return true;
    return n->heard_until_ms && since(m, n->heard_until_ms) + TICK_MS <= timeout;
}

/* Returns why the cluster is down. */
static stateReason findReason(clusterMachine *m) {
    unsigned reached = 0, failed_slots = 0;
    m->size = 0;
    EACH_NODE (m, n) {
        if (!nodeIsVoting(n)) continue;
        m->size++;
        reached += isReached(m, n);
        if (nodeHas(n, NODE_FAILED)) failed_slots += n->slot_count;
    }
    if (m->size == 0) return STATE_NOT_COVERED;
    if (reached < quorum(m)) return STATE_MINORITY;
    bool covered = m->slots_assigned == CLUSTER_SLOTS && !failed_slots;
    return covered || !m->config.require_full_coverage ? STATE_OK : STATE_NOT_COVERED;
}

/* Returns how long a primary waits that has reached a majority again. If that was lost for a moment only, no other node
 * can have been elected, unless it was at that moment. */
static uint64_t rejoinDelay(const clusterMachine *m) {
    uint64_t timeout = nodeTimeout(m);
    bool was_short = since(m, m->minority_ms) < timeout / 2 && !isPlain(m);
    if (was_short || timeout < REJOIN_LEAST_MS) return REJOIN_LEAST_MS;
    return timeout < REJOIN_MOST_MS ? timeout : REJOIN_MOST_MS;
}

/* Sets the time from which on this node may serve as a primary. */
static void watchMajority(clusterMachine *m, bool in_minority) {
    uint64_t now = m->now.mono_ms, until = 0;
    if (in_minority && m->had_majority) {
        if (!m->minority_ms) m->minority_ms = now;
    } else if (!in_minority && m->minority_ms) {
        until = now + rejoinDelay(m);
        m->minority_ms = 0;
    } else if (!in_minority && !m->had_majority) {
        until = m->started_ms + OPERATION_TIMEOUT_MS;
        if (m->size > 1 && until < now + REJOIN_LEAST_MS) until = now + REJOIN_LEAST_MS;
    }
    m->had_majority |= !in_minority;
    if (until > m->ok_after_ms) m->ok_after_ms = until;
}

static void setState(clusterMachine *m, bool ok, stateReason why) {
    bool minority = why == STATE_MINORITY;
    if (m->ok == ok && m->minority == minority) return;
    if (m->ok != ok) machineLog(m, LL_NOTICE, "Cluster state changed: %s", ok ? "ok" : "fail");
    if (m->had_majority && minority)
        machineLog(m, LL_NOTICE, "Cluster is currently down: I am part of a minority partition.");
    else if (m->had_majority && why == STATE_NOT_COVERED)
        machineLog(
            m, LL_NOTICE,
            "Cluster is currently down: At least one hash slot is not served by any available node. Please check the "
            "'cluster-require-full-coverage' configuration.");
    m->ok = ok;
    m->minority = minority;
    machineViewChanged(m);
}

void stateUpdate(clusterMachine *m) {
    stateReason why = findReason(m);
    if (m->size) watchMajority(m, why == STATE_MINORITY);
    bool waits = !m->ok && nodeIsPrimary(m->myself) && m->now.mono_ms < m->ok_after_ms;
    setState(m, why == STATE_OK && !waits && !m->silent_until_ms, why);
}

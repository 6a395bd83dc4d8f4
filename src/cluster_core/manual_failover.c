/* manual_failover.c -- a failover that an operator asks for, of a primary that works or not.
 *
 *     replica                                  primary
 *     CLUSTER FAILOVER
 *     FAILOVER_START ------------------------> pauses writes in main
 *                                              main has paused: its offset does not grow any more
 *     notes the offset of that frame <-------- pings, marked as paused, each tick
 *     has applied all up to that offset
 *     election with forced votes (election.c)
 *     claims the slots ----------------------> becomes a replica, resumes writes
 *
 * The request may be lost with its link: it is sent again when a link to the primary is up, until a paused frame has
 * come. The primary's pause goes on until the deadline of the first one. If a frame comes that is not paused, the pause
 * has ended, so that the offset does not count any more: the request is sent again.
 *
 * FORCE begins with the election; TAKEOVER takes the slots without one. A failover that runs is not begun anew by an
 * equal or weaker request: two operators would cancel each other's. A primary that has voted for its replica stays
 * paused for longer: a claim that waits for a slow disk must not come after new writes.
 *
 * Not here    votes, and what a takeover does (election.c).
 * Threads     the caller's lock.
 * Invariants  1. A paused primary resumes writes when its failover ends, in whatever way.
 *             2. No frame is marked as paused before main has paused.
 * Tests       tests/unit/cluster_core/manual_failover_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

void manualReset(clusterMachine *m) {
    if (m->writes_paused_until_ms) machineAct(m, CLUSTER_RESUME_WRITES);
    m->writes_paused_until_ms = 0;
    m->manual = (manualFailover){0};
}

/* ---- The replica ---- */

static const char *replicaError(const clusterMachine *m, const clusterCommand *c) {
    const clusterNode *me = m->myself, *primary = nodeAt(m, me->primary);
    if (!nodeIsReplica(me)) return "-ERR You should send CLUSTER FAILOVER to a replica";
    if (!primary) return "-ERR I'm a replica but my master is unknown to me";
    if (!c->force && !c->takeover && (nodeHas(primary, NODE_FAILED) || !primary->link_out_ms))
        return "-ERR Master is down or failed, please use CLUSTER FAILOVER FORCE";
    return NULL;
}

static void takeOver(clusterMachine *m) {
    machineLog(m, LL_NOTICE, "Taking over the primary (user request).");
    if (epochBump(m)) electionTakeOver(m);
}

static void electAtOnce(clusterMachine *m, bool from_primary) {
    machineLog(m, LL_NOTICE, "Forced failover %s request accepted.", from_primary ? "primary" : "user");
    m->manual.force = m->manual.can_start = true;
    electionTick(m);
}

static void askPrimary(clusterMachine *m) {
    clusterLink *l = linkTo(m, nodeAt(m, m->myself->primary));
    if (l) sendBare(m, l, BUS_FAILOVER_START, 0);
}

void manualLinkUp(clusterMachine *m, const clusterNode *n) {
    const manualFailover *f = &m->manual;
    bool waits_for_pause = f->end_ms && f->by_me && !f->has_offset && !f->can_start;
    if (!waits_for_pause || n->seat != m->myself->primary || isPlain(m)) return;
    machineLog(m, LL_NOTICE, "A link to the primary is up: the manual failover is requested again.");
    askPrimary(m);
}

/* The pause was that of an earlier request, and has ended: the primary may have new writes. */
static void resumedTooSoon(clusterMachine *m) {
    machineLog(m, LL_NOTICE, "The primary has resumed writes: the manual failover is requested again.");
    m->manual.has_offset = false;
    askPrimary(m);
}

const char *manualStart(clusterMachine *m, const clusterCommand *c) {
    bool is_for_other = c->from_primary && !nodeIdIsNone(&c->node) && !nodeIdEqual(&c->node, &m->myself->id);
    const char *error = is_for_other ? NULL : replicaError(m, c);
    if (error || is_for_other) return error;
    /* One that has not even reached the primary is begun anew. */
    bool runs = m->manual.has_offset || m->manual.can_start,
         is_stronger = c->takeover || (c->force && !m->manual.force);
    if (runs && !is_stronger) {
        machineLog(m, LL_NOTICE, "A manual failover runs already: the new request changes nothing.");
        return NULL;
    }
    if (m->election.stage >= ELECTION_WAIT_DISK)
        machineLog(m, LL_NOTICE,
                   "Failover election in progress for epoch %llu, but received a new manual failover. Resetting the "
                   "election.",
                   (unsigned long long)m->election.epoch);
    electionReset(m);
    m->manual = (manualFailover){.end_ms = m->now.mono_ms + m->config.manual_failover_timeout_ms, .by_me = true};
    if (c->takeover) takeOver(m);
    else if (c->force) electAtOnce(m, c->from_primary);
    else {
        machineLog(m, LL_NOTICE, "Manual failover user request accepted.");
        askPrimary(m);
    }
    return NULL;
}

/* Elects when all that the paused primary has written is applied. Its offset may grow a little while writes are paused,
 * by the pings of replication. */
static void startWhenApplied(clusterMachine *m) {
    manualFailover *f = &m->manual;
    bool is_applied = f->has_offset && m->local.primary_link_is_up && m->myself->offset >= f->primary_offset;
    if (f->can_start || !is_applied) return;
    machineLog(m, LL_NOTICE, "All primary replication stream processed, manual failover can start.");
    f->can_start = true;
    electionTick(m);
}

void manualSawPaused(clusterMachine *m, clusterNode *sender, const busHeader *h) {
    manualFailover *f = &m->manual;
    bool is_paused = h->marks & BUS_MARK_PAUSED;
    bool is_awaited = f->end_ms && f->by_me && !f->can_start && sender->seat == m->myself->primary;
    if (!is_awaited || is_paused == f->has_offset) return;
    if (!is_paused) {
        if (!isPlain(m)) resumedTooSoon(m);
        return;
    }
    f->has_offset = true;
    f->primary_offset = h->offset;
    machineLog(m, LL_NOTICE, "Received replication offset for paused primary manual failover: %llu",
               (unsigned long long)h->offset);
    startWhenApplied(m);
}

/* ---- The primary ---- */

/* Returns the replica that takes over from this node, NULL if it cannot any more. */
static clusterNode *successor(const clusterMachine *m) {
    clusterNode *n = nodeAt(m, m->manual.replica);
    if (!n || !nodeIsPrimary(m->myself) || n->primary != m->myself->seat || nodeHas(n, NODE_FAILED)) return NULL;
    return n;
}

void manualRequested(clusterMachine *m, clusterNode *sender) {
    manualFailover *f = &m->manual;
    /* The same replica's request again does not make the pause longer. */
    bool is_mine = nodeIsPrimary(m->myself) && nodeIsReplica(sender) && sender->primary == m->myself->seat;
    bool is_running = f->end_ms && m->now.mono_ms < f->end_ms;
    if (!is_mine || (is_running && (f->replica == sender->seat || successor(m)))) return;
    machineLog(m, LL_NOTICE, "Manual failover requested by replica %s.", nodeName(sender));
    uint64_t timeout = m->config.manual_failover_timeout_ms;
    *f = (manualFailover){.end_ms = m->now.mono_ms + timeout,
                          .replica = sender->seat,
                          .pause = ++m->last_pause,
                          .is_paused = f->is_paused};
    m->writes_paused_until_ms = m->now.mono_ms + 2 * timeout;
    clusterAction *a = machineAct(m, CLUSTER_PAUSE_WRITES);
    a->ms = 2 * timeout;
    a->pause = f->pause;
}

void manualVoted(clusterMachine *m, const clusterNode *replica) {
    manualFailover *f = &m->manual;
    if (f->end_ms && f->replica == replica->seat && !isPlain(m)) f->end_ms = m->writes_paused_until_ms;
}

static void primaryTick(clusterMachine *m) {
    const clusterNode *n = successor(m);
    if (!n) {
        machineLog(m, LL_NOTICE, "The replica of the manual failover cannot take over any more: writes are resumed.");
        manualReset(m);
        return;
    }
    if (m->local.pause == m->manual.pause) m->manual.is_paused = true;
    clusterLink *l = linkTo(m, n);
    if (m->manual.is_paused && l && l->is_up) sendPing(m, l, BUS_PING);
}

/* ---- Both ---- */

void manualTick(clusterMachine *m) {
    manualFailover *f = &m->manual;
    if (!f->end_ms) return;
    if (m->now.mono_ms >= f->end_ms) {
        machineLog(m, LL_NOTICE, "Manual failover timed out.");
        manualReset(m);
    } else if (f->by_me) {
        startWhenApplied(m);
    } else {
        primaryTick(m);
    }
}

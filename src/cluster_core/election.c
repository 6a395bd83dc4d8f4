/* election.c -- a replica takes the place of its primary: when it asks for votes, who gets them, the takeover.
 *
 *     NONE -- the primary has failed --> DELAYED -- start_ms --> WAIT_DISK -- the new epoch is on disk --> RUNS
 *     RUNS -- votes of the majority --> NONE, slots taken in memory -- they are on disk --> main becomes a primary
 *     RUNS -- no majority within the timeout --> NONE, for as long again
 *
 * A new epoch, a vote and taken slots leave this node when the nodes file has them: a node that has crashed must not
 * use an epoch, or vote in it, a second time. The epoch that waits for the disk may be requested by another replica in
 * the meantime. Then this one takes a newer one, because votes that are split between two replicas help neither.
 *
 * Not here    failures (failure.c); the operator's failover (manual_failover.c); claims of others (ownership.c).
 * Threads     the caller's lock.
 * Invariants  1. A vote for epoch E leaves in a frame whose current epoch is E, at most one for each E.
 *             2. A request for votes in epoch E leaves in a frame whose current epoch is E, and E is not used again.
 * Cost        a tick of a replica whose primary has failed: a few passes over the nodes. A request: the claimed slots.
 * Tests       tests/unit/cluster_core/election_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#define DELAY_MAX_MS 500
#define DELAY_WITHOUT_DATA_MS 500
#define RANK_LEAST_MS 100 /* a tick */
#define WHY_AGAIN_MS 10000

enum { WHY_NONE, WHY_DATA_AGE, WHY_DELAY, WHY_EXPIRED, WHY_DISK, WHY_VOTES };
static const char *const why_texts[] = {
    [WHY_DATA_AGE] = "Disconnected from primary for longer than allowed. Please check the "
                     "'cluster-replica-validity-factor' configuration option.",
    [WHY_DELAY] = "Waiting the delay before I can start a new failover.",
    [WHY_EXPIRED] = "Failover attempt expired.",
    [WHY_DISK] = "Waiting for the nodes file with the new epoch to be written.",
    [WHY_VOTES] = "Waiting for votes, but majority still not reached.",
};

static clusterNode *myPrimary(const clusterMachine *m) { return nodeAt(m, m->myself->primary); }
static unsigned long long ull(uint64_t n) { return n; }

/* ---- Why there is no failover ---- */

/* Logs a reason once, and then from time to time. */
static void logWhy(clusterMachine *m, int why) {
    electionState *e = &m->election;
    bool is_known = why == e->why && m->now.mono_ms - e->why_logged_ms < WHY_AGAIN_MS;
    e->why = why;
    if (is_known || why == WHY_NONE) return;
    e->why_logged_ms = m->now.mono_ms;
    machineLog(m, LL_NOTICE, "Currently unable to failover: %s", why_texts[why]);
    if (why == WHY_VOTES)
        machineLog(m, LL_NOTICE, "Needed quorum: %u. Number of votes received so far: %u", quorum(m), e->votes);
}

/* ---- Whether there is to be one ---- */

/* Returns whether this node is a replica with something to take over and a reason for it. While a dataset is being
 * loaded, the one that it had is lost, and the new one is on its way: its primary may be alive. */
static bool hasReason(const clusterMachine *m) {
    const clusterNode *primary = myPrimary(m);
    if (!nodeIsReplica(m->myself) || !primary || !primary->slot_count || m->local.is_loading) return false;
    return m->manual.can_start || (nodeHas(primary, NODE_FAILED) && !m->config.replica_no_failover);
}

/* Returns whether the primary has been silent for so long that its dataset here is too old. */
static bool dataIsTooOld(const clusterMachine *m) {
    const clusterConfig *c = &m->config;
    uint64_t timeout = c->node_timeout_ms, age = m->local.primary_silent_ms;
    if (!c->replica_validity_factor || m->manual.can_start) return false;
    if (age > timeout) age -= timeout;
    return age > c->replica_ping_period_ms + timeout * c->replica_validity_factor;
}

static uint64_t electionTimeout(const clusterMachine *m) {
    uint64_t timeout = 2 * m->config.node_timeout_ms;
    return timeout > OPERATION_TIMEOUT_MS ? timeout : OPERATION_TIMEOUT_MS;
}

/* ---- Ranks and delays ---- */

static bool isOtherReplica(const clusterMachine *m, const clusterNode *n) {
    return !nodeIsMyself(n) && nodeIsReplica(n) && n->primary == m->myself->primary;
}

/* Returns the number of replicas that have more of the primary's dataset. */
static unsigned rankOfReplica(const clusterMachine *m) {
    const clusterNode *me = m->myself;
    unsigned rank = 0;
    EACH_NODE (m, n) {
        if (!isOtherReplica(m, n) || nodeHas(n, NODE_NO_FAILOVER)) continue;
        bool has_smaller_id = memcmp(&n->id, &me->id, sizeof(n->id)) < 0;
        if (n->offset > me->offset || (n->offset == me->offset && has_smaller_id)) rank++;
    }
    return rank;
}

static bool isBeingReplaced(const clusterMachine *m, const clusterNode *n) {
    uint64_t limit = m->config.node_timeout_ms * m->config.replica_validity_factor;
    if (!nodeIsVoting(n) || !nodeHas(n, NODE_FAILED) || !n->replicas) return false;
    return !limit || m->now.mono_ms - n->failed_ms <= limit;
}

/* Returns the number of failed shards before this one: when many fail, their elections must not all use one epoch. */
static unsigned rankOfShard(const clusterMachine *m) {
    const nodeId *mine = &m->myself->shard;
    unsigned rank = 0;
    EACH_NODE (m, n) rank += isBeingReplaced(m, n) && memcmp(&n->shard, mine, sizeof(*mine)) < 0;
    return rank;
}

/* Returns whether this replica is the best one of the first shard, and no offset can change any more: all replicas
 * know that the primary has failed. */
static bool isBestRanked(const clusterMachine *m) {
    const electionState *e = &m->election;
    if (e->rank || e->failed_rank || !m->myself->offset || !nodeHas(myPrimary(m), NODE_FAILED)) return false;
    EACH_NODE (m, n)
        if (isOtherReplica(m, n) && !nodeHas(n, NODE_PRIMARY_FAILED)) return false;
    return true;
}

static uint64_t delayUnit(const clusterMachine *m) {
    uint64_t unit = m->config.node_timeout_ms / 30;
    return unit < DELAY_MAX_MS ? unit : DELAY_MAX_MS;
}

/* Returns the unit of the delays that keep replicas apart. A start is noticed at a tick: with less than a tick between
 * them, replicas of different ranks would request votes at the same moment, and split them. */
static uint64_t rankUnit(const clusterMachine *m) {
    uint64_t unit = delayUnit(m);
    return unit > RANK_LEAST_MS || isPlain(m) ? unit : RANK_LEAST_MS;
}

/* ---- From the delay to the request for votes ---- */

static void planDelay(clusterMachine *m) {
    electionState *e = &m->election;
    uint64_t unit = delayUnit(m);
    e->rank = rankOfReplica(m);
    e->failed_rank = rankOfShard(m);
    e->force_vote = isBestRanked(m);
    if (e->force_vote) {
        machineLog(m, LL_NOTICE, "This is the best ranked replica and can initiate the election immediately.");
        return;
    }
    e->start_ms += unit + (unit ? machineRandom(m, unit) : 0) + (2 * e->rank + e->failed_rank) * rankUnit(m);
    if (!m->myself->offset) e->start_ms += DELAY_WITHOUT_DATA_MS;
}

static void schedule(clusterMachine *m) {
    electionState *e = &m->election;
    uint64_t now = m->now.mono_ms;
    *e = (electionState){.stage = ELECTION_DELAYED, .start_ms = now, .why = e->why, .why_logged_ms = e->why_logged_ms};
    if (m->manual.can_start) e->force_vote = true;
    else planDelay(m);
    machineLog(m, LL_NOTICE,
               "Start of election delayed for %llu milliseconds (rank #%u, primary rank #%u, offset %llu).",
               ull(e->start_ms - now), e->rank, e->failed_rank, ull(m->myself->offset));
    if (!m->manual.can_start) broadcastPong(m, true);
}

/* Moves the start by `unit` for each rank that has been won or lost. */
static void correctRank(clusterMachine *m, unsigned *rank, unsigned now, uint64_t unit, const char *what) {
    if (now == *rank) return;
    int64_t added = ((int64_t)now - (int64_t)*rank) * (int64_t)unit;
    *rank = now;
    m->election.start_ms = (uint64_t)((int64_t)m->election.start_ms + added);
    machineLog(m, LL_NOTICE, "%s rank updated to #%u, added %lld milliseconds of delay.", what, now, (long long)added);
}

static void correctDelay(clusterMachine *m) {
    electionState *e = &m->election;
    if (e->force_vote) return;
    if (m->manual.can_start) {
        e->start_ms = m->now.mono_ms;
        e->force_vote = true;
        return;
    }
    correctRank(m, &e->rank, rankOfReplica(m), 2 * rankUnit(m), "Replica");
    correctRank(m, &e->failed_rank, rankOfShard(m), rankUnit(m), "Failed primary");
    if (!isBestRanked(m)) return;
    machineLog(m, LL_NOTICE, "Myself become the best ranked replica, initiate the election immediately.");
    e->start_ms = m->now.mono_ms;
    e->force_vote = true;
}

/* Ends an attempt without success: the next one may begin when the retry time has passed. */
static void giveUp(electionState *e, uint64_t attempt_ms) {
    e->stage = ELECTION_NONE;
    e->last_ms = attempt_ms;
}

/* Takes an epoch that is requested once it is on disk. */
static void takeEpoch(clusterMachine *m) {
    electionState *e = &m->election;
    if (m->current_epoch == UINT64_MAX) { /* a peer has sent it */
        giveUp(e, m->now.mono_ms);
        return;
    }
    e->stage = ELECTION_WAIT_DISK;
    e->epoch = ++m->current_epoch;
    e->version = machineChanged(m);
}

static void requestVotes(clusterMachine *m) {
    electionState *e = &m->election;
    if (m->current_epoch > e->epoch) {
        takeEpoch(m);
        return;
    }
    e->stage = ELECTION_RUNS;
    e->start_ms = m->now.mono_ms;
    machineLog(m, LL_NOTICE, "Starting a failover election for epoch %llu, node config epoch is %llu", ull(e->epoch),
               ull(myPrimary(m)->config_epoch));
    broadcastVoteRequest(m, e->force_vote ? BUS_MARK_FORCE_VOTE : 0);
}

/* Returns for how long a replica without a dataset leaves the election to one that has it and answers, but waits for
 * its next attempt. */
static uint64_t delayForData(const clusterMachine *m) {
    if (m->myself->offset || m->manual.can_start || isPlain(m)) return 0;
    EACH_NODE (m, n)
        if (isOtherReplica(m, n) && n->offset && !nodeIsOut(n) && !nodeHas(n, NODE_NO_FAILOVER))
            return 3 * electionTimeout(m);
    return 0;
}

/* Goes on with the election. Returns the reason why it cannot go on now. */
static int proceed(clusterMachine *m) {
    electionState *e = &m->election;
    uint64_t now = m->now.mono_ms;
    switch (e->stage) {
    case ELECTION_NONE:
        if (e->last_ms && !m->manual.can_start && now - e->last_ms <= 2 * electionTimeout(m)) return WHY_EXPIRED;
        if (dataIsTooOld(m)) return WHY_DATA_AGE;
        schedule(m);
        break;
    case ELECTION_DELAYED:
        if (dataIsTooOld(m)) return WHY_DATA_AGE;
        correctDelay(m);
        break;
    case ELECTION_WAIT_DISK: return WHY_DISK;
    case ELECTION_RUNS:
        if (now - e->start_ms <= electionTimeout(m)) return WHY_VOTES;
        giveUp(e, e->start_ms);
        return WHY_EXPIRED;
    }
    if (now < e->start_ms + delayForData(m)) return WHY_DELAY;
    takeEpoch(m);
    return WHY_NONE;
}

void electionTick(clusterMachine *m) {
    if (hasReason(m)) logWhy(m, proceed(m));
    else m->election = (electionState){0};
}

void electionReset(clusterMachine *m) {
    m->election = (electionState){0};
    m->promote_version = 0;
}

void electionForgetVoter(clusterMachine *m, unsigned seat) {
    electionState *e = &m->election;
    if (!slotSetHas(&e->voters_seats, seat)) return;
    slotSetRemove(&e->voters_seats, seat);
    e->votes--;
}

/* Another replica has shown that it knows of the failure: this one may be the best ranked now. */
static void replicaKnows(clusterMachine *m, const busHeader *h) {
    clusterNode *n = nodeById(m, &h->sender);
    if (!n || !isOtherReplica(m, n) || !(h->flags & NODE_PRIMARY_FAILED)) return;
    n->flags |= NODE_PRIMARY_FAILED;
    electionTick(m);
}

void electionSaw(clusterMachine *m, const busHeader *h) {
    electionState *e = &m->election;
    if (e->stage == ELECTION_NONE) return;
    if (e->stage == ELECTION_DELAYED) {
        replicaKnows(m, h);
    } else if (h->flags & NODE_PRIMARY && h->config_epoch >= e->epoch) {
        machineLog(
            m, LL_NOTICE,
            "Failover election in progress for epoch %llu, but received a claim from node %.40s with an equal or "
            "higher epoch %llu. Resetting the election since we cannot win an election in the past.",
            ull(e->epoch), h->sender.text, ull(h->config_epoch));
        *e = (electionState){0};
    } else if (e->stage == ELECTION_WAIT_DISK && h->current_epoch >= e->epoch) {
        takeEpoch(m);
    }
}

/* ---- The takeover ---- */

void electionTakeOver(clusterMachine *m) {
    clusterNode *me = m->myself, *old = myPrimary(m);
    machineLog(m, LL_NOTICE, "Setting myself to primary in shard %.40s after failover; my old primary is %s",
               me->shard.text, nodeName(old));
    if (!me->offset)
        machineLog(m, LL_WARNING,
                   "This replica becomes a primary WITHOUT HAVING SYNCHRONIZED with %s: what that node has written in "
                   "%u slots is lost.",
                   nodeName(old), old->slot_count);
    slotsMove(m, old, me);
    nodeSetPrimary(m, me);
    manualReset(m);
    m->election = (electionState){0};
    m->promote_version = machineChanged(m);
}

/* Has main become a primary once this version is on disk. */
static void promoteIfSaved(clusterMachine *m, uint64_t version) {
    if (!m->promote_version || m->promote_version > version) return;
    m->promote_version = 0;
    if (!nodeIsPrimary(m->myself)) return;
    machineAct(m, CLUSTER_BECOME_PRIMARY);
    machineViewChanged(m);
    broadcastPong(m, false);
}

void voteReceived(clusterMachine *m, clusterNode *sender, const busFrame *f) {
    electionState *e = &m->election;
    if (e->stage != ELECTION_RUNS || !hasReason(m) || m->now.mono_ms - e->start_ms > electionTimeout(m)) return;
    if (!nodeIsVoting(sender) || f->header.current_epoch < e->epoch) return;
    if (slotSetHas(&e->voters_seats, sender->seat)) return;
    slotSetAdd(&e->voters_seats, sender->seat);
    if (++e->votes < quorum(m)) return;
    machineLog(m, LL_NOTICE, "Failover election won: I'm the new primary.");
    m->myself->config_epoch = e->epoch;
    machineLog(m, LL_NOTICE, "configEpoch set to %llu after successful failover", ull(e->epoch));
    electionTakeOver(m);
}

/* ---- Voting ---- */

/* Returns whether the time and the epoch allow a vote. */
static bool epochAllowsVote(clusterMachine *m, const clusterNode *sender, uint64_t epoch) {
    const char *name = nodeName(sender);
    bool is_ready = m->now.mono_ms >= m->started_ms + OPERATION_TIMEOUT_MS && !m->promote_version;
    if (!is_ready || m->vote_count == VOTES_WAITING_MAX)
        machineLog(m, LL_WARNING, "Failover auth denied to %s: it is not safe to vote in this moment", name);
    else if (epoch < m->current_epoch)
        machineLog(m, LL_WARNING, "Failover auth denied to %s: reqEpoch (%llu) < curEpoch(%llu)", name, ull(epoch),
                   ull(m->current_epoch));
    else if (m->last_vote_epoch >= m->current_epoch)
        machineLog(m, LL_WARNING, "Failover auth denied to %s: already voted for epoch %llu", name,
                   ull(m->current_epoch));
    else return true;
    return false;
}

/* Returns whether the sender is a replica whose primary is to be replaced. */
static bool roleAllowsVote(clusterMachine *m, const clusterNode *sender, const busHeader *h) {
    const clusterNode *primary = nodeAt(m, sender->primary);
    const char *why = !nodeIsReplica(sender)                                                ? "it is a primary node"
                      : !primary                                                            ? "I don't know its primary"
                      : !nodeHas(primary, NODE_FAILED) && !(h->marks & BUS_MARK_FORCE_VOTE) ? "its primary is up"
                                                                                            : NULL;
    if (!why) return true;
    machineLog(m, LL_WARNING, "Failover auth denied to %s for epoch %llu: %s", nodeName(sender), ull(h->current_epoch),
               why);
    return false;
}

/* Returns a link to a candidate. Its request may have come before this node has connected to it. */
static clusterLink *linkToCandidate(const clusterMachine *m, const clusterNode *n) {
    clusterLink *out = linkTo(m, n);
    return out && out->is_up ? out : n->link_in ? linkByNumber(m, n->link_in) : NULL;
}

/* Returns whether no claimed slot has an owner with a newer epoch. The sender learns of the first such owner. A slot
 * that its owner does not claim any more is free to be taken, and UPDATE would not name it. */
static bool slotsAllowVote(clusterMachine *m, const clusterNode *sender, const busHeader *h) {
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (!slotSetHas(&h->slots, slot) || slotSetHas(&m->unclaimed, slot)) continue;
        const clusterNode *owner = nodeAt(m, m->owner[slot]);
        if (!owner || owner->config_epoch <= h->config_epoch) continue;
        machineLog(m, LL_WARNING, "Failover auth denied to %s: slot %u epoch (%llu) > reqConfigEpoch (%llu)",
                   nodeName(sender), slot, ull(owner->config_epoch), ull(h->config_epoch));
        clusterLink *l = linkToCandidate(m, sender);
        bool is_told = owner != m->myself || m->saved_version == m->version;
        if (l && is_told) sendUpdate(m, l, owner);
        return false;
    }
    return true;
}

void voteRequested(clusterMachine *m, clusterNode *sender, const busFrame *f) {
    const busHeader *h = &f->header;
    if (!nodeIsVoting(m->myself)) return;
    if (!epochAllowsVote(m, sender, h->current_epoch) || !roleAllowsVote(m, sender, h)) return;
    if (!slotsAllowVote(m, sender, h)) return;
    m->last_vote_epoch = m->current_epoch;
    m->votes[m->vote_count++] =
        (waitingVote){.version = machineChanged(m), .epoch = m->current_epoch, .node = sender->id};
    manualVoted(m, sender);
}

/* Sends a vote that is on disk. The current epoch of its frame is that of the vote, even if this node has seen a newer
 * one since: otherwise the vote would count in a later election of the same replica, for which another one may have
 * this node's vote. No frame with the newer epoch has left before: votes are the first to leave after a save. */
static void sendVote(clusterMachine *m, const waitingVote *v) {
    clusterNode *n = nodeById(m, &v->node);
    clusterLink *l = n ? linkToCandidate(m, n) : NULL;
    bool has_newer_epoch = m->told.config_epoch > v->epoch; /* its claim would be newer than its epoch */
    if (!l || !nodeIsVoting(m->myself) || has_newer_epoch) return;
    uint64_t told = m->told.current_epoch;
    m->told.current_epoch = v->epoch;
    sendBare(m, l, BUS_VOTE, 0);
    m->told.current_epoch = told;
    machineLog(m, LL_NOTICE, "Failover auth granted to %s for epoch %llu", nodeName(n), ull(v->epoch));
}

/* ---- The disk ---- */

/* Sends, or drops, the votes that a version of the nodes file has. Returns their number. */
static unsigned endVotes(clusterMachine *m, uint64_t version, bool is_saved) {
    unsigned kept = 0, count = m->vote_count;
    for (unsigned i = 0; i < count; i++) {
        waitingVote v = m->votes[i];
        if (v.version > version) m->votes[kept++] = v;
        else if (is_saved) sendVote(m, &v);
    }
    m->vote_count = kept;
    return count - kept;
}

void electionSaved(clusterMachine *m) {
    electionState *e = &m->election;
    endVotes(m, m->saved_version, true);
    promoteIfSaved(m, m->saved_version);
    if (e->stage != ELECTION_WAIT_DISK || e->version > m->saved_version) return;
    if (!hasReason(m) || dataIsTooOld(m)) *e = (electionState){0};
    else requestVotes(m);
}

void electionSaveFailed(clusterMachine *m) {
    electionState *e = &m->election;
    uint64_t version = m->saving_version;
    bool waits = e->stage == ELECTION_WAIT_DISK && e->version <= version;
    unsigned dropped = endVotes(m, version, false);
    if (waits) giveUp(e, m->now.mono_ms);
    if (waits || dropped)
        machineLog(m, LL_WARNING, "The nodes file cannot be written: %s",
                   waits ? "the failover election is given up" : "no vote is given");
    promoteIfSaved(m, version);
}

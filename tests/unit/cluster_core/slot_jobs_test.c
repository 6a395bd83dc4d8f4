/* slot_jobs_test.c -- slots move with their keys, whatever happens meanwhile.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "migration_world.h"
#include "unit.h"

static void checkEnd(movingWorld *w, int node, slotJobState state, const char *message) {
    const slotJob *job = movingJob(w, node);
    if (!CHECK(job != NULL)) return;
    CHECK_EQ_STR(slotJobStateName(job->state), slotJobStateName(state));
    CHECK_EQ_STR(job->message, message);
}

#define LOST_TARGET \
    "Connection lost to target. Check CLUSTER GETSLOTMIGRATIONS on the target node for more information."
#define LOST_SOURCE \
    "Connection lost to source. Check CLUSTER GETSLOTMIGRATIONS on the source node for more information."

TEST(slot_jobs_move_slots) {
    movingWorld w;
    movingInit(&w);
    CHECK_EQ_STR(movingMigrate(&w, 0, 1, 0, 5), "+OK");
    CHECK(slotJobsRun(w.nodes[0].jobs, true));
    movingRun(&w, 1000);
    checkEnd(&w, 0, JOB_SUCCESS, "");
    checkEnd(&w, 1, JOB_SUCCESS, "");
    CHECK_EQ_INT(w.nodes[1].finished, 1);
    CHECK_EQ_STR(movingJob(&w, 1)->ranges, "0-5");
    movingCheckRest(&w);
    for (int slot = 0; slot < MOVING_SLOTS; slot++) CHECK(movingWrite(&w, slot < 6 ? 1 : 0, slot));
    CHECK_EQ_STR(movingMigrate(&w, 0, 1, 0, 5), "-ERR Slots are not served by this node.");
    CHECK_EQ_STR(movingMigrate(&w, 1, 2, 0, 2), "+OK");
    movingRun(&w, 1000);
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_walk_one_after_the_other) {
    movingWorld w;
    movingInit(&w);
    movingMigrate(&w, 0, 1, 0, 2);
    movingMigrate(&w, 0, 2, 3, 5);
    for (int i = 0; i < 2; i++)
        while (movingDeliver(&w, i, true) || movingDeliver(&w, i, false)) continue;
    movingStep(&w, 0, &(slotJobsEvent){.kind = SLOT_JOBS_TICK});
    int walking = 0;
    for (const slotJob *job = NULL; (job = slotJobsNext(w.nodes[0].jobs, job)) != NULL;)
        walking += job->state == JOB_WALKING;
    CHECK_EQ_INT(walking, 1);
    movingRun(&w, 2000);
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_authenticate) {
    movingWorld w;
    movingInit(&w);
    w.nodes[0].config.has_password = true;
    movingStep(&w, 0, &(slotJobsEvent){.kind = SLOT_JOBS_CONFIGURE, .config = &w.nodes[0].config});
    w.nodes[1].wrong_password = true;
    movingMigrate(&w, 0, 1, 0, 5);
    movingRun(&w, 500);
    checkEnd(&w, 0, JOB_FAILED, "Failed to AUTH to target node: -WRONGPASS no");
    CHECK(movingJob(&w, 1) == NULL);
    movingCheckRest(&w);
    w.nodes[1].wrong_password = false;
    movingMigrate(&w, 0, 1, 0, 5);
    movingRun(&w, 1000);
    checkEnd(&w, 0, JOB_SUCCESS, "");
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_that_cannot_connect) {
    movingWorld w;
    movingInit(&w);
    w.connects = false;
    CHECK_EQ_STR(movingMigrate(&w, 0, 1, 0, 5), "+OK");
    checkEnd(&w, 0, JOB_FAILED, "Unable to connect to target node: no route");
    movingRun(&w, 500);
    movingCheckRest(&w);
    movingFree(&w);
}

/* Runs a migration of slots 0 to 5 from node 0 to node 1 until the source is in `state`. */
static bool runTo(movingWorld *w, slotJobState state) {
    movingMigrate(w, 0, 1, 0, 5);
    for (int i = 0; i < 1000; i++) {
        if (movingJob(w, 0)->state == state) return true;
        bool any = w->link_count && (movingDeliver(w, 0, true) || movingDeliver(w, 0, false));
        if (any || movingWalk(w, 0)) continue;
        smallRun(&w->cluster, 100);
        movingStep(w, 0, &(slotJobsEvent){.kind = SLOT_JOBS_TICK});
        movingStep(w, 0, &(slotJobsEvent){.kind = SLOT_JOBS_UNSENT, .job = movingJob(w, 0)->number});
    }
    return false;
}

TEST(slot_jobs_end_with_their_connection) {
    static const slotJobState states[] = {JOB_READING_ESTABLISH, JOB_WAITING_TO_WALK,  JOB_WALKING,
                                          JOB_REPLICATING,       JOB_WAITING_TO_PAUSE, JOB_FENCED};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        movingWorld w;
        movingInit(&w);
        if (!CHECK(runTo(&w, states[i]))) return;
        bool known = movingJob(&w, 1) != NULL;
        movingBreak(&w, 0);
        checkEnd(&w, 0, JOB_FAILED, LOST_TARGET);
        if (known) checkEnd(&w, 1, JOB_FAILED, LOST_SOURCE);
        movingCheckRest(&w);
        movingRun(&w, 500);
        for (int slot = 0; slot < MOVING_SLOTS; slot++) CHECK(movingWrite(&w, 0, slot));
        movingCheckRest(&w);
        movingFree(&w);
    }
}

/* The link breaks when the target may have taken the slots: the source asks, and writes wait. */
TEST(slot_jobs_ask_after_granted) {
    movingWorld w;
    movingInit(&w);
    if (!CHECK(runTo(&w, JOB_GRANTED))) return;
    smallCut(&w.cluster, 1, true);
    movingBreak(&w, 0); /* the word has not arrived: the import fails */
    checkEnd(&w, 1, JOB_FAILED, LOST_SOURCE);
    movingRun(&w, 30000); /* longer than any fence */
    CHECK_EQ_STR(slotJobStateName(movingJob(&w, 0)->state), "failover-granted");
    CHECK(!movingWrite(&w, 0, 3));
    smallCut(&w.cluster, 1, false);
    movingRun(&w, 5000);
    checkEnd(&w, 0, JOB_FAILED, "The target node reports that the import has failed");
    CHECK(movingWrite(&w, 0, 3));
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_taken_by_a_target_that_is_cut_off) {
    movingWorld w;
    movingInit(&w);
    if (!CHECK(runTo(&w, JOB_GRANTED))) return;
    smallCut(&w.cluster, 1, true);
    while (movingDeliver(&w, 0, true)) continue;
    CHECK(clusterOwner(w.cluster.nodes[1].m, 3) == clusterMyself(w.cluster.nodes[1].m));
    movingRun(&w, 20000);
    CHECK(!movingWrite(&w, 0, 3));
    smallCut(&w.cluster, 1, false);
    movingRun(&w, 5000);
    checkEnd(&w, 0, JOB_SUCCESS, "");
    movingCheckRest(&w);
    movingFree(&w);
}

/* Its new epoch must be above the source's, which it knows when it has heard it since the fence began. */
TEST(slot_jobs_take_when_the_source_is_heard) {
    movingWorld w;
    movingInit(&w);
    if (!CHECK(runTo(&w, JOB_FENCED))) return;
    smallCut(&w.cluster, 1, true);
    smallRun(&w.cluster, 100);
    while (movingDeliver(&w, 0, true) || movingDeliver(&w, 0, false)) continue;
    movingRun(&w, 1000);
    CHECK_EQ_STR(slotJobStateName(movingJob(&w, 0)->state), "failover-granted");
    CHECK_EQ_STR(slotJobStateName(movingJob(&w, 1)->state), "failover-requested");
    smallCut(&w.cluster, 1, false);
    movingRun(&w, 5000);
    checkEnd(&w, 1, JOB_SUCCESS, "");
    movingCheckRest(&w);
    movingFree(&w);
}

/* A new epoch of a node whose slots are fenced would make its old claim to them win. */
TEST(slot_jobs_take_nothing_behind_a_fence) {
    movingWorld w;
    movingInit(&w);
    if (!CHECK(runTo(&w, JOB_GRANTED))) return;
    smallCut(&w.cluster, 1, true);
    while (movingDeliver(&w, 0, true)) continue; /* node 1 has the slots, node 0 does not know it */
    CHECK_EQ_STR(movingMigrate(&w, 2, 0, 16000, 16000), "+OK");
    movingRun(&w, 3000);
    CHECK_EQ_STR(slotJobStateName(movingJob(&w, 2)->state), "failover-granted");
    CHECK_EQ_STR(slotJobStateName(movingJob(&w, 0)->state), "failover-requested");
    smallCut(&w.cluster, 1, false);
    movingRun(&w, 8000);
    checkEnd(&w, 0, JOB_SUCCESS, "");
    CHECK(movingWrite(&w, 1, 3));
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_of_a_target_that_has_forgotten) {
    movingWorld w;
    movingInit(&w);
    if (!CHECK(runTo(&w, JOB_GRANTED))) return;
    slotJobs *jobs = w.nodes[1].jobs;
    w.nodes[1].jobs = slotJobsCreate(9, &w.nodes[1].config); /* without its log: nothing is left of the import */
    slotJobsFree(jobs);
    memset(&w.nodes[1].hidden, 0, sizeof(slotSet));
    memset(&w.nodes[1].keys, 0, sizeof(w.nodes[1].keys));
    movingBreak(&w, 0);
    movingRun(&w, 1000);
    checkEnd(&w, 0, JOB_FAILED, "The target node has forgotten the import");
    movingCheckRest(&w);
    movingFree(&w);
}

/* The source is started again while a target that it cannot reach has the slots. */
TEST(slot_jobs_keep_their_fence_after_a_restart) {
    movingWorld w;
    movingInit(&w);
    if (!CHECK(runTo(&w, JOB_GRANTED))) return;
    smallCut(&w.cluster, 1, true);
    while (movingDeliver(&w, 0, true)) continue;
    CHECK_EQ_INT(w.nodes[0].record_count, 1);
    movingRestart(&w, 0);
    movingRun(&w, 20000);
    CHECK_EQ_STR(slotJobStateName(movingJob(&w, 0)->state), "failover-granted");
    CHECK(!movingWrite(&w, 0, 3));
    smallCut(&w.cluster, 1, false);
    movingRun(&w, 5000);
    checkEnd(&w, 0, JOB_SUCCESS, "");
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_grant_what_is_on_disk) {
    movingWorld w;
    movingInit(&w);
    w.nodes[0].disk_waits = true;
    if (!CHECK(runTo(&w, JOB_RECORDING))) return;
    while (movingDeliver(&w, 0, true) || movingDeliver(&w, 0, false)) continue;
    CHECK_EQ_STR(slotJobStateName(movingJob(&w, 1)->state), "failover-requested");
    movingBreak(&w, 0);
    checkEnd(&w, 0, JOB_FAILED, LOST_TARGET);
    movingStep(&w, 0, &(slotJobsEvent){.kind = SLOT_JOBS_RECORDED, .job = movingJob(&w, 0)->number}); /* too late */
    checkEnd(&w, 0, JOB_FAILED, LOST_TARGET);
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_are_cancelled) {
    movingWorld w;
    movingInit(&w);
    movingStep(&w, 0, &(slotJobsEvent){.kind = SLOT_JOBS_CANCEL});
    CHECK_EQ_STR(w.nodes[0].reply, "-ERR No migrations ongoing");
    if (!CHECK(runTo(&w, JOB_FENCED))) return;
    movingStep(&w, 1, &(slotJobsEvent){.kind = SLOT_JOBS_CANCEL}); /* imports are ended by their source */
    CHECK_EQ_STR(w.nodes[1].reply, "-ERR No migrations ongoing");
    movingStep(&w, 0, &(slotJobsEvent){.kind = SLOT_JOBS_CANCEL});
    CHECK_EQ_STR(w.nodes[0].reply, "+OK");
    movingRun(&w, 500);
    checkEnd(&w, 0, JOB_CANCELLED, "");
    checkEnd(&w, 1, JOB_FAILED, LOST_SOURCE);
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_fence_for_a_time) {
    movingWorld w;
    movingInit(&w);
    if (!CHECK(runTo(&w, JOB_FENCED))) return;
    CHECK(!movingWrite(&w, 0, 3));
    CHECK(movingWrite(&w, 0, 7));
    for (int i = 0; i < 101; i++) {
        smallRun(&w.cluster, 100);
        movingStep(&w, 0, &(slotJobsEvent){.kind = SLOT_JOBS_TICK});
    }
    checkEnd(&w, 0, JOB_FAILED, "Unpaused before failover completed");
    CHECK(movingWrite(&w, 0, 3));
    movingRun(&w, 500);
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_end_after_silence) {
    movingWorld w;
    movingInit(&w);
    if (!CHECK(runTo(&w, JOB_REPLICATING))) return;
    for (int i = 0; i < 700; i++) {
        smallRun(&w.cluster, 100);
        for (int n = 0; n < 2; n++) movingStep(&w, n, &(slotJobsEvent){.kind = SLOT_JOBS_TICK});
    }
    checkEnd(&w, 0, JOB_FAILED, "Timed out after too long with no interaction");
    checkEnd(&w, 1, JOB_FAILED, "Timed out after too long with no interaction");
    movingRun(&w, 500);
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_refuse_wrong_words) {
    movingWorld w;
    movingInit(&w);
    if (!CHECK(runTo(&w, JOB_REPLICATING))) return;
    movingStep(
        &w, 0,
        &(slotJobsEvent){.kind = SLOT_JOBS_WORD, .job = movingJob(&w, 0)->number, .word = JOB_WORD_REQUEST_FAILOVER});
    checkEnd(&w, 0, JOB_FAILED, "Unexpected state machine transition");
    movingRun(&w, 500);
    if (!CHECK(runTo(&w, JOB_WALKING))) return;
    movingStep(
        &w, 1,
        &(slotJobsEvent){.kind = SLOT_JOBS_WORD, .job = movingJob(&w, 1)->number, .word = JOB_WORD_FAILOVER_GRANTED});
    checkEnd(&w, 1, JOB_FAILED, "Unexpected state machine transition");
    movingRun(&w, 500);
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_refuse_imports) {
    movingWorld w;
    movingInit(&w);
    if (!CHECK(runTo(&w, JOB_REPLICATING))) return;
    slotSet slots = {{0}};
    slotSetAdd(&slots, 3);
    slotJobRequest r = {.source = clusterMyself(w.cluster.nodes[0].m)->id, .slots = &slots};
    memset(r.name.text, '1', NODE_ID_LEN);
    slotJobsEvent e = {.kind = SLOT_JOBS_ESTABLISH, .requests = &r, .request_count = 1};
    movingStep(&w, 1, &e);
    CHECK_EQ_STR(w.nodes[1].reply, "-ERR Slot is already being imported on the target by a different migration");
    slotSetRemove(&slots, 3);
    slotSetAdd(&slots, 8000);
    movingStep(&w, 1, &e);
    CHECK_EQ_STR(w.nodes[1].reply, "-ERR Target node does not agree about current slot ownership");
    movingStep(&w, 0, &e);
    CHECK_EQ_STR(w.nodes[0].reply, "-ERR Source node is target node itself");
    memset(r.source.text, 'x', NODE_ID_LEN);
    movingStep(&w, 1, &e);
    CHECK_EQ_STR(w.nodes[1].reply, "-ERR Target node does not know the source node");
    movingRun(&w, 500);
    movingCheckRest(&w);
    movingFree(&w);
}

TEST(slot_jobs_forget_the_oldest) {
    movingWorld w;
    movingInit(&w);
    w.connects = false;
    for (int i = 0; i < 5; i++) movingMigrate(&w, 0, 1, (unsigned)i, (unsigned)i);
    w.nodes[0].config.log_length = 2;
    movingStep(&w, 0, &(slotJobsEvent){.kind = SLOT_JOBS_CONFIGURE, .config = &w.nodes[0].config});
    CHECK_EQ_STR(movingJob(&w, 0)->ranges, "4-4");
    const slotJob *second = slotJobsNext(w.nodes[0].jobs, movingJob(&w, 0));
    CHECK_EQ_STR(second->ranges, "3-3");
    CHECK(slotJobsNext(w.nodes[0].jobs, second) == NULL);
    movingFree(&w);
}

/* ---- Random events ---- */

/* Then CANCEL lifts the fence, and writes may be lost. */
static bool isGranted(const movingWorld *w, unsigned node) {
    for (const slotJob *job = NULL; (job = slotJobsNext(w->nodes[node].jobs, job)) != NULL;)
        if (job->state == JOB_GRANTED) return true;
    return false;
}

static void randomEvent(movingWorld *w, uint64_t *seed) {
    unsigned node = unitRandom(seed) % MOVING_NODES, other = (node + 1 + unitRandom(seed) % 2) % MOVING_NODES;
    unsigned slot = unitRandom(seed) % MOVING_SLOTS;
    switch (unitRandom(seed) % 40) {
    case 0: movingMigrate(w, (int)node, (int)other, slot, slot + unitRandom(seed) % 3); break;
    case 1:
        if (unitRandom(seed) % 8 == 0 && w->link_count) movingBreak(w, (int)(unitRandom(seed) % w->link_count));
        break;
    case 2:
        if (unitRandom(seed) % 16 == 0) movingRestart(w, (int)node);
        break;
    case 3:
        if (unitRandom(seed) % 16 == 0) smallCut(&w->cluster, (int)node, !w->cluster.nodes[node].is_cut);
        break;
    case 4:
        if (unitRandom(seed) % 8 == 0 && !isGranted(w, node))
            movingStep(w, (int)node, &(slotJobsEvent){.kind = SLOT_JOBS_CANCEL});
        break;
    case 5:
        smallRun(&w->cluster, 100);
        for (int i = 0; i < MOVING_NODES; i++) {
            movingStep(w, i, &(slotJobsEvent){.kind = SLOT_JOBS_VIEW});
            movingStep(w, i, &(slotJobsEvent){.kind = SLOT_JOBS_TICK});
        }
        break;
    case 6:
        for (int i = 0; i < w->link_count; i++) {
            const movingLink *l = &w->links[i];
            movingStep(w, l->source,
                       &(slotJobsEvent){
                           .kind = SLOT_JOBS_UNSENT, .job = l->job, .bytes = l->to_target.end - l->to_target.first});
        }
        break;
    default:
        if (unitRandom(seed) % 3 == 0) movingWrite(w, (int)node, (int)slot);
        else if (unitRandom(seed) % 2) movingWalk(w, (int)node);
        else if (w->link_count) movingDeliver(w, (int)(unitRandom(seed) % w->link_count), unitRandom(seed) % 2);
    }
}

TEST(slot_jobs_random_events) {
    uint64_t seed = unitRandomSeed();
    int ends[3] = {0};
    for (int round = 0; round < 3; round++) {
        movingWorld w;
        movingInit(&w);
        for (int i = 0; i < MOVING_NODES; i++) {
            w.nodes[i].config.silence_ms = 5000;
            movingStep(&w, i, &(slotJobsEvent){.kind = SLOT_JOBS_CONFIGURE, .config = &w.nodes[i].config});
        }
        for (int i = 0; i < 3000; i++) {
            randomEvent(&w, &seed);
            movingCheck(&w);
        }
        for (int i = 0; i < MOVING_NODES; i++) smallCut(&w.cluster, i, false);
        movingRun(&w, 15000);
        movingCheckRest(&w);
        for (int i = 0; i < MOVING_NODES; i++)
            for (const slotJob *job = NULL; (job = slotJobsNext(w.nodes[i].jobs, job)) != NULL;)
                ends[job->state - JOB_SUCCESS]++;
        movingFree(&w);
    }
    CHECK(ends[JOB_SUCCESS - JOB_SUCCESS] > 0 && ends[JOB_FAILED - JOB_SUCCESS] > 0);
}

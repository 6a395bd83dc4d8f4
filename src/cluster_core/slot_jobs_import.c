/* slot_jobs_import.c -- a migration at its target, and at the target's replicas.
 *
 *     WAITING_FOR_ACK -> RECEIVING -> WAITING_FOR_PAUSED -> REQUESTED -> TAKING -> SUCCESS
 *                            any fault -> CLEANING_UP -> FAILED
 *
 * The slots are hidden from ESTABLISH on, until this node owns them or their keys are deleted. A replica tracks what
 * its primary imports, so that it hides the same slots; when it becomes a primary, it deletes their keys.
 *
 * Threads     the caller's lock.
 * Tests       tests/unit/cluster_core/slot_jobs_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_jobs_internal.h"

/* ---- Begin ---- */

static bool isInUse(const slotJobs *j, const slotSet *slots) {
    EACH_JOB(j, job)
    if (job->slots && slotsOverlap(job->slots, slots) != -1) return true;
    return false;
}

/* Returns the error about a request to send slots here; NULL if there is none. */
static const char *refuse(const slotJobs *j, const slotJobRequest *r) {
    const char *refusal = jobsRefusal(j->m);
    if (refusal) return refusal;
    if (!clusterNodeById(j->m, &r->source)) return "-ERR Target node does not know the source node";
    if (nodeIdEqual(&r->source, &clusterMyself(j->m)->id)) return "-ERR Source node is target node itself";
    if (isInUse(j, r->slots) || jobByName(j, &r->name))
        return "-ERR Slot is already being imported on the target by a different migration";
    for (unsigned first = 0, last; slotSetRun(r->slots, &first, &last); first = last + 1) {
        for (unsigned slot = first; slot <= last; slot++) {
            const clusterNode *owner = clusterOwner(j->m, slot);
            if (!owner || !nodeIdEqual(&owner->id, &r->source))
                return "-ERR Target node does not agree about current slot ownership";
        }
    }
    return NULL;
}

void importStart(slotJobs *j, const slotJobRequest *request) {
    const char *error = refuse(j, request);
    if (error) {
        jobReply(j, "%s", error);
        return;
    }
    slotJobRequest r = *request;
    r.target = clusterMyself(j->m)->id;
    slotJob *job = jobAdd(j, false, JOB_WAITING_FOR_ACK, &r);
    job->is_connected = true;
    jobAct(j, job, SLOT_JOB_HIDE);
    jobAct(j, job, SLOT_JOB_REPLY)->text = sdsNew("+OK");
}

/* A second job for the same slots replaces the first, whose end was not heard. */
void importTrack(slotJobs *j, const slotJobRequest *request) {
    EACH_JOB(j, job) {
        if (job->slots && slotsOverlap(job->slots, request->slots) != -1)
            importReplaced(j, job, "Another migration of its slots has begun");
    }
    slotJobRequest r = {.name = request->name, .slots = request->slots};
    jobAct(j, jobAdd(j, false, JOB_TRACKED, &r), SLOT_JOB_HIDE);
}

/* ---- End ---- */

static void disconnect(slotJobs *j, slotJob *job) {
    if (job->is_connected) jobAct(j, job, SLOT_JOB_CLOSE);
    job->is_connected = false;
}

static void finish(slotJobs *j, slotJob *job, slotJobState end) {
    jobAct(j, job, SLOT_JOB_SHOW);
    slotJobAction *a = jobAct(j, job, SLOT_JOB_FINISHED);
    a->end = end;
    a->text = sdsDup(job->message);
    disconnect(j, job);
    jobEnd(j, job, end, NULL);
}

void importFail(slotJobs *j, slotJob *job, const char *message) {
    if (job->state == JOB_CLEANING_UP) return;
    jobSetMessage(job, sliceStr(message));
    disconnect(j, job);
    jobEnter(j, job, JOB_CLEANING_UP);
    jobAct(j, job, SLOT_JOB_DELETE);
}

void importReplaced(slotJobs *j, slotJob *job, const char *message) {
    disconnect(j, job);
    jobAct(j, job, SLOT_JOB_SHOW);
    jobEnd(j, job, JOB_FAILED, message);
}

/* The primary ends an import that this replica tracks, or the log one that this node has had. */
void importFinish(slotJobs *j, const slotJobsEvent *e) {
    slotJob *job = jobByName(j, &e->name);
    if (!job || job->state != JOB_TRACKED) return;
    jobAct(j, job, SLOT_JOB_SHOW);
    jobSetMessage(job, e->text);
    jobEnd(j, job, e->end, NULL);
}

/* ---- Words of the source ---- */

/* Asks the source for a frame: its epoch must be known for the takeover, and does not rise while its writes wait. */
static void ping(slotJobs *j, slotJob *job) {
    job->asked_ms = j->now.mono_ms;
    jobAct(j, job, SLOT_JOB_PING)->node = job->source;
}

static bool knowsEpochOfSource(const slotJobs *j, const slotJob *job) {
    const clusterNode *source = clusterNodeById(j->m, &job->source);
    return source && source->heard_until_ms >= job->paused_ms;
}

/* Returns whether writes to slots of this node wait for another takeover. This node must not get a new epoch then: its
 * own old claim to these slots would win against the new one. */
static bool hasFenced(const slotJobs *j) {
    EACH_JOB(j, job)
    if (job->is_fenced) return true;
    return false;
}

/* Takes the slots as soon as it may; importTick() and importView() try again. */
static void take(slotJobs *j, slotJob *job) {
    if (!job->granted_ms || j->config.holds_taking || hasFenced(j) || !knowsEpochOfSource(j, job)) return;
    jobEnter(j, job, JOB_TAKING);
    jobAct(j, job, SLOT_JOB_TAKE);
}

static void onPaused(slotJobs *j, slotJob *job) {
    job->paused_ms = j->now.mono_ms;
    jobSay(j, job, JOB_WORD_REQUEST_FAILOVER);
    jobEnter(j, job, JOB_REQUESTED);
    ping(j, job);
}

static void onGranted(slotJobs *j, slotJob *job) {
    job->granted_ms = j->now.mono_ms;
    take(j, job);
}

static void onWord(slotJobs *j, slotJob *job, slotJobWord word) {
    slotJobState s = job->state;
    if (word == JOB_WORD_ACK) {
        job->heard_s = j->now.wall_ms / 1000;
        if (s == JOB_WAITING_FOR_ACK) jobEnter(j, job, JOB_RECEIVING);
    } else if (word == JOB_WORD_SNAPSHOT_EOF && s == JOB_RECEIVING) {
        jobSay(j, job, JOB_WORD_REQUEST_PAUSE);
        jobEnter(j, job, JOB_WAITING_FOR_PAUSED);
    } else if (word == JOB_WORD_PAUSED && s == JOB_WAITING_FOR_PAUSED) {
        onPaused(j, job);
    } else if (word == JOB_WORD_FAILOVER_GRANTED && s == JOB_REQUESTED && !job->granted_ms) {
        onGranted(j, job);
    } else {
        importFail(j, job,
                   word == JOB_WORD_UNKNOWN ? "Unknown SYNCSLOTS subcommand used"
                                            : "Unexpected state machine transition");
    }
}

static void onLost(slotJobs *j, slotJob *job) {
    job->is_connected = false;
    if (job->granted_ms) return;
    importFail(j, job,
               "Connection lost to source. Check CLUSTER GETSLOTMIGRATIONS on the source node for more information.");
}

void importStep(slotJobs *j, slotJob *job, const slotJobsEvent *e) {
    switch (e->kind) {
    case SLOT_JOBS_DATA: job->heard_ms = j->now.mono_ms; break;
    case SLOT_JOBS_WORD:
        job->heard_ms = j->now.mono_ms;
        if (job->state != JOB_CLEANING_UP) onWord(j, job, e->word);
        break;
    case SLOT_JOBS_LOST: onLost(j, job); break;
    case SLOT_JOBS_DELETED:
        if (job->state == JOB_CLEANING_UP) finish(j, job, JOB_FAILED);
        break;
    default: break;
    }
}

/* ---- Time, and other nodes ---- */

/* The slots are granted, and what the takeover needs may come or not: two nodes may wait for each other. */
static void tickGranted(slotJobs *j, slotJob *job) {
    if (j->now.mono_ms - job->granted_ms > j->config.fence_ms) {
        importFail(j, job,
                   "The source granted the slots, but it cannot be reached on the bus, or this node moves others");
        return;
    }
    if (!knowsEpochOfSource(j, job) && j->now.mono_ms > job->asked_ms) ping(j, job);
    take(j, job);
}

void importTick(slotJobs *j, slotJob *job) {
    if (job->state > JOB_TAKING) return;
    if (job->state == JOB_TAKING) {
        jobAct(j, job, SLOT_JOB_TAKE); /* again: it was refused */
    } else if (job->granted_ms) {
        tickGranted(j, job);
    } else if (j->now.mono_ms - job->heard_ms > j->config.silence_ms) {
        importFail(j, job, "Timed out after too long with no interaction");
    } else if (job->state > JOB_WAITING_FOR_ACK && j->now.mono_ms - job->told_ms >= ACK_PERIOD_MS) {
        job->told_ms = j->now.mono_ms;
        jobSay(j, job, JOB_WORD_ACK);
    }
}

/* This node has become a replica: its new primary tracks the job and will end it, or replaces the dataset. */
static void follow(slotJobs *j, slotJob *job) {
    disconnect(j, job);
    jobEnter(j, job, JOB_TRACKED);
}

void importView(slotJobs *j, slotJob *job) {
    const nodeId *me = &clusterMyself(j->m)->id;
    if (!jobIsPrimary(j)) {
        if (job->state != JOB_TRACKED) follow(j, job);
    } else if (job->state == JOB_TRACKED) {
        importFail(j, job, "A failover occurred during slot import");
    } else if (job->state == JOB_CLEANING_UP) {
        return;
    } else if (jobOwnedBy(j, job, me, false) && job->state == JOB_TAKING) {
        finish(j, job, JOB_SUCCESS);
    } else if (jobOwnedBy(j, job, me, true)) {
        importFail(j, job, "Slots were unexpectedly assigned to myself during import");
    } else if (!jobOwnedBy(j, job, &job->source, false)) {
        importFail(j, job, "Slots are no longer owned by source node");
    } else if (job->state == JOB_REQUESTED) {
        take(j, job);
    }
}

/* slot_jobs_export.c -- a migration at its source.
 *
 *     CONNECTING -> READING_AUTH -> READING_ESTABLISH -> WAITING_TO_WALK -> WALKING -> REPLICATING
 *                -> WAITING_TO_PAUSE -> FENCED -> RECORDING -> GRANTED -> SUCCESS
 *
 * Until GRANTED any fault ends the job, and the slots stay here. Then the target may have taken them, so that only one
 * of these ends it: another node is seen to own the slots; the target says that the import has failed; it does not know
 * the job any more and owns none of the slots; an operator cancels. A restart does not end it: it is on disk. Valkey
 * goes on after a time, or a restart, and may lose writes.
 *
 * Threads     the caller's lock.
 * Tests       tests/unit/cluster_core/slot_jobs_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_jobs_internal.h"

/* ---- Begin and end ---- */

static nodeId randomName(slotJobs *j) {
    nodeId name;
    for (size_t i = 0; i < NODE_ID_LEN; i++) name.text[i] = "0123456789abcdef"[rngBelow(&j->random, 16)];
    return name;
}

void exportsStart(slotJobs *j, const slotJobRequest *requests, size_t count) {
    for (size_t i = 0; i < count; i++) {
        slotJobRequest r = requests[i];
        r.source = clusterMyself(j->m)->id;
        r.name = randomName(j);
        slotJob *job = jobAdd(j, true, JOB_CONNECTING, &r);
        jobAct(j, job, SLOT_JOB_CONNECT)->node = r.target;
    }
    jobReply(j, "+OK");
}

/* A grant that was given before this process began: its target may have taken the slots. */
void exportRecall(slotJobs *j, const slotJobRequest *request) {
    slotJobRequest r = *request;
    r.source = clusterMyself(j->m)->id;
    slotJob *job = jobAdd(j, true, JOB_GRANTED, &r);
    jobAct(j, job, SLOT_JOB_FENCE);
    job->is_fenced = true;
}

static void leave(slotJobs *j, slotJob *job, slotJobState end, const char *message) {
    if (job->state >= JOB_WALKING) jobAct(j, job, SLOT_JOB_STOP);
    if (job->is_fenced) jobAct(j, job, SLOT_JOB_UNFENCE);
    if (job->state >= JOB_RECORDING) jobAct(j, job, SLOT_JOB_ERASE);
    if (job->is_connected || job->state == JOB_CONNECTING) jobAct(j, job, SLOT_JOB_CLOSE);
    job->is_connected = job->is_fenced = false;
    jobEnd(j, job, end, message);
}

void exportFail(slotJobs *j, slotJob *job, const char *message) { leave(j, job, JOB_FAILED, message); }

void exportsCancel(slotJobs *j) {
    bool any = false;
    EACH_JOB(j, job) {
        if (!job->is_export || slotJobHasEnded(job->state)) continue;
        any = true;
        bool may_be_taken = job->state == JOB_GRANTED;
        leave(j, job, JOB_CANCELLED,
              may_be_taken ? "Cancelled while the target may have taken the slots: writes may be lost" : NULL);
    }
    jobReply(j, any ? "+OK" : "-ERR No migrations ongoing");
}

/* ---- Words of the target ---- */

static void establish(slotJobs *j, slotJob *job) {
    jobAct(j, job, SLOT_JOB_ESTABLISH);
    jobEnter(j, job, JOB_READING_ESTABLISH);
}

static void onConnected(slotJobs *j, slotJob *job) {
    if (job->state != JOB_CONNECTING) return;
    job->is_connected = true;
    if (!j->config.has_password) {
        establish(j, job);
        return;
    }
    jobAct(j, job, SLOT_JOB_AUTH);
    jobEnter(j, job, JOB_READING_AUTH);
}

static void failWithLine(slotJobs *j, slotJob *job, const char *text, slice line) {
    sds message = sdsCatSlice(sdsNew(text), line);
    exportFail(j, job, message);
    sdsFree(message);
}

static void onLine(slotJobs *j, slotJob *job, slice line) {
    bool ok = line.len && line.ptr[0] == '+';
    if (job->state == JOB_READING_AUTH) {
        if (ok) establish(j, job);
        else failWithLine(j, job, "Failed to AUTH to target node: ", line);
    } else if (job->state == JOB_READING_ESTABLISH) {
        if (!ok) {
            failWithLine(j, job, "Received error during handshake to target: ", line);
            return;
        }
        jobSay(j, job, JOB_WORD_ACK);
        job->told_ms = j->now.mono_ms;
        jobEnter(j, job, JOB_WAITING_TO_WALK);
    } else {
        exportFail(j, job, "Unexpected state machine transition");
    }
}

static void record(slotJobs *j, slotJob *job) {
    jobAct(j, job, SLOT_JOB_RECORD)->node = job->target;
    jobEnter(j, job, JOB_RECORDING);
}

static void grant(slotJobs *j, slotJob *job) {
    if (job->state != JOB_RECORDING) return;
    jobSay(j, job, JOB_WORD_FAILOVER_GRANTED);
    jobEnter(j, job, JOB_GRANTED);
}

static void onWord(slotJobs *j, slotJob *job, slotJobWord word) {
    if (word == JOB_WORD_ACK) job->heard_s = j->now.wall_ms / 1000;
    else if (word == JOB_WORD_REQUEST_PAUSE && job->state == JOB_REPLICATING) jobEnter(j, job, JOB_WAITING_TO_PAUSE);
    else if (word == JOB_WORD_REQUEST_FAILOVER && job->state == JOB_FENCED) record(j, job);
    else if (word == JOB_WORD_UNKNOWN) exportFail(j, job, "Unknown SYNCSLOTS subcommand used");
    else exportFail(j, job, "Unexpected state machine transition");
}

/* ---- The keys ---- */

static bool walks(const slotJobs *j) {
    EACH_JOB(j, job)
    if (job->state == JOB_WALKING) return true;
    return false;
}

static void walk(slotJobs *j, slotJob *job) {
    if (walks(j)) return; /* one after the other: each gets its slots over sooner */
    jobAct(j, job, SLOT_JOB_WALK);
    jobEnter(j, job, JOB_WALKING);
}

static void onWalked(slotJobs *j, slotJob *job) {
    if (job->state != JOB_WALKING) return;
    jobSay(j, job, JOB_WORD_SNAPSHOT_EOF);
    jobEnter(j, job, JOB_REPLICATING);
}

static void onUnsent(slotJobs *j, slotJob *job, uint64_t bytes) {
    if (job->state != JOB_WAITING_TO_PAUSE || j->config.holds_pause) return;
    if (j->config.pause_bytes >= 0 && bytes > (uint64_t)j->config.pause_bytes) return;
    jobAct(j, job, SLOT_JOB_FENCE);
    job->is_fenced = true;
    job->fenced_ms = j->now.mono_ms;
    jobSay(j, job, JOB_WORD_PAUSED);
    jobEnter(j, job, JOB_FENCED);
}

/* ---- The connection ---- */

static void onLost(slotJobs *j, slotJob *job, slice why) {
    bool was_connecting = job->state == JOB_CONNECTING;
    job->is_connected = false;
    if (job->state == JOB_GRANTED) return; /* exportTick() asks the target */
    if (was_connecting) {
        job->state = JOB_READING_AUTH; /* there is nothing to close */
        failWithLine(j, job, "Unable to connect to target node: ", why);
        return;
    }
    exportFail(j, job,
               "Connection lost to target. Check CLUSTER GETSLOTMIGRATIONS on the target node for more information.");
}

static void onAnswer(slotJobs *j, slotJob *job, slotJobAnswer answer) {
    if (job->state != JOB_GRANTED) return;
    if (answer == JOB_ANSWER_FAILED) exportFail(j, job, "The target node reports that the import has failed");
    if (answer == JOB_ANSWER_UNKNOWN) exportFail(j, job, "The target node has forgotten the import");
}

void exportStep(slotJobs *j, slotJob *job, const slotJobsEvent *e) {
    if (e->kind == SLOT_JOBS_WORD || e->kind == SLOT_JOBS_LINE) job->heard_ms = j->now.mono_ms;
    switch (e->kind) {
    case SLOT_JOBS_CONNECTED: onConnected(j, job); break;
    case SLOT_JOBS_LOST: onLost(j, job, e->text); break;
    case SLOT_JOBS_LINE: onLine(j, job, e->text); break;
    case SLOT_JOBS_WORD: onWord(j, job, e->word); break;
    case SLOT_JOBS_RECORDED: grant(j, job); break;
    case SLOT_JOBS_WALKED: onWalked(j, job); break;
    case SLOT_JOBS_UNSENT: onUnsent(j, job, e->bytes); break;
    case SLOT_JOBS_ANSWER: onAnswer(j, job, e->answer); break;
    default: break;
    }
}

/* ---- Time, and other nodes ---- */

static void tickGranted(slotJobs *j, slotJob *job) {
    if (job->is_connected || j->now.mono_ms - job->asked_ms < ASK_PERIOD_MS) return;
    job->asked_ms = j->now.mono_ms;
    jobAct(j, job, SLOT_JOB_ASK)->node = job->target;
}

void exportTick(slotJobs *j, slotJob *job) {
    if (job->state == JOB_GRANTED) {
        tickGranted(j, job);
    } else if (j->now.mono_ms - job->heard_ms > j->config.silence_ms) {
        exportFail(j, job, "Timed out after too long with no interaction");
    } else if (job->state == JOB_FENCED && j->now.mono_ms - job->fenced_ms > j->config.fence_ms) {
        exportFail(j, job, "Unpaused before failover completed");
    } else if (job->state == JOB_WAITING_TO_WALK) {
        walk(j, job);
    } else if (job->state > JOB_WALKING && j->now.mono_ms - job->told_ms >= ACK_PERIOD_MS) {
        job->told_ms = j->now.mono_ms;
        jobSay(j, job, JOB_WORD_ACK);
    }
}

void exportView(slotJobs *j, slotJob *job) {
    const nodeId *me = &clusterMyself(j->m)->id;
    if (jobIsPrimary(j) && jobOwnedBy(j, job, me, false)) return;
    if (job->state != JOB_GRANTED) {
        exportFail(j, job, "Slots are no longer owned by myself");
    } else if (!jobIsPrimary(j) || !jobOwnedBy(j, job, me, true)) {
        leave(j, job, jobOwnedBy(j, job, &job->target, true) ? JOB_SUCCESS : JOB_FAILED,
              jobOwnedBy(j, job, &job->target, true) ? NULL : "Slots are no longer owned by myself");
    }
}

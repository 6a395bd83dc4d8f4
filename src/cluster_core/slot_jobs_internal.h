/* slot_jobs_internal.h -- the state of the machine of migrations, and what its files do for each other.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_SLOT_JOBS_INTERNAL_H
#define CLUSTER_SLOT_JOBS_INTERNAL_H

#include "log.h"
#include "panic.h"
#include "rng.h"
#include "slot_jobs.h"
#include "zmalloc.h"

#define ACK_PERIOD_MS 1000
#define ASK_PERIOD_MS 500

struct slotJobs {
    slotJob *newest; /* owns the list */
    size_t ended;
    uint64_t numbers; /* given so far */
    slotJobsConfig config;
    rng random;
    /* Of the step that runs: */
    const clusterMachine *m;
    clusterTime now;
    slotJobActions *actions;
};

#define EACH_JOB(jobs, job) for (slotJob *job = (jobs)->newest; job; job = (job)->next)

/* ---- slot_jobs.c ---- */

slotJobAction *jobAct(slotJobs *j, const slotJob *job, slotJobActionKind kind);
void jobSay(slotJobs *j, const slotJob *job, slotJobWord word);
void jobReply(slotJobs *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a job with a copy of the slots. */
slotJob *jobAdd(slotJobs *j, bool is_export, slotJobState state, const slotJobRequest *r);
/* Returns the job of this name that has not ended; NULL if there is none. */
slotJob *jobByName(const slotJobs *j, const nodeId *name);
void jobEnter(slotJobs *j, slotJob *job, slotJobState state);
/* Ends a job: its slots are freed, and the oldest of those that have ended may be. */
void jobEnd(slotJobs *j, slotJob *job, slotJobState end, const char *message);
/* Sets the message of a job that has failed, or will have. */
void jobSetMessage(slotJob *job, slice text);
/* Returns whether node `id` owns all slots of a job; `any`: at least one of them. */
bool jobOwnedBy(const slotJobs *j, const slotJob *job, const nodeId *id, bool any);
bool jobIsPrimary(const slotJobs *j);

/* ---- slot_jobs_export.c, slot_jobs_import.c ---- */

void exportsStart(slotJobs *j, const slotJobRequest *requests, size_t count);
void exportRecall(slotJobs *j, const slotJobRequest *r);
void exportsCancel(slotJobs *j);
void exportStep(slotJobs *j, slotJob *job, const slotJobsEvent *e);
void exportTick(slotJobs *j, slotJob *job);
void exportView(slotJobs *j, slotJob *job);
void exportFail(slotJobs *j, slotJob *job, const char *message);

void importStart(slotJobs *j, const slotJobRequest *r);
void importTrack(slotJobs *j, const slotJobRequest *r);
void importFinish(slotJobs *j, const slotJobsEvent *e);
void importStep(slotJobs *j, slotJob *job, const slotJobsEvent *e);
void importTick(slotJobs *j, slotJob *job);
void importView(slotJobs *j, slotJob *job);
void importFail(slotJobs *j, slotJob *job, const char *message);
/* Ends a job whose keys are not there any more. */
void importReplaced(slotJobs *j, slotJob *job, const char *message);

/* ---- slot_jobs_words.c ---- */

/* Returns the error about any migration from or to this node; NULL if there is none. */
const char *jobsRefusal(const clusterMachine *m);
/* Returns the first slot that both have; -1 if there is none. */
int slotsOverlap(const slotSet *a, const slotSet *b);

#endif

/* slot_jobs.c -- the list of migrations of a node: events find their job, jobs end and are forgotten.
 *
 * Not here    what a job does next at the source (slot_jobs_export.c) and at the target (slot_jobs_import.c); the words
 *             of commands (slot_jobs_words.c).
 * Owns        the jobs.
 * Threads     the caller's lock.
 * Invariants  1. A slot is in one job at most that has not ended. 2. A fence is lifted, a hidden slot shown or its keys
 *             deleted before a job ends.
 * Cost        an event of a job: a pass over the jobs. A change of the view: a pass over the slots of those that run.
 * Tests       tests/unit/cluster_core/slot_jobs_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_jobs_internal.h"

#include <stdarg.h>

/* ---- Actions ---- */

void slotJobActionsFree(slotJobActions *a) {
    for (size_t i = 0; i < a->count; i++) {
        zfree(a->list[i].slots);
        sdsFree(a->list[i].text);
    }
    zfree(a->list);
    *a = (slotJobActions){0};
}

slotJobAction *jobAct(slotJobs *j, const slotJob *job, slotJobActionKind kind) {
    slotJobActions *a = j->actions;
    if (a->count == a->capacity) {
        a->capacity = a->capacity ? 2 * a->capacity : 16;
        a->list = zrealloc(a->list, a->capacity * sizeof(*a->list));
    }
    slotJobAction *action = &a->list[a->count++];
    *action = (slotJobAction){.kind = kind, .job = job ? job->number : 0};
    if (kind >= SLOT_JOB_RECORD && kind <= SLOT_JOB_DELETE) {
        action->slots = zmalloc(sizeof(*action->slots));
        *action->slots = *job->slots;
    }
    return action;
}

void jobSay(slotJobs *j, const slotJob *job, slotJobWord word) { jobAct(j, job, SLOT_JOB_SAY)->word = word; }

void jobReply(slotJobs *j, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sds text = sdsCatVprintf(sdsEmpty(), format, args);
    va_end(args);
    jobAct(j, NULL, SLOT_JOB_REPLY)->text = text;
}

static void jobLog(slotJobs *j, const slotJob *job, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void jobLog(slotJobs *j, const slotJob *job, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sds text = sdsCatVprintf(sdsEmpty(), format, args);
    va_end(args);
    slotJobAction *action = jobAct(j, job, SLOT_JOB_LOG);
    action->level = LL_NOTICE;
    action->text = text;
}

/* ---- Jobs ---- */

static sds rangesOf(const slotSet *slots) {
    sds text = sdsEmpty();
    for (unsigned first = 0, last; slotSetRun(slots, &first, &last); first = last + 1)
        text = sdsCatPrintf(text, "%s%u-%u", sdsLen(text) ? " " : "", first, last);
    return text;
}

slotJob *jobAdd(slotJobs *j, bool is_export, slotJobState state, const slotJobRequest *r) {
    slotJob *job = zcalloc(1, sizeof(*job));
    int64_t now_s = j->now.wall_ms / 1000;
    *job = (slotJob){.number = ++j->numbers,
                     .name = r->name,
                     .source = r->source,
                     .target = r->target,
                     .is_export = is_export,
                     .state = state,
                     .slots = zmalloc(sizeof(*job->slots)),
                     .ranges = rangesOf(r->slots),
                     .message = sdsEmpty(),
                     .created_s = now_s,
                     .changed_s = now_s,
                     .heard_ms = j->now.mono_ms,
                     .next = j->newest};
    *job->slots = *r->slots;
    j->newest = job;
    jobLog(j, job, "New slot %s job created: %.40s, slots %s.", is_export ? "export" : "import", job->name.text,
           job->ranges);
    return job;
}

static void freeJob(slotJob *job) {
    zfree(job->slots);
    sdsFree(job->ranges);
    sdsFree(job->message);
    zfree(job);
}

/* Forgets the oldest jobs that have ended, until the log has its length. */
static void forgetOld(slotJobs *j) {
    while (j->ended > j->config.log_length) {
        slotJob **at = NULL;
        for (slotJob **p = &j->newest; *p; p = &(*p)->next)
            if (slotJobHasEnded((*p)->state)) at = p;
        slotJob *job = *at;
        *at = job->next;
        freeJob(job);
        j->ended--;
    }
}

static slotJob *byNumber(const slotJobs *j, uint64_t number) {
    EACH_JOB(j, job)
    if (job->number == number) return job;
    return NULL;
}

slotJob *jobByName(const slotJobs *j, const nodeId *name) {
    EACH_JOB(j, job)
    if (!slotJobHasEnded(job->state) && nodeIdEqual(&job->name, name)) return job;
    return NULL;
}

void jobEnter(slotJobs *j, slotJob *job, slotJobState state) {
    jobLog(j, job, "Slot migration %.40s state transition: %s -> %s", job->name.text, slotJobStateName(job->state),
           slotJobStateName(state));
    job->state = state;
    job->changed_s = j->now.wall_ms / 1000;
}

void jobSetMessage(slotJob *job, slice text) {
    sdsClear(job->message);
    job->message = sdsCatLen(job->message, text.ptr, text.len);
}

void jobEnd(slotJobs *j, slotJob *job, slotJobState end, const char *message) {
    jobEnter(j, job, end);
    if (message) jobSetMessage(job, sliceStr(message));
    jobLog(j, job, "Slot migration %.40s finished. State: %s, Message: %s", job->name.text, slotJobStateName(end),
           job->message);
    zfree(job->slots);
    job->slots = NULL;
    j->ended++;
}

bool jobOwnedBy(const slotJobs *j, const slotJob *job, const nodeId *id, bool any) {
    for (unsigned first = 0, last; slotSetRun(job->slots, &first, &last); first = last + 1) {
        for (unsigned slot = first; slot <= last; slot++) {
            const clusterNode *owner = clusterOwner(j->m, slot);
            bool is_owner = owner && nodeIdEqual(&owner->id, id);
            if (is_owner == any) return any;
        }
    }
    return !any;
}

bool jobIsPrimary(const slotJobs *j) { return (clusterMyself(j->m)->flags & NODE_PRIMARY) != 0; }

/* ---- The step ---- */

static void breakJob(slotJobs *j, slotJob *job, slice text) {
    sds message = sdsFromSlice(text);
    if (job->is_export) exportFail(j, job, message);
    else importFail(j, job, message);
    sdsFree(message);
}

static void replaced(slotJobs *j, slotJob *job, slice text) {
    sds message = sdsFromSlice(text);
    importReplaced(j, job, message);
    sdsFree(message);
}

static void everyJob(slotJobs *j, const slotJobsEvent *e) {
    EACH_JOB(j, job) {
        if (slotJobHasEnded(job->state)) continue;
        if (e->kind == SLOT_JOBS_TICK) (job->is_export ? exportTick : importTick)(j, job);
        else if (e->kind == SLOT_JOBS_VIEW) (job->is_export ? exportView : importView)(j, job);
        else if (e->kind == SLOT_JOBS_REPLACED && !job->is_export) replaced(j, job, e->text);
        else breakJob(j, job, e->text);
    }
}

static void oneJob(slotJobs *j, const slotJobsEvent *e) {
    slotJob *job = byNumber(j, e->job);
    if (!job || slotJobHasEnded(job->state)) return;
    if (e->kind == SLOT_JOBS_BROKEN) breakJob(j, job, e->text);
    else (job->is_export ? exportStep : importStep)(j, job, e);
}

void slotJobsStep(slotJobs *j, const clusterMachine *m, clusterTime now, const slotJobsEvent *e,
                  slotJobActions *actions) {
    j->m = m, j->now = now, j->actions = actions;
    switch (e->kind) {
    case SLOT_JOBS_CONFIGURE: j->config = *e->config; break;
    case SLOT_JOBS_MIGRATE: exportsStart(j, e->requests, e->request_count); break;
    case SLOT_JOBS_RECALL: exportRecall(j, e->requests); break;
    case SLOT_JOBS_CANCEL: exportsCancel(j); break;
    case SLOT_JOBS_ESTABLISH: importStart(j, e->requests); break;
    case SLOT_JOBS_TRACK: importTrack(j, e->requests); break;
    case SLOT_JOBS_FINISH: importFinish(j, e); break;
    case SLOT_JOBS_TICK:
    case SLOT_JOBS_VIEW:
    case SLOT_JOBS_FLUSHED:
    case SLOT_JOBS_REPLACED: everyJob(j, e); break;
    default: oneJob(j, e); break;
    }
    forgetOld(j);
    j->m = NULL, j->actions = NULL;
}

slotJobs *slotJobsCreate(uint64_t seed, const slotJobsConfig *config) {
    slotJobs *j = zcalloc(1, sizeof(*j));
    j->config = *config;
    rngSeed(&j->random, seed);
    return j;
}

void slotJobsFree(slotJobs *j) {
    for (slotJob *job = j->newest, *next; job; job = next) {
        next = job->next;
        freeJob(job);
    }
    zfree(j);
}

/* ---- Reading ---- */

const slotJob *slotJobsNext(const slotJobs *j, const slotJob *job) { return job ? job->next : j->newest; }

const slotJob *slotJobsByNumber(const slotJobs *j, uint64_t number) { return byNumber(j, number); }

bool slotJobsRun(const slotJobs *j, bool is_export) {
    EACH_JOB(j, job)
    if (!slotJobHasEnded(job->state) && job->is_export == is_export) return true;
    return false;
}

void slotJobsCheck(const slotJobs *j) {
    slotSet used = {{0}};
    size_t ended = 0;
    EACH_JOB(j, job) {
        ended += slotJobHasEnded(job->state);
        debugAssert(slotJobHasEnded(job->state) == (job->slots == NULL));
        debugAssert(!slotJobHasEnded(job->state) || (!job->is_connected && !job->is_fenced));
        for (unsigned slot = 0; job->slots && slot < CLUSTER_SLOTS; slot++) {
            if (!slotSetHas(job->slots, slot)) continue;
            debugAssert(!slotSetHas(&used, slot));
            slotSetAdd(&used, slot);
        }
    }
    debugAssert(ended == j->ended && ended <= j->config.log_length);
}

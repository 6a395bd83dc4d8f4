/* aof_thread_test.c -- bytes reported as synced are on disk, whatever fails and whenever the power fails.
 *
 * Bytes of a known sequence are appended, with cuts, new bases and syncs. Before each system call the test joins the
 * files that a restart would find. They must be a prefix of the sequence that reaches as far as was reported as synced.
 * While a log is being turned on, the earlier state is valid as well: no log, or an older one.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_thread.h"

#include "bio.h"
#include "clock.h"
#include "engine_settings.h"
#include "latency_internal.h"
#include "log.h"
#include "model_disk.h"
#include "rdb_test_file.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "d"
#define STEM "a"

static holdSequence written_seq, synced_seq;
static aofThread *thread;
static uint64_t begin_offset; /* offsets only grow, so each run begins where the last one ended */

/* The bytes of a run, as they must be in the files. */
#define RUN_MAX (300 * 20000)
static char sequence[RUN_MAX];

static void makeSequence(void) {
    for (uint64_t i = 0; i < RUN_MAX; i++) sequence[i] = (char)((i * 0x9E3779B97F4A7C15ull) >> 56);
}

static void once(void) {
    static bool done;
    if (done) return;
    done = true;
    rdbTestReset();
    makeSequence();
    logSetLevel(LL_NOTHING);
    written_seq = holdSequenceAdd();
    synced_seq = holdSequenceAdd();
}

/* --- the files that a restart would find ----------------------------------------------------------------- */

static _Atomic uint64_t promised; /* offset that was reported as synced */
static long views_checked;
static bool view_failed; /* in this run; one report is enough */

/* Returns the bytes of all files in order, or NULL if one is missing. */
static sds putTogether(diskView view) {
    sds text = diskContent(view, FOLDER "/" STEM ".manifest"), all = sdsEmpty();
    aofManifestFault fault = {.line = 0};
    aofManifest *m = text ? aofManifestParse(sdsSlice(text), &fault) : NULL;
    sdsFree(text);
    sdsFree(fault.text);
    for (size_t i = 0; m && all && i < m->count; i++) {
        if (m->files[i].type == AOF_FILE_HISTORY) continue;
        sds path = aofPath(FOLDER, m->files[i].name), part = diskContent(view, path);
        if (part && m->files[i].type == AOF_FILE_BASE) sdsClear(all);
        all = part ? sdsCatLen(all, part, sdsLen(part)) : (sdsFree(all), NULL);
        sdsFree(part);
        sdsFree(path);
    }
    if (!m) sdsFree(all), all = NULL;
    aofManifestFree(m);
    return all;
}

/* While a failed sync leaves a gap, only the bytes that were reported as synced, and those that the system has, can be
 * checked. */
static size_t bytesToCheck(const sds all, diskView view) {
    size_t bytes = sdsLen(all), safe = (size_t)(atomic_load(&promised) - begin_offset);
    bool gap = view != DISK_ALL && aofThreadProgress(thread).sync_broken;
    return gap && safe < bytes ? safe : bytes;
}

static bool isPrefix(const sds all, diskView view) { return memcmp(all, sequence, bytesToCheck(all, view)) == 0; }

static bool turning_on;   /* the log may not exist yet */
static const char *older; /* bytes of the log before it; NULL if there was none */

static bool isOlder(const sds all, diskView view) {
    if (older) return all && !strcmp(all, older);
    sds text = diskContent(view, FOLDER "/" STEM ".manifest");
    bool none = text == NULL;
    sdsFree(text);
    return none;
}

/* Runs on the thread that makes a call, while the disk does not change. */
static void checkViews(void) {
    if (view_failed || !thread) return;
    for (diskView view = DISK_LEAST; view < DISK_VIEWS; view++) {
        sds all = putTogether(view);
        views_checked++;
        if (turning_on && isOlder(all, view)) {
            sdsFree(all);
            continue;
        }
        if (!CHECK(all != NULL) || !CHECK(isPrefix(all, view)) ||
            !CHECK(begin_offset + sdsLen(all) >= atomic_load(&promised))) {
            printf("  view %d, %zu bytes, promised %llu\n", view, all ? sdsLen(all) : 0,
                   (unsigned long long)(atomic_load(&promised) - begin_offset));
            view_failed = true;
        }
        sdsFree(all);
    }
}

/* --- a thread over the model ----------------------------------------------------------------------------- */

/* Starts the thread; only policy and times of `o` count. */
static void startWith(aofThreadOptions o) {
    once();
    thread = NULL;
    view_failed = false;
    diskBegin(checkViews);
    aofManifest *m = aofManifestCreate();
    aofManifestSwitchBase(m, STEM, "aof", 0);
    aofManifestAddIncr(m, STEM);
    sds text = aofManifestText(m);
    diskPut(FOLDER "/" STEM ".manifest", sdsSlice(text));
    diskPut(FOLDER "/a.1.base.aof", sliceOf("", 0));
    diskPut(FOLDER "/a.1.incr.aof", sliceOf("", 0));
    sdsFree(text);
    int fd = aofSystemNow()->open(FOLDER "/a.1.incr.aof", 0, 0);
    atomic_store(&promised, begin_offset);
    o.folder = FOLDER;
    o.stem = STEM;
    o.manifest = m;
    o.fd = fd;
    o.begin = begin_offset;
    o.written_seq = written_seq;
    o.synced_seq = synced_seq;
    thread = aofThreadStart(&o);
}

static void start(fsyncPolicy policy, uint64_t second_ms) {
    startWith((aofThreadOptions){.policy = policy, .second_ms = second_ms});
}

/* Starts the thread without a log, or with an older log that was turned off. */
static void startFirst(fsyncPolicy policy, uint64_t second_ms, bool with_older) {
    once();
    thread = NULL;
    view_failed = false;
    turning_on = true;
    older = with_older ? "older log" : NULL;
    diskBegin(checkViews);
    if (with_older) {
        diskPut(FOLDER "/" STEM ".manifest",
                sliceStr("file a.7.base.rdb seq 7 type b\nfile a.3.incr.aof seq 3 type i\n"));
        diskPut(FOLDER "/a.7.base.rdb", sliceStr("older "));
        diskPut(FOLDER "/a.3.incr.aof", sliceStr("log"));
    }
    atomic_store(&promised, begin_offset);
    aofThreadOptions o = {.folder = FOLDER,
                          .stem = STEM,
                          .fd = -1,
                          .begin = begin_offset,
                          .written_seq = written_seq,
                          .synced_seq = synced_seq,
                          .policy = policy,
                          .second_ms = second_ms};
    thread = aofThreadStart(&o);
}

static void append(size_t len) {
    aofQueue *s = aofThreadQueue(thread);
    aofQueueAppend(s, sequence + (s->appended - begin_offset), len);
    aofQueueEndUnit(s);
}

/* Records the offset that is reported as synced now, as main would use it. */
static void promise(void) {
    uint64_t synced = aofThreadProgress(thread).synced;
    if (synced > atomic_load(&promised)) atomic_store(&promised, synced);
}

static aofJob *waitForJob(aofJobType type) {
    for (unitLimit limit = unitLimitStart(20000); !unitLimitOver(&limit);) {
        aofJob *job = aofThreadFinished(thread);
        promise();
        if (job && job->type == type) return job;
        if (job) aofJobFree(job);
        else usleep(200);
    }
    CHECK(false);
    return NULL;
}

static int job_error; /* of the last job */

static bool doJob(aofJob *job) {
    aofJobType type = job->type;
    aofThreadSubmit(thread, job);
    aofJob *done = waitForJob(type);
    bool ok = done && done->ok;
    job_error = done ? done->error : -1;
    if (done) aofJobFree(done);
    return ok;
}

static bool stop(void) {
    bool ok = doJob(aofJobCreate(AOF_JOB_END));
    aofThreadWaitForEnd(thread);
    if (ok && !turning_on) CHECK_EQ_INT(aofThreadProgress(thread).synced, aofThreadQueue(thread)->appended);
    checkViews();
    begin_offset = aofThreadQueue(thread)->appended;
    aofThreadFree(thread);
    thread = NULL;
    bioDrain(BIO_CLOSE_FILE); /* removed files */
    CHECK_EQ_INT(diskOpenFiles(), 0);
    diskEnd();
    turning_on = false;
    return ok;
}

static bool waitSynced(uint64_t offset) {
    for (unitLimit limit = unitLimitStart(20000); !unitLimitOver(&limit); usleep(100))
        if (aofThreadProgress(thread).synced >= offset) return true;
    return false;
}

/* --- policies -------------------------------------------------------------------------------------------- */

TEST(thread_always_syncs_what_is_published) {
    start(FSYNC_ALWAYS, 0);
    for (int i = 0; i < 200; i++) {
        append(100);
        aofThreadPublish(thread);
        if (!CHECK(waitSynced(aofThreadQueue(thread)->appended))) break;
        promise();
    }
    CHECK(stop());
}

/* Main continues while a sync runs: everything that it publishes meanwhile is covered by one more sync. */
TEST(thread_always_commits_in_groups) {
    start(FSYNC_ALWAYS, 0);
    diskSlow(5000);
    for (int i = 0; i < 1000; i++) {
        append(20);
        aofThreadPublish(thread);
        if (i % 100 == 0) usleep(3000);
    }
    CHECK(waitSynced(aofThreadQueue(thread)->appended));
    CHECK(diskCalls(CALL_SYNC) < 50);
    CHECK(stop());
}

/* Ten writers each wait for their own bytes. A sync that begins as soon as the last one has ended would cover only half
 * of them, so each write would take two syncs. */
TEST(thread_always_waits_for_released_clients) {
    enum { WRITERS = 10, WRITES = 8 };
    uint64_t waits_for[WRITERS] = {0};
    int left[WRITERS], writing = WRITERS;
    startWith((aofThreadOptions){.policy = FSYNC_ALWAYS, .gather_max_us = 10000000});
    diskSlow(100000);
    for (int i = 0; i < WRITERS; i++) left[i] = WRITES;
    for (unitLimit limit = unitLimitStart(60000); writing && !unitLimitOver(&limit);) {
        for (int i = 0; i < WRITERS; i++) {
            usleep(1000); /* they do not all write at once */
            if (!left[i] || aofThreadProgress(thread).synced < waits_for[i]) continue;
            append(20);
            waits_for[i] = aofThreadQueue(thread)->appended;
            aofThreadPublish(thread);
            if (--left[i] == 0) writing--;
        }
    }
    CHECK(waitSynced(aofThreadQueue(thread)->appended));
    long syncs = diskCalls(CALL_SYNC);
    if (!CHECK(syncs <= WRITES + WRITES / 2)) printf("  %ld syncs\n", syncs);
    CHECK(stop());
}

TEST(thread_everysec_writes_at_once_and_syncs_each_second) {
    start(FSYNC_EVERYSEC, 100);
    uint64_t began_ms = clockMonotonicMs();
    for (int i = 0; i < 100; i++) {
        append(50);
        aofThreadPublish(thread);
        usleep(3000);
    }
    uint64_t passed_ms = clockMonotonicMs() - began_ms;
    CHECK(diskCalls(CALL_SYNC) <= (long)(passed_ms / 100) + 1);
    uint64_t all = aofThreadQueue(thread)->appended;
    CHECK(waitSynced(all)); /* the tail, too, although no more bytes come */
    CHECK(stop());
}

static bool waitWritten(uint64_t offset) {
    for (unitLimit limit = unitLimitStart(20000); !unitLimitOver(&limit); usleep(100))
        if (aofThreadProgress(thread).written >= offset) return true;
    return false;
}

/* Bytes published right after a cut are written to the next increment, even if the thread is working at that moment:
 * the base written from there on does not have them. */
TEST(thread_cuts_at_the_offset_of_the_job) {
    enum { CUTS = 100 };
    start(FSYNC_NO, 0);
    for (int i = 0; i < CUTS; i++) {
        append(10);
        aofThreadPublish(thread);
        aofThreadSubmit(thread, aofJobCreate(AOF_JOB_CUT));
        append(10);
        aofThreadPublish(thread);
        aofJob *cut = waitForJob(AOF_JOB_CUT);
        bool good = CHECK(cut && cut->ok) && CHECK_EQ_INT(cut->incr_size, i == 0 ? 10 : 20);
        if (cut) aofJobFree(cut);
        if (!good) break;
    }
    CHECK(stop());
}

/* Bytes written during a sync are not covered by it. */
TEST(thread_writes_while_a_sync_lasts) {
    start(FSYNC_EVERYSEC, 1);
    append(100);
    aofThreadPublish(thread);
    CHECK(waitSynced(begin_offset + 100));
    diskSlow(100000);
    int during = 0;
    for (int i = 0; i < 300; i++) {
        append(100);
        uint64_t all = aofThreadQueue(thread)->appended;
        bool before = aofThreadProgress(thread).syncing;
        uint64_t synced = aofThreadProgress(thread).synced;
        aofThreadPublish(thread);
        if (!CHECK(waitWritten(all))) break;
        aofProgress p = aofThreadProgress(thread);
        during += before && p.syncing && p.synced == synced;
        promise();
    }
    CHECK(during > 100);
    diskSlow(0);
    CHECK(waitSynced(aofThreadQueue(thread)->appended));
    CHECK(stop());
}

/* Jobs that depend on synced bytes wait for a running sync, and so does the end of the thread. */
TEST(thread_jobs_wait_for_a_sync_that_lasts) {
    start(FSYNC_EVERYSEC, 1);
    diskSlow(20000);
    for (int i = 0; i < 8; i++) {
        append(100);
        aofThreadPublish(thread);
        for (unitLimit limit = unitLimitStart(20000); !aofThreadProgress(thread).syncing;)
            if (unitLimitOver(&limit)) break;
        append(100);
        uint64_t all = aofThreadQueue(thread)->appended;
        CHECK(doJob(aofJobCreate(i % 2 ? AOF_JOB_CUT : AOF_JOB_SYNC)));
        CHECK(aofThreadProgress(thread).synced >= all);
        promise();
    }
    append(100);
    aofThreadPublish(thread);
    CHECK(stop());
}

TEST(thread_no_syncs_only_when_told) {
    start(FSYNC_NO, 20);
    append(50);
    aofThreadPublish(thread);
    for (unitLimit limit = unitLimitStart(20000); aofThreadProgress(thread).written == begin_offset;)
        if (unitLimitOver(&limit)) break;
    usleep(100000);
    CHECK_EQ_INT(diskCalls(CALL_SYNC), 0);
    CHECK(doJob(aofJobCreate(AOF_JOB_SYNC)));
    CHECK_EQ_INT(aofThreadProgress(thread).synced, aofThreadQueue(thread)->appended);
    CHECK(stop());
}

TEST(thread_holds_syncs_back_from_an_offset_on) {
    start(FSYNC_ALWAYS, 0);
    append(50);
    aofThreadPublish(thread);
    CHECK(waitSynced(begin_offset + 50));
    aofThreadSetNoSyncFrom(thread, begin_offset + 50);
    append(50);
    aofThreadPublish(thread);
    usleep(50000);
    CHECK_EQ_INT(aofThreadProgress(thread).written, begin_offset + 100);
    CHECK_EQ_INT(aofThreadProgress(thread).synced, begin_offset + 50);
    aofThreadSetNoSyncFrom(thread, UINT64_MAX);
    CHECK(waitSynced(begin_offset + 100));
    CHECK(stop());
}

/* A polling and a sleeping thread both notice the policy for which replies wait. */
TEST(thread_takes_another_policy) {
    start(FSYNC_NO, 0);
    for (int i = 0; i < 6; i++) {
        append(50);
        aofThreadPublish(thread);
        if (i % 2) usleep(50000);
        aofThreadSetPolicy(thread, FSYNC_ALWAYS);
        CHECK(waitSynced(aofThreadQueue(thread)->appended));
        aofThreadSetPolicy(thread, FSYNC_NO);
    }
    CHECK(stop());
}

static bool was_reached;
static void reached(holdEntry *w) {
    (void)w;
    was_reached = true;
}

TEST(thread_tells_of_writes_who_asks_for_them) {
    holdEntry w = {.reached = NULL};
    start(FSYNC_NO, 0);
    aofThreadReportWrites(thread, true);
    was_reached = false;
    append(50);
    holdWait(&w, written_seq, begin_offset + 50, reached);
    aofThreadPublish(thread);
    for (unitLimit limit = unitLimitStart(20000); !was_reached && !unitLimitOver(&limit); usleep(100))
        holdTakePublished();
    CHECK(was_reached);
    CHECK(stop());
}

/* --- errors ---------------------------------------------------------------------------------------------- */

static bool waitError(bool write, bool there) {
    for (unitLimit limit = unitLimitStart(20000); !unitLimitOver(&limit); usleep(100)) {
        aofProgress p = aofThreadProgress(thread);
        if ((write ? p.write_error : p.sync_error) ? there : !there) return true;
    }
    return false;
}

TEST(thread_tries_a_failed_write_again) {
    start(FSYNC_EVERYSEC, 20);
    diskFail(CALL_WRITE, 1000, ENOSPC);
    append(200000);
    aofThreadPublish(thread);
    CHECK(waitError(true, true));
    CHECK_EQ_INT(aofThreadProgress(thread).write_error, ENOSPC);
    append(1000);
    aofThreadPublish(thread);
    usleep(100000);
    CHECK_EQ_INT(aofThreadProgress(thread).written, begin_offset);
    long tried = diskCalls(CALL_WRITE);
    CHECK(tried >= 2 && tried <= 10);
    diskFail(CALL_WRITE, 0, 0);
    CHECK(waitError(true, false));
    CHECK(waitSynced(aofThreadQueue(thread)->appended));
    CHECK(stop());
}

/* Bytes that cannot be truncated again count as written. */
TEST(thread_goes_on_behind_a_short_write) {
    start(FSYNC_EVERYSEC, 5);
    diskFail(CALL_TRUNCATE, 1000, EIO);
    diskFail(CALL_WRITE, 700, ENOSPC);
    for (int i = 0; i < 20; i++) {
        append(5000);
        aofThreadPublish(thread);
        usleep(3000);
    }
    diskFail(CALL_WRITE, 0, 0);
    CHECK(waitSynced(aofThreadQueue(thread)->appended));
    CHECK(stop());
}

TEST(thread_never_calls_safe_what_a_failed_sync_covered) {
    start(FSYNC_EVERYSEC, 20);
    diskFail(CALL_SYNC, 1000, EIO);
    append(100);
    aofThreadPublish(thread);
    CHECK(waitError(false, true));
    diskFail(CALL_SYNC, 0, 0);
    CHECK(waitError(false, false));
    append(100);
    aofThreadPublish(thread);
    usleep(100000);
    aofProgress p = aofThreadProgress(thread);
    CHECK(p.sync_broken);
    CHECK_EQ_INT(p.synced, begin_offset);
    CHECK(!stop());
}

static void failAlways(void *arg) {
    diskCall kind = *(diskCall *)arg;
    logSetLevel(LL_WARNING);
    diskFail(kind, 1000, kind == CALL_SYNC ? EIO : ENOSPC);
    append(10);
    aofThreadPublish(thread);
    sleep(5);
}

static void startAndFail(void *arg) {
    start(FSYNC_ALWAYS, 0);
    failAlways(arg);
}

TEST(thread_always_ends_the_process_with_an_error) {
    char output[2048];
    diskCall kind = CALL_WRITE;
    once();
    int status = unitInChild(startAndFail, &kind, output, sizeof(output));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    CHECK(strstr(output, "Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting..."));
    kind = CALL_SYNC;
    status = unitInChild(startAndFail, &kind, output, sizeof(output));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    const char *reason = strstr(output, "Can't persist AOF for fsync error when the AOF fsync policy is 'always': ");
    CHECK(reason && strstr(reason, strerror(EIO)) && strstr(reason, ". Exiting..."));
}

TEST(thread_end_gives_up_on_a_full_disk) {
    start(FSYNC_EVERYSEC, 0);
    diskFail(CALL_WRITE, 1000, ENOSPC);
    append(100);
    aofThreadPublish(thread);
    CHECK(waitError(true, true));
    CHECK(!stop());
    CHECK_EQ_INT(job_error, ENOSPC);
}

TEST(thread_tells_at_once_whether_all_is_written) {
    start(FSYNC_EVERYSEC, 0);
    append(100);
    CHECK(doJob(aofJobCreate(AOF_JOB_WRITE)));
    diskFail(CALL_WRITE, 1000, ENOSPC);
    append(100);
    CHECK(!doJob(aofJobCreate(AOF_JOB_WRITE)));
    CHECK_EQ_INT(job_error, ENOSPC);
    CHECK(!doJob(aofJobCreate(AOF_JOB_WRITE)));
    diskFail(CALL_WRITE, 0, 0);
    CHECK(doJob(aofJobCreate(AOF_JOB_WRITE)));
    CHECK(stop());
}

static bool isThere(const char *name) {
    sds path = aofPath(FOLDER, name), text = diskContent(DISK_ALL, path);
    bool there = text != NULL;
    sdsFree(text);
    sdsFree(path);
    return there;
}

/* --- files ----------------------------------------------------------------------------------------------- */

/* Makes a base of everything that was appended before the cut. */
static aofJob *baseUpTo(uint64_t offset) {
    sds all = sdsNewLen(sequence, offset - begin_offset);
    aofJob *job = aofJobCreate(AOF_JOB_SWITCH_BASE);
    static int number;
    job->path = sdsCatPrintf(sdsEmpty(), FOLDER "/temp-%d", number++);
    job->ending = number % 2 ? "rdb" : "aof";
    diskPut(job->path, sdsSlice(all));
    sdsFree(all);
    return job;
}

TEST(thread_goes_through_a_rewrite) {
    start(FSYNC_EVERYSEC, 50);
    append(1000);
    CHECK(doJob(aofJobCreate(AOF_JOB_CUT)));
    uint64_t cut = aofThreadQueue(thread)->appended;
    append(500);
    aofThreadPublish(thread);
    CHECK(doJob(baseUpTo(cut)));
    append(10);
    CHECK(doJob(aofJobCreate(AOF_JOB_DELETE)));
    CHECK(diskContent(DISK_ALL, FOLDER "/a.1.incr.aof") == NULL);
    CHECK_EQ_INT(diskFreedByAof(), 0); /* freeing can take a second, and replies would wait for the next write */
    sds incr = diskContent(DISK_ALL, FOLDER "/a.2.incr.aof");
    CHECK_EQ_INT(incr ? sdsLen(incr) : 0, 510);
    sdsFree(incr);
    CHECK(stop());
}

/* A base is offered before main knows that its cut has failed: the increment still has the bytes of that base. */
TEST(thread_takes_no_base_without_its_cut) {
    start(FSYNC_EVERYSEC, 50);
    append(1000);
    long opened = diskCalls(CALL_OPEN);
    diskFail(CALL_OPEN, 1000, EMFILE);
    aofThreadSubmit(thread, aofJobCreate(AOF_JOB_CUT));
    uint64_t cut = aofThreadQueue(thread)->appended;
    for (unitLimit limit = unitLimitStart(20000); diskCalls(CALL_OPEN) == opened && !unitLimitOver(&limit);)
        usleep(100);
    diskFail(CALL_OPEN, 0, 0);
    append(500);
    CHECK(!doJob(baseUpTo(cut)));
    append(500);
    CHECK(doJob(aofJobCreate(AOF_JOB_CUT)));
    cut = aofThreadQueue(thread)->appended;
    append(100);
    CHECK(doJob(baseUpTo(cut)));
    CHECK(stop());
}

/* After a failed sync, a new base makes the bytes in doubt safe again. */
TEST(thread_is_safe_again_behind_a_new_base) {
    start(FSYNC_EVERYSEC, 20);
    append(100);
    diskFail(CALL_SYNC, 1000, EIO);
    aofThreadPublish(thread);
    CHECK(waitError(false, true));
    CHECK(!doJob(aofJobCreate(AOF_JOB_CUT)));
    diskFail(CALL_SYNC, 0, 0);
    CHECK(waitError(false, false));
    CHECK(doJob(aofJobCreate(AOF_JOB_CUT)));
    append(100);
    CHECK(doJob(aofJobCreate(AOF_JOB_CUT))); /* a cut makes nothing safe, neither the first nor the second */
    uint64_t cut = aofThreadQueue(thread)->appended;
    append(100);
    aofThreadPublish(thread);
    CHECK_EQ_INT(aofThreadProgress(thread).synced, begin_offset);
    CHECK(doJob(baseUpTo(cut)));
    CHECK(waitSynced(aofThreadQueue(thread)->appended));
    CHECK(stop());
}

/* --- backups --------------------------------------------------------------------------------------------- */

/* Lists the files, and checks that what is to be copied of them is all that was appended; with `seal` a second SEAL
 * without new bytes lists the same. Returns whether it could. */
static bool listFiles(bool seal) {
    uint64_t all = aofThreadQueue(thread)->appended;
    aofJob *job = aofJobCreate(seal ? AOF_JOB_SEAL : AOF_JOB_LIST);
    aofThreadSubmit(thread, job);
    aofJob *done = waitForJob(job->type);
    bool ok = done && done->ok;
    job_error = done ? done->error : -1;
    CHECK(!done || ok == (done->listing != NULL));
    sds copy = sdsEmpty();
    off_t bytes = 0;
    aofManifestFault fault;
    aofManifest *m = ok ? aofManifestParse(sdsSlice(done->listing->manifest), &fault) : NULL;
    CHECK(!ok || (m && m->count == done->listing->count));
    for (size_t i = 0; ok && i < done->listing->count; i++) {
        const aofListed *file = &done->listing->files[i];
        sds path = aofPath(FOLDER, file->name), part = diskContent(DISK_ALL, path);
        CHECK(m && !strcmp(m->files[i].name, file->name));
        if (CHECK(part && sdsLen(part) >= (size_t)file->size)) copy = sdsCatLen(copy, part, (size_t)file->size);
        if (seal) CHECK_EQ_INT(part ? sdsLen(part) : 0, file->size); /* nothing is appended to any of them */
        bytes += file->size;
        sdsFree(part);
        sdsFree(path);
    }
    if (ok) {
        CHECK_EQ_INT(done->listing->bytes, bytes);
        CHECK_EQ_INT(sdsLen(copy), all - begin_offset);
        CHECK(memcmp(copy, sequence, sdsLen(copy)) == 0);
        if (seal) CHECK(aofThreadProgress(thread).synced >= all);
    }
    aofManifestFree(m);
    sdsFree(copy);
    if (done) aofJobFree(done);
    return ok;
}

TEST(thread_seals_an_increment) {
    start(FSYNC_NO, 0);
    append(1000);
    CHECK(listFiles(false));
    CHECK(listFiles(true));
    CHECK(isThere("a.2.incr.aof"));
    CHECK(listFiles(true));
    CHECK(!isThere("a.3.incr.aof")); /* there was nothing to seal */
    append(10);
    CHECK(listFiles(false));
    CHECK(listFiles(true));
    CHECK(stop());
}

/* A base that is being made begins at the cut: increments that were sealed since then are kept with it. */
TEST(thread_keeps_what_was_sealed_during_a_rewrite) {
    start(FSYNC_EVERYSEC, 50);
    append(1000);
    CHECK(doJob(aofJobCreate(AOF_JOB_CUT)));
    uint64_t cut = aofThreadQueue(thread)->appended;
    append(300);
    CHECK(listFiles(true));
    append(20);
    CHECK(listFiles(true));
    append(1);
    aofJob *base = baseUpTo(cut);
    aofThreadSubmit(thread, base);
    aofJob *done = waitForJob(AOF_JOB_SWITCH_BASE);
    CHECK(done && done->ok);
    CHECK_EQ_INT(done ? done->incr_size : 0, 320);
    if (done) aofJobFree(done);
    CHECK(doJob(aofJobCreate(AOF_JOB_DELETE)));
    CHECK(!isThere("a.1.incr.aof") && isThere("a.2.incr.aof") && isThere("a.3.incr.aof"));
    CHECK(doJob(aofJobCreate(AOF_JOB_CUT))); /* from here on sealed increments do not count */
    cut = aofThreadQueue(thread)->appended;
    CHECK(doJob(baseUpTo(cut)));
    CHECK(doJob(aofJobCreate(AOF_JOB_DELETE)));
    CHECK(!isThere("a.2.incr.aof") && !isThere("a.3.incr.aof"));
    CHECK(stop());
}

/* Bytes that the disk does not accept, or may have lost, are not sealed; and the log goes on as before. */
TEST(thread_does_not_seal_what_is_not_safe) {
    start(FSYNC_EVERYSEC, 20);
    append(100);
    diskFail(CALL_WRITE, 1000, ENOSPC);
    CHECK(!listFiles(true));
    CHECK_EQ_INT(job_error, ENOSPC);
    CHECK(!listFiles(false));
    diskFail(CALL_WRITE, 0, 0);
    CHECK(listFiles(true));
    append(100);
    diskFail(CALL_OPEN, 1000, EMFILE);
    CHECK(!listFiles(true));
    CHECK_EQ_INT(job_error, EMFILE);
    diskFail(CALL_OPEN, 0, 0);
    CHECK(doJob(aofJobCreate(AOF_JOB_SYNC)));
    uint64_t cut = aofThreadQueue(thread)->appended;
    CHECK(doJob(aofJobCreate(AOF_JOB_CUT)));
    append(10);
    diskFail(CALL_OPEN, 1000, EMFILE);
    CHECK(!listFiles(true));
    diskFail(CALL_OPEN, 0, 0);
    CHECK(doJob(baseUpTo(cut))); /* a seal that fails is not a cut that fails */
    append(100);
    diskFail(CALL_SYNC, 1000, EIO);
    CHECK(!listFiles(true));
    diskFail(CALL_SYNC, 0, 0);
    CHECK(waitError(false, false));
    CHECK(!listFiles(true));
    CHECK_EQ_INT(job_error, EIO);
    CHECK(!listFiles(false));
    stop();
}

/* --- turned on ------------------------------------------------------------------------------------------- */

/* Turns the log on: from here on a restart finds this log and no other. */
static bool switchOn(aofJob *base) {
    if (!doJob(base)) return false;
    promise();
    turning_on = false;
    checkViews();
    return true;
}

static void turnOn(bool with_older) {
    startFirst(FSYNC_ALWAYS, 0, with_older);
    CHECK(doJob(aofJobCreate(AOF_JOB_FIRST)));
    append(1000);
    aofThreadPublish(thread);
    CHECK(waitSynced(begin_offset + 1000));
    promise();
    append(500);
    CHECK(switchOn(baseUpTo(begin_offset)));
    CHECK_EQ_INT(aofThreadProgress(thread).synced, begin_offset + 1500);
    CHECK(isThere(with_older ? "a.4.incr.aof" : "a.1.incr.aof"));
    CHECK(!isThere("temp-a.incr"));
    CHECK(doJob(aofJobCreate(AOF_JOB_DELETE)));
    CHECK(!isThere("a.7.base.rdb") && !isThere("a.3.incr.aof"));
    append(100);
    aofThreadPublish(thread);
    CHECK(waitSynced(begin_offset + 1600));
    promise();
    CHECK(doJob(aofJobCreate(AOF_JOB_CUT)));
    append(100);
    CHECK(stop());
}

TEST(thread_turns_a_log_on) { turnOn(false); }

TEST(thread_turns_a_log_on_behind_an_older_one) { turnOn(true); }

/* Numbers of files that no manifest names are skipped. */
TEST(thread_writes_over_no_file_when_it_turns_on) {
    startFirst(FSYNC_EVERYSEC, 0, true);
    diskPut(FOLDER "/a.8.base.aof", sliceStr("somebody's"));
    diskPut(FOLDER "/a.4.incr.aof", sliceStr("somebody's"));
    CHECK(doJob(aofJobCreate(AOF_JOB_FIRST)));
    append(10);
    CHECK(switchOn(baseUpTo(begin_offset)));
    CHECK(isThere("a.5.incr.aof") && isThere("a.4.incr.aof") && isThere("a.8.base.aof"));
    CHECK(stop());
}

TEST(thread_gives_up_a_first_increment) {
    startFirst(FSYNC_ALWAYS, 0, true);
    CHECK(doJob(aofJobCreate(AOF_JOB_FIRST)));
    append(100000);
    CHECK(stop());
    startFirst(FSYNC_ALWAYS, 0, false);
    diskFail(CALL_OPEN, 1000, EACCES);
    CHECK(!doJob(aofJobCreate(AOF_JOB_FIRST)));
    append(1000);
    aofThreadPublish(thread);
    CHECK(!doJob(aofJobCreate(AOF_JOB_SYNC)));
    CHECK(stop());
}

/* After a failure of any call, the earlier files are there and no other; with `always` the process continues. */
TEST(thread_leaves_nothing_of_a_log_that_could_not_be_turned_on) {
    static const diskCall kinds[] = {CALL_OPEN, CALL_WRITE, CALL_SYNC, CALL_RENAME};
    for (size_t i = 0; i < 2 * array_len(kinds); i++) {
        startFirst(FSYNC_ALWAYS, 0, i % 2);
        CHECK(doJob(aofJobCreate(AOF_JOB_FIRST)));
        append(100);
        aofJob *base = baseUpTo(begin_offset);
        sds path = sdsDup(base->path);
        diskFail(kinds[i / 2], 1000, EIO);
        CHECK(!doJob(base));
        CHECK(!doJob(baseUpTo(begin_offset)));
        diskFail(kinds[i / 2], 0, 0);
        CHECK(diskContent(DISK_ALL, path) == NULL);
        CHECK(!isThere("a.1.base.rdb") && !isThere("a.1.base.aof") && !isThere("a.8.base.rdb") &&
              !isThere("a.8.base.aof") && !isThere("a.1.incr.aof") && !isThere("a.4.incr.aof"));
        sdsFree(path);
        CHECK(stop());
    }
}

TEST(thread_removes_a_first_increment_that_is_not_to_be) {
    startFirst(FSYNC_NO, 0, false);
    CHECK(doJob(aofJobCreate(AOF_JOB_FIRST)));
    append(10);
    aofThreadPublish(thread);
    CHECK(isThere("temp-a.incr"));
    CHECK(doJob(aofJobCreate(AOF_JOB_END)));
    CHECK(!isThere("temp-a.incr"));
    aofThreadWaitForEnd(thread);
    begin_offset = aofThreadQueue(thread)->appended;
    aofThreadFree(thread);
    thread = NULL;
    bioDrain(BIO_CLOSE_FILE); /* removed files */
    CHECK_EQ_INT(diskOpenFiles(), 0);
    diskEnd();
    turning_on = false;
}

/* --- the model ------------------------------------------------------------------------------------------- */

static void randomFaults(uint64_t *seed) {
    static const int errors[CALL_KINDS] = {EIO, ENOSPC, EIO, EIO, EIO, EIO};
    for (int kind = 0; kind < CALL_KINDS; kind++)
        diskFail((diskCall)kind, unitRandom(seed) % 3 ? 0 : (int)(unitRandom(seed) % 300), errors[kind]);
    if (unitRandom(seed) % 4) diskFail(CALL_SYNC, 0, 0);
}

/* Random bytes, jobs and faults. If a rewrite is running, its cut is `cut`. */
static void randomRun(fsyncPolicy policy, bool faults, uint64_t *seed) {
    uint64_t cut = 0;
    start(policy, 3);
    diskSlow(unitRandom(seed) % 2 ? 0 : (int)(unitRandom(seed) % 5000));
    for (int i = 0; i < 300; i++) {
        append(unitRandom(seed) % 30 ? unitRandom(seed) % 200 : unitRandom(seed) % 20000);
        if (unitRandom(seed) % 3) aofThreadPublish(thread);
        if (faults && i % 40 == 0) randomFaults(seed);
        if (unitRandom(seed) % 20 == 0) doJob(aofJobCreate(AOF_JOB_SYNC));
        if (unitRandom(seed) % 20 == 0) doJob(aofJobCreate(unitRandom(seed) % 4 ? AOF_JOB_SEAL : AOF_JOB_LIST));
        if (!cut && unitRandom(seed) % 20 == 0) {
            cut = aofThreadQueue(thread)->appended;
            if (!doJob(aofJobCreate(AOF_JOB_CUT))) cut = 0;
        } else if (cut && unitRandom(seed) % 10 == 0) {
            if (doJob(baseUpTo(cut)) && unitRandom(seed) % 2) doJob(aofJobCreate(AOF_JOB_DELETE));
            cut = 0;
        }
        promise();
        if (unitRandom(seed) % 10 == 0) usleep((useconds_t)(unitRandom(seed) % 3000));
    }
    for (int kind = 0; kind < CALL_KINDS; kind++) diskFail((diskCall)kind, 0, 0);
    CHECK(stop() || faults);
}

TEST(thread_random_runs) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 3; round++) {
        randomRun(FSYNC_ALWAYS, false, &seed);
        randomRun(FSYNC_EVERYSEC, false, &seed);
    }
}

/* Turns the log on or gives up; then, without faults, appends more. */
static void randomFirst(fsyncPolicy policy, uint64_t *seed) {
    startFirst(policy, 3, unitRandom(seed) % 2);
    bool works = doJob(aofJobCreate(AOF_JOB_FIRST));
    int faults_from = (int)(unitRandom(seed) % 40), steps = (int)(unitRandom(seed) % 40);
    for (int i = 0; i < steps; i++) {
        append(unitRandom(seed) % 10 ? unitRandom(seed) % 200 : unitRandom(seed) % 100000);
        if (unitRandom(seed) % 3) aofThreadPublish(thread);
        if (i == faults_from) randomFaults(seed);
        promise();
        if (unitRandom(seed) % 5 == 0) usleep((useconds_t)(unitRandom(seed) % 3000));
    }
    if (unitRandom(seed) % 2) randomFaults(seed);
    aofJob *base = baseUpTo(begin_offset);
    works = works && switchOn(base);
    if (!works && turning_on) aofThreadPublish(thread);
    for (int kind = 0; kind < CALL_KINDS; kind++) diskFail((diskCall)kind, 0, 0);
    append(1000);
    if (works) CHECK(doJob(aofJobCreate(AOF_JOB_SYNC)) || aofThreadProgress(thread).sync_broken);
    stop();
}

TEST(thread_random_turns) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 150; round++) randomFirst(round % 2 ? FSYNC_EVERYSEC : FSYNC_NO, &seed);
}

TEST(thread_random_runs_with_faults) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 6; round++) randomRun(round % 3 ? FSYNC_EVERYSEC : FSYNC_NO, true, &seed);
    CHECK(views_checked > 1000);
}

/* Returns the maximum of this event in LATENCY, in milliseconds. */
static long long worst(const char *event) {
    aofLatencyReport();
    const latencySeries *series = latencySeriesFind(sliceStr(event));
    return series ? series->worst_ms : -1;
}

TEST(a_disk_that_takes_its_time_is_an_event_of_latency) {
    once();
    (void)worst("aof-write"); /* ignores events of earlier tests */
    engine_settings.latency_monitor_threshold_ms = 2;
    start(FSYNC_EVERYSEC, 1);
    diskSlow(20000);
    append(100);
    CHECK(doJob(aofJobCreate(AOF_JOB_SYNC)));
    CHECK_EQ_INT(worst("aof-fsync-always"), -1);
    aofThreadSetPolicy(thread, FSYNC_ALWAYS);
    append(100);
    CHECK(doJob(aofJobCreate(AOF_JOB_SYNC)));
    CHECK(worst("aof-fsync-always") >= 20);
    diskSlow(0);
    CHECK(stop());
    engine_settings.latency_monitor_threshold_ms = 10000;
    aofLatencyNote(AOF_LATENCY_WRITE, clockMonotonicUs() - 9000000);
    CHECK(worst("aof-write") < 9000);
    engine_settings.latency_monitor_threshold_ms = 9000;
    aofLatencyNote(AOF_LATENCY_WRITE, clockMonotonicUs() - 9000000);
    CHECK(worst("aof-write") >= 9000);
    engine_settings.latency_monitor_threshold_ms = 0;
}

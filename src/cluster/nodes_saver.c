/* nodes_saver.c -- writes nodes.conf on a thread of its own, so that nothing else waits for the disk.
 *
 * A sync may take seconds while a snapshot is being written. If the bus waited for it, other nodes would take this one
 * for failed. So only what depends on the file waits: votes and promotions, which the machine keeps until their version
 * is on disk.
 *
 * At most one version waits. Callers may pass versions in another order than they made them, because main and the bus
 * thread both do; the file never goes back to an older one.
 *
 * Not here    the steps of a replacement (durable_file.c), the text (nodes_file.c in cluster_core).
 * Owns        the text that waits, the results.
 * Threads     `nodes_saver` writes; any other thread saves and takes results. The struct says what the lock protects;
 *             it is never held during a system call that touches the disk.
 * Invariants  1. Versions on disk do not decrease.
 *             2. saved <= finished <= passed, in tickets: each call that passes a text takes the next one.
 * Tests       tests/unit/cluster/nodes_saver_test.c, also under ThreadSanitizer
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "nodes_saver.h"

#include "clock.h"
#include "durable_file.h"
#include "forked.h"
#include "latency.h"
#include "log.h"
#include "panic.h"
#include "thread.h"
#include "zmalloc.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_AGAIN_MS 30000

typedef struct savedEntry {
    nodesSaved saved;
    struct savedEntry *next; /* owns */
} savedEntry;

static struct {
    /* const while the thread runs */
    bool running;
    pthread_t thread;
    sds path;               /* owns: absolute */
    const aeWakeup *wakeup; /* borrowed until the stop; or NULL */
    /* under the lock */
    pthread_mutex_t lock; /* no other lock is taken while it is held */
    pthread_cond_t work;  /* a text waits, or `stopping` */
    pthread_cond_t done;  /* `finished` has grown */
    bool stopping;
    sds text;                         /* owns: waits to be written; NULL: none */
    uint64_t version;                 /* the greatest that was passed */
    uint64_t passed, finished, saved; /* tickets: the last text that was passed, was tried, is on disk */
    int error;                        /* errno of the last one tried */
    savedEntry *oldest, *newest;      /* owns: the results */
    /* of the thread */
    int64_t stamp_ms;      /* in the name of the last temporary file */
    bool failure_logged;   /* and no success since */
    uint64_t log_again_ms; /* from then on a failure is logged */
} saver = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

/* ---- The file -------------------------------------------------------------------------------------- */

/* Logs a failure if none was logged in the last LOG_AGAIN_MS, and the first success after a failure that was logged. */
static void reportEnd(int error, const char *step) {
    uint64_t now_ms = clockMonotonicMs();
    if (!error && saver.failure_logged)
        serverLog(LL_NOTICE, "The cluster configuration file %s is written again", saver.path);
    if (!error) saver.failure_logged = false;
    if (!error || now_ms < saver.log_again_ms) return;
    serverLog(LL_WARNING, "Can't write the cluster configuration file %s (%s): %s", saver.path, step, strerror(error));
    saver.failure_logged = true;
    saver.log_again_ms = now_ms + LOG_AGAIN_MS;
}

/* LATENCY has these events in Valkey as well; there they are stalls of the main thread. */
static latencyPeak peaks[DURABLE_STEPS] = {[DURABLE_OPEN] = {.event = "cluster-config-open"},
                                           [DURABLE_WRITE] = {.event = "cluster-config-write"},
                                           [DURABLE_SYNC] = {.event = "cluster-config-fsync"},
                                           [DURABLE_CLOSE] = {.event = "cluster-config-close"},
                                           [DURABLE_RENAME] = {.event = "cluster-config-rename"},
                                           [DURABLE_SYNC_FOLDER] = {.event = "cluster-config-dir-fsync"},
                                           [DURABLE_UNLINK] = {.event = "cluster-config-unlink"}};

void nodesSaverReportLatency(void) {
    for (int i = 0; i < DURABLE_STEPS; i++) latencyPeakReport(&peaks[i]);
}

/* Replaces the file. Returns 0 or errno. */
static int writeNodes(slice text) {
    durableFile f;
    int64_t now_ms = clockWallMs();
    saver.stamp_ms = now_ms > saver.stamp_ms ? now_ms : saver.stamp_ms + 1;
    sds temporary = sdsCatPrintf(sdsDup(saver.path), ".tmp-%d-%lld", (int)getpid(), (long long)saver.stamp_ms);
    bool made = durableCreate(&f, temporary, 0644);
    bool done = made && durableWrite(&f, text) && durableReplace(&f, saver.path);
    int error = done ? 0 : errno;
    if (made) durableAbandon(&f);
    for (int i = 0; i < DURABLE_STEPS; i++) latencyPeakNote(&peaks[i], f.us[i]);
    sdsFree(temporary);
    reportEnd(error, f.step);
    return error;
}

/* Returns whether a name is that of a temporary file of `base`: BASE.tmp-DIGITS-DIGITS. */
static bool isTemporaryOf(const char *name, const char *base) {
    size_t len = strlen(base);
    if (strncmp(name, base, len) || strncmp(name + len, ".tmp-", 5)) return false;
    const char *pid = name + len + 5;
    size_t digits = strspn(pid, "0123456789");
    if (!digits || pid[digits] != '-') return false;
    const char *ms = pid + digits + 1;
    return *ms && ms[strspn(ms, "0123456789")] == '\0';
}

/* Removes temporary files of processes that were killed. None is in use, as this process has the lock of the file. */
static void removeTemporaries(void) {
    const char *base = strrchr(saver.path, '/') + 1;
    sds folder = sdsNewLen(saver.path, (size_t)(base - saver.path));
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        struct stat st;
        if (!isTemporaryOf(e->d_name, base)) continue;
        sds path = sdsCat(sdsDup(folder), e->d_name);
        if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && unlink(path) == 0)
            serverLog(LL_NOTICE, "Removed the temporary file %s of a process that has ended", path);
        sdsFree(path);
    }
    if (dir) closedir(dir);
    sdsFree(folder);
}

/* ---- The thread ------------------------------------------------------------------------------------ */

static void addResult(uint64_t version, int error) {
    savedEntry *entry = zmalloc(sizeof(*entry));
    *entry = (savedEntry){.saved = {version, error}};
    if (saver.newest) saver.newest->next = entry;
    else saver.oldest = entry;
    saver.newest = entry;
}

/* Writes the text that waits. The lock is held at the call and at the return. */
static void writeWaiting(void) {
    sds text = saver.text;
    uint64_t version = saver.version, ticket = saver.passed;
    saver.text = NULL;
    pthread_mutex_unlock(&saver.lock);
    int error = writeNodes(sdsSlice(text));
    sdsFree(text);
    pthread_mutex_lock(&saver.lock);
    saver.error = error;
    saver.finished = ticket;
    if (!error) saver.saved = ticket;
    debugAssert(saver.saved <= saver.finished && saver.finished <= saver.passed);
    addResult(version, error);
    pthread_cond_broadcast(&saver.done);
    if (saver.wakeup) aeWakeupSend(saver.wakeup);
}

static void saverRun(void *arg) {
    unused(arg);
    pthread_mutex_lock(&saver.lock);
    while (saver.text || !saver.stopping)
        if (saver.text) writeWaiting();
        else pthread_cond_wait(&saver.work, &saver.lock);
    pthread_mutex_unlock(&saver.lock);
}

/* ---- Other threads --------------------------------------------------------------------------------- */

static bool setPath(const char *name) {
    char here[PATH_MAX];
    if (*name == '/') saver.path = sdsNew(name);
    else if (getcwd(here, sizeof(here))) saver.path = sdsCatPrintf(sdsEmpty(), "%s/%s", here, name);
    return saver.path != NULL;
}

bool nodesSaverStart(const char *name, const aeWakeup *wakeup) {
    serverAssert(!saver.running);
    if (!setPath(name)) return false;
    removeTemporaries();
    saver.wakeup = wakeup;
    saver.stopping = saver.failure_logged = false;
    saver.log_again_ms = 0;
    errno = threadStart(&saver.thread, &(threadPlan){.name = "nodes_saver"}, saverRun, NULL);
    saver.running = errno == 0;
    if (saver.running) return true;
    sdsFree(saver.path);
    saver.path = NULL;
    return false;
}

/* Returns the ticket of the text, or of the newer version that takes its place. The lock is held. */
static uint64_t passText(uint64_t version, sds text) {
    if (version < saver.version) {
        sdsFree(text);
        return saver.passed;
    }
    sdsFree(saver.text);
    saver.text = text;
    saver.version = version;
    pthread_cond_signal(&saver.work);
    return ++saver.passed;
}

void nodesSaverSave(uint64_t version, sds text) {
    if (forkedIsCopy()) {
        sdsFree(text);
        return;
    }
    serverAssert(saver.running);
    pthread_mutex_lock(&saver.lock);
    passText(version, text);
    pthread_mutex_unlock(&saver.lock);
}

int nodesSaverSaveNow(uint64_t version, sds text) {
    if (forkedIsCopy()) { /* it has no such thread */
        sdsFree(text);
        return EPERM;
    }
    serverAssert(saver.running);
    pthread_mutex_lock(&saver.lock);
    uint64_t ticket = passText(version, text);
    while (saver.finished < ticket) pthread_cond_wait(&saver.done, &saver.lock);
    int error = saver.saved >= ticket ? 0 : saver.error;
    pthread_mutex_unlock(&saver.lock);
    return error;
}

bool nodesSaverNext(nodesSaved *result) {
    pthread_mutex_lock(&saver.lock);
    savedEntry *entry = saver.oldest;
    if (entry) saver.oldest = entry->next;
    if (!saver.oldest) saver.newest = NULL;
    pthread_mutex_unlock(&saver.lock);
    if (entry) *result = entry->saved;
    zfree(entry);
    return entry != NULL;
}

void nodesSaverStop(void) {
    nodesSaved ignored;
    serverAssert(saver.running);
    pthread_mutex_lock(&saver.lock);
    saver.stopping = true;
    pthread_cond_signal(&saver.work);
    pthread_mutex_unlock(&saver.lock);
    pthread_join(saver.thread, NULL);
    while (nodesSaverNext(&ignored)) continue;
    sdsFree(saver.path);
    saver.path = NULL;
    saver.running = false;
    saver.version = 0;
}

/* dataset_load.c -- replaces the dataset by the RDB that the primary sends.
 *
 * When the previous dataset is removed, the append-only file stops and save points are disabled. A successful load
 * enables both again, and so does a promotion of this server. A load that fails leaves the files as they were, because
 * they may be the last copy of the previous dataset.
 *
 * Not here    parsing the RDB (persist/rdb/rdb_load.h), the replication ID and offset after it (primary_link.c).
 * Owns        nothing after datasetLoad() has returned.
 * Threads     main's own; the loader's thread reads the source.
 * Invariants  1. The previous dataset is not removed before the magic and the version of the RDB have been checked.
 *             2. A failed load changes no file but its own temporary one.
 * Tests       tests/repl/sync.tcl, tests/repl/broken_sync.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dataset_load.h"

#include "child.h"
#include "db.h"
#include "aof.h"
#include "libraries.h"
#include "loading.h"
#include "log.h"
#include "panic.h"
#include "persist_settings.h"
#include "propagate.h"
#include "repl_settings.h"
#include "slot_states.h"
#include "snapshot.h"
#include "snapshot_reader.h"
#include "repl_stream.h"
#include "sync_file.h"
#include "yield.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    linkJob *job;           /* borrowed during a load; else NULL */
    void (*on_leave)(void); /* as in datasetLoad(); NULL once it was called */
    bool reads;             /* the loader's thread may be using the connection */
} load;

void datasetLoadKeepAlive(void) {
    if (!load.job || load.reads) return;
    debugAssert(linkJobIsOver(load.job)); /* so main may use its connection */
    struct iovec newline = {(char[]){'\n'}, 1};
    (void)connWritev(load.job->wire.conn, &newline, 1);
}

/* ---- Removing the previous dataset ---- */

static void leaveDataset(void) {
    debugAssert(load.on_leave);
    load.on_leave();
    load.on_leave = NULL; /* it is called once for each load */
    keepFilesBegin();
    propagateLoseWrites();
}

static void emptyAll(void) {
    leaveDataset();
    serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: Flushing old data");
    dbEmpty(-1, repl_settings.lazy_flush);
}

/* ---- Reading from the connection ---- */

static ssize_t readSource(void *arg, void *buf, size_t len) { return snapshotRead(arg, buf, len); }

static void stopSource(void *arg) {
    snapshotReader *r = arg;
    atomic_store_explicit(&r->job->dropped, true, memory_order_relaxed);
}

/* Reads the bytes between the end of the RDB and the end of the transfer, which the header defines. Logs a failure and
 * returns false. */
static bool readToTheEnd(snapshotReader *r) {
    char rest[SNAPSHOT_STASH_BYTES];
    ssize_t n;
    while ((n = snapshotRead(r, rest, sizeof(rest))) > 0) continue;
    if (n == 0) return true;
    serverLog(LL_WARNING, "Replication stream EOF marker is broken: %s", strerror(errno));
    return false;
}

static rdbLoadResult fromConnection(linkJob *job, const rdbLoadOptions *options) {
    snapshotReader reader;
    debugAssert(!load.reads && job->wire.conn);
    snapshotReaderBegin(&reader, job);
    const rdbSource source = {readSource, stopSource, &reader, job->frame.length};
    load.reads = true;
    rdbLoadResult r = rdbLoadSource(&source, "what the primary sends", options);
    load.reads = false;
    atomic_store_explicit(&job->dropped, false, memory_order_relaxed); /* stopSource() has set it to end the threads */
    if (r.end == RDB_LOAD_DONE && !readToTheEnd(&reader)) r.end = RDB_LOAD_BROKEN;
    return r;
}

static bool hasSize(const char *path, uint64_t bytes) {
    struct stat st;
    return stat(path, &st) == 0 && (uint64_t)st.st_size == bytes;
}

static void dropPath(linkJob *job) {
    debugAssert(job->path);
    zfree(job->path);
    job->path = NULL;
}

/* Keeps the file, which was loaded up to the offset `end`: it becomes the base of the append-only file, or replaces the
 * last snapshot. If both fail, the synchronization has succeeded nevertheless. A file with more bytes does not become a
 * base, because a restart would parse these bytes as commands. */
static void keepFile(linkJob *job, uint64_t end) {
    snapshotAbandon(); /* kills a child, which would replace the file by an older snapshot */
    if (keepFilesEnd(hasSize(job->path, end) ? job->path : NULL)) {
        dropPath(job);
        unlink(persist_settings.dbfilename); /* it has the previous dataset; a restart reads the log */
        return;
    }
    if (rename(job->path, persist_settings.dbfilename) < 0) {
        serverLog(LL_WARNING, "Failed trying to rename the temp DB into %s in PRIMARY <-> REPLICA synchronization: %s",
                  persist_settings.dbfilename, strerror(errno));
        return;
    }
    dropPath(job);
    syncFileRelease(persist_settings.dbfilename);
}

/* Replaces the dataset by the one that was loaded beside it. */
static void swapDataset(const rdbLoadResult *r) {
    leaveDataset();
    serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: Swapping active DB with loaded DB");
    dbShadowTake(repl_settings.lazy_flush);
    librariesClear();
    for (size_t i = 0; i < r->library_count; i++) {
        sds error = librariesAdd(sdsSlice(r->libraries[i]), false);
        if (error) serverLog(LL_WARNING, "Failed creating the functions library: %s", error);
        sdsFree(error);
    }
    serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: Discarding old DB in background");
}

/* Loads the RDB beside the present dataset, which stays until the load has succeeded, and is served meanwhile if it is
 * an older state of the same stream. */
static rdbLoadResult loadBeside(linkJob *job, rdbLoadOptions *options) {
    uint64_t bytes = job->frame.length;
    bool same_stream = !strncmp(job->got_id, replicationIds()->id, REPL_ID_BYTES);
    options->begin = NULL;
    options->beside = true;
    dbShadowBegin();
    loadingBegin(bytes, same_stream);
    rdbLoadResult r = fromConnection(job, options);
    loadingEnd();
    if (r.end == RDB_LOAD_DONE) swapDataset(&r);
    else dbShadowDrop(repl_settings.lazy_flush);
    return r;
}

static rdbLoadResult loadInPlace(linkJob *job, const rdbLoadOptions *options, bool from_file) {
    loadingBegin(job->frame.length, false);
    rdbLoadResult r = from_file ? rdbLoadFile(job->path, options) : fromConnection(job, options);
    loadingEnd();
    if (r.end != RDB_LOAD_BROKEN) return r;
    dbEmpty(-1, repl_settings.lazy_flush); /* an empty dataset is better than a part of one */
    librariesClear();
    serverLog(
        LL_WARNING,
        "Keeping the RDB and AOF files unchanged until a synchronization succeeds or this server becomes a primary.");
    return r;
}

bool datasetLoad(linkJob *job, bool from_file, void (*on_leave)(void), rdbReplInfo *info) {
    assertMainThread();
    assertOutsideYield();
    debugAssert(linkJobIsOver(job) && !load.job);
    rdbLoadOptions options = {.keep_expired = true,
                              .begin = emptyAll,
                              .unchecked = job->skip_checksum && !job->frame.has_length,
                              .hide_user_data = log_hide_user_data};
    bool beside = !from_file && repl_settings.diskless_load == DISKLESS_LOAD_SWAPDB;
    load.job = job;
    load.on_leave = on_leave;
    long long dirty = store_stats.dirty;
    rdbLoadResult r = beside ? loadBeside(job, &options) : loadInPlace(job, &options, from_file);
    bool ok = r.end == RDB_LOAD_DONE;
    debugAssert(!ok || !load.on_leave);
    *info = r.replication;
    uint64_t end = r.end_offset;
    if (ok) slotStatesLoaded(r.slot_states ? sdsSlice(r.slot_states) : sliceOf("", 0));
    rdbLoadResultFree(&r);
    store_stats.dirty = dirty;
    if (ok && from_file) keepFile(job, end);
    else if (ok) (void)keepFilesEnd(NULL);
    load.job = NULL;
    load.on_leave = NULL;
    return ok;
}

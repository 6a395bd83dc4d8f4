/* dataset.c -- loads the dataset from disk at startup.
 *
 * Not here    reading files (persist/rdb/rdb_load.c, persist/aof).
 * Threads     main's own.
 * Tests       tests/persist/loading.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "startup.h"

#include "admin_settings.h"
#include "aof.h"
#include "aof_files.h"
#include "aof_manifest.h"
#include "clock.h"
#include "loading.h"
#include "log.h"
#include "persist_settings.h"
#include "primary_link.h"
#include "rdb_load.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t fileBytes(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static bool loadSnapshot(void) {
    const char *path = persist_settings.dbfilename;
    /* If this server has been a primary or replica, or will be one, the other servers still have the expired keys. They
     * are loaded, too, so that their deletion is propagated. */
    const rdbLoadOptions options = {.keep_expired = primaryLinkIsOn() || rdbFileHasReplInfo(path),
                                    .hide_user_data = log_hide_user_data};
    monotime began = clockTicks();
    loadingBegin(fileBytes(path), false);
    rdbLoadResult r = rdbLoadFile(path, &options);
    loadingEnd();
    rdbLoadResultFree(&r);
    if (r.end == RDB_LOAD_DONE && r.replication.found)
        primaryLinkRemember(r.replication.id, (uint64_t)r.replication.offset, r.replication.stream_db,
                            r.replication.node);
    if (r.end == RDB_LOAD_NO_FILE) return true;
    if (r.end != RDB_LOAD_DONE) {
        serverLog(LL_WARNING, "Fatal error loading the DB, check server logs. Exiting.");
        return false;
    }
    serverLog(LL_NOTICE, "DB loaded from disk: %.3f seconds", (double)clockTicksToUs(clockTicks() - began) / 1e6);
    return true;
}

static bool fileExists(const char *path) { return access(path, F_OK) == 0; }

/* Returns whether there is an append-only file, or a single file of the old form that becomes one. */
static bool logExists(void) {
    sds name = aofManifestName(persist_settings.appendfilename), path = aofPath(persist_settings.appenddirname, name);
    bool there = fileExists(path) || fileExists(persist_settings.appendfilename);
    sdsFree(name);
    sdsFree(path);
    return there;
}

/* If a snapshot and an append-only file exist, one of them is loaded, as by Valkey. Logs that the other is not. */
static void logUnloadedFile(bool log) {
    const char *snapshot = persist_settings.dbfilename;
    if (persist_settings.appendonly && !log && fileExists(snapshot))
        serverLog(
            LL_WARNING,
            "%s was not loaded because appendonly is yes and there is no append-only file yet. To load it, start with "
            "appendonly no, and then run CONFIG SET appendonly yes. The next snapshot overwrites the file.",
            snapshot);
    if (!persist_settings.appendonly && log)
        serverLog(LL_NOTICE, "The append-only file in %s was not loaded because appendonly is no",
                  persist_settings.appenddirname);
}

bool datasetLoadAtStart(void) {
    staleFilesRemove(persist_settings.appenddirname, persist_settings.appendfilename);
    logUnloadedFile(logExists());
    if (persist_settings.appendonly) return aofStart(log_hide_user_data);
    return loadSnapshot();
}

/* debug_reload.c -- DEBUG RELOAD, DEBUG LOADAOF: loads the dataset again from disk.
 *
 * Not here    the files themselves (persist).
 * Threads     main's own.
 * Tests       tests/persist/reload.tcl, tests/persist/turn_on.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "debug_internal.h"

#include "admin_settings.h"
#include "aof.h"
#include "db.h"
#include "libraries.h"
#include "loading.h"
#include "log.h"
#include "persist_settings.h"
#include "script_context.h"
#include "rdb_load.h"
#include "reply.h"
#include "snapshot.h"

#include <sys/stat.h>

typedef struct reloadWords {
    bool merge, noflush, nosave;
} reloadWords;

static bool parseWords(client *c, reloadWords *out) {
    *out = (reloadWords){0};
    for (uint32_t i = 2; i < c->argc; i++) {
        if (sliceIs(c->argv[i], "merge")) out->merge = true;
        else if (sliceIs(c->argv[i], "noflush")) out->noflush = true;
        else if (sliceIs(c->argv[i], "nosave")) out->nosave = true;
        else return false;
    }
    return true;
}

static void emptyAll(void) {
    dbEmpty(-1, false);
    librariesClear();
}

/* Loads a snapshot. The present dataset is emptied only once the file has proved to be a snapshot. */
static rdbLoadEnd reload(const char *path, const reloadWords *words) {
    struct stat st;
    const rdbLoadOptions options = {.keep_expired = store_following.on,
                                    .merge = words->merge,
                                    .begin = words->noflush ? NULL : emptyAll,
                                    .hide_user_data = log_hide_user_data};
    loadingBegin(stat(path, &st) == 0 ? (uint64_t)st.st_size : 0, false);
    rdbLoadResult r = rdbLoadFile(path, &options);
    loadingEnd();
    rdbLoadResultFree(&r);
    if (r.end == RDB_LOAD_BROKEN && !words->noflush) emptyAll(); /* an empty dataset is better than half of one */
    return r.end;
}

/* Refuses to load during another load, whose dataset is incomplete, and from a script, part of whose effects would be
 * lost. Returns true after an error reply. */
static bool refusesToLoad(client *c) {
    if (scriptContextIsClient(c)) {
        addReplyErrorFormat(c, "DEBUG %.*s is not allowed from script", (int)c->argv[1].len, c->argv[1].ptr);
        return true;
    }
    if (!loadingIsActive()) return false;
    loadingRefuse(c);
    return true;
}

void debugReload(client *c) {
    reloadWords words;
    if (refusesToLoad(c)) return;
    const char *path = persist_settings.dbfilename;
    if (!parseWords(c, &words)) {
        addReplyError(c, "DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.");
        return;
    }
    long long dirty = store_stats.dirty;
    if (!words.nosave) {
        if (!snapshotWriteNow()) {
            addReplyError(c, "-ERR");
            return;
        }
        dirty = 0;
    }
    rdbLoadEnd end = reload(path, &words);
    store_stats.dirty = dirty; /* loading and emptying count as no change */
    if (end == RDB_LOAD_BROKEN && !words.noflush) keepFilesBegin();
    if (end != RDB_LOAD_DONE) {
        addReplyError(c, "Error trying to load the RDB dump, check server logs.");
        return;
    }
    (void)keepFilesEnd(NULL);
    serverLog(LL_WARNING, "DB reloaded by DEBUG RELOAD");
    addReplyOk(c);
}

void debugLoadAof(client *c) {
    if (refusesToLoad(c)) return;
    aofReloadEnd end = aofReload(log_hide_user_data);
    if (end == AOF_RELOAD_BROKEN) keepFilesBegin();
    if (end != AOF_RELOAD_DONE) {
        addReplyError(c, "Error trying to load the AOF files, check server logs.");
        return;
    }
    (void)keepFilesEnd(NULL);
    serverLog(LL_WARNING, "Append Only File loaded by DEBUG LOADAOF");
    addReplyOk(c);
}

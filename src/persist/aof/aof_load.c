/* aof_load.c -- loads the append-only files: reads their commands and executes them.
 *
 * A reader thread makes records (aof_reader.c). Main executes them, a prefetch batch at a time, for a client without a
 * connection. No permission, limit or gate is checked, because the server itself wrote the log. No key expires
 * meanwhile, because the log contains the removals.
 *
 * Not here    parsing (aof_parse.c); which files there are (aof_files.c).
 * Owns        the client, while it loads.
 * Threads     main.
 * Tests       tests/persist/aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_load.h"

#include "aof_reader.h"
#include "aof_system.h"
#include "call.h"
#include "client.h"
#include "clock.h"
#include "db.h"
#include "loading.h"
#include "log.h"
#include "dict.h"
#include "panic.h"
#include "persist_settings.h"
#include "rdb_load.h"
#include "record_prefetch.h"
#include "reply.h"
#include "reply_block.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    client *c; /* owns; NULL while nothing is loaded */
    const serverCommand *multi, *exec;
    bool in_multi, hide_user_data;
    uint64_t bytes_before; /* bytes of the files that were loaded before this one */
} load;

/* --- executing ------------------------------------------------------------------------------------------- */

/* Discards the replies. An error reply means that log and dataset do not match; it has been reported
 * (replyErrorOnUnexpected()), and the following commands are executed nevertheless. */
static void dropReplies(void) {
    replyBlock *chain = clientTakeReplies(load.c);
    load.c->output_bytes = load.c->output_memory = 0;
    load.c->output_blocks = 0;
    replyBlockReleaseChain(chain);
}

/* Returns whether the command is to be executed. MULTI and EXEC are not, because a batch has only whole
 * transactions; nor are administrative and similar commands that write nothing and do not belong in a log. */
static bool mustExecute(const parsedCommand *p) {
    bool exec = p->cmd == load.exec;
    if (p->cmd == load.multi || (exec && load.in_multi)) {
        load.in_multi = !exec;
        return false;
    }
    return !(p->cmd->flags & (CMD_ADMIN | CMD_PUBSUB | CMD_NO_AUTH | CMD_PROTECTED)) || p->cmd->flags & CMD_WRITE;
}

/* Executes up to `size` commands from `p` on; returns the first one after them. */
static parsedCommand *executeCommands(parsedCommand *p, size_t size, monotime *now) {
    recordItem items[DICT_PREFETCH_MAX];
    size_t n = 0;
    debugAssert(size > 0 && size <= DICT_PREFETCH_MAX && !load.c->reply_head);
    for (; p && n < size; p = p->next) items[n++] = (recordItem){load.c, p};
    if (n > 1) recordsPrefetch(items, n, size, NULL);
    for (size_t i = 0; i < n; i++)
        if (mustExecute(items[i].req)) callQueued(load.c, items[i].req, now);
    if (load.c->reply_head) dropReplies();
    return p;
}

static void executeBatch(const aofBatch *b) {
    size_t size = (size_t)engine_settings.prefetch_batch_max_size;
    monotime now = clockTicks();
    if (size == 0 || size > DICT_PREFETCH_MAX) size = DICT_PREFETCH_MAX;
    storeSetNowMs(clockWallMs());
    for (parsedCommand *p = b->first; p;) {
        p = executeCommands(p, size, &now);
        loadingServe();
    }
    loadingProgress(load.bytes_before + (uint64_t)b->end);
}

/* --- a file ---------------------------------------------------------------------------------------------- */

typedef struct fileToLoad {
    sds name;  /* borrowed */
    sds path;  /* owns */
    int fd;    /* owns */
    bool last; /* all files after it are empty */
    off_t size;
} fileToLoad;

/* Handles a file that ends early: truncates it after its last whole unit if that is allowed. Returns false if the load
 * fails. */
static bool truncateAtLastUnit(fileToLoad *f, const aofBatch *b) {
    if (b->zeros)
        serverLog(LL_WARNING,
                  "The AOF file %s ends with %lld zero bytes, which a loss of power or a preallocation has left: they "
                  "count as missing",
                  f->name, (long long)b->zeros);
    if (b->in_multi) serverLog(LL_WARNING, "Revert incomplete MULTI/EXEC transaction in AOF file %s", f->name);
    if (!persist_settings.aof_load_truncated) {
        serverLog(LL_WARNING,
                  "Unexpected end of file reading the append only file %s. You can: 1) Make a backup of your AOF file, "
                  "then use ./valkey-check-aof --fix <filename.manifest>. 2) Alternatively you can set the "
                  "'aof-load-truncated' configuration option to yes and restart the server.",
                  f->name);
        return false;
    }
    serverLog(LL_WARNING, "!!! Warning: short read while loading the AOF file %s!!!", f->name);
    serverLog(LL_WARNING, "!!! Truncating the AOF %s at offset %llu !!!", f->name, (unsigned long long)b->end);
    if (truncate(f->path, b->end) != 0) {
        serverLog(LL_WARNING, "Error truncating the AOF file %s: %s", f->name, strerror(errno));
        return false;
    }
    f->size = b->end;
    if (!f->last) {
        serverLog(LL_WARNING, "Fatal error: the truncated file is not the last file");
        return false;
    }
    serverLog(LL_WARNING, "AOF %s loaded anyway because aof-load-truncated is enabled", f->name);
    return true;
}

/* Handles the end of a file, after the last batch. Returns false if the load fails. */
static bool judgeEnd(fileToLoad *f, const aofBatch *b) {
    switch (b->state) {
    case AOF_READ_ON:
    case AOF_READ_END: break;
    case AOF_READ_SHORT: return truncateAtLastUnit(f, b);
    case AOF_READ_BAD:
        serverLog(LL_WARNING,
                  "Bad file format reading the append only file %s: make a backup of your AOF file, then use "
                  "./valkey-check-aof --fix <filename.manifest>",
                  f->name);
        return false;
    case AOF_READ_WRONG:
        serverLog(LL_WARNING, "Error reading the append only file %s, error: %s", f->name, b->error);
        return false;
    case AOF_READ_FAILED:
        serverLog(LL_WARNING, "Unrecoverable error reading the append only file %s: %s", f->name,
                  strerror(b->error_number));
        return false;
    }
    return true;
}

static bool loadCommands(fileToLoad *f, off_t from) {
    aofReader *r = aofReaderStart(f->fd, from);
    if (!r) {
        serverLog(LL_WARNING, "Can't start the thread that reads the append only file %s: %s", f->name,
                  strerror(errno));
        return false;
    }
    bool good = true, more = true;
    debugAssert(load.c && !load.c->blocks_head);
    load.in_multi = false;
    load.c->db = dbSelect(0);
    while (more) {
        aofBatch *b = aofReaderNext(r);
        executeBatch(b);
        more = b->state == AOF_READ_ON;
        debugAssert(!load.in_multi); /* batches have whole transactions */
        good = judgeEnd(f, b);
        aofReaderReturn(r, b);
    }
    aofReaderStop(r);
    return good;
}

/* Returns whether the file begins with the magic of a snapshot. */
static bool isSnapshot(int fd) {
    char head[6];
    ssize_t n = pread(fd, head, sizeof(head), 0);
    return (n >= 5 && !memcmp(head, "REDIS", 5)) || (n >= 6 && !memcmp(head, "VALKEY", 6));
}

/* Loads the snapshot at the start of the file. Returns the offset of its end, or -1 after logging why. */
static off_t loadSnapshot(const fileToLoad *f) {
    const rdbLoadOptions options = {
        .keep_expired = true, .hide_user_data = load.hide_user_data, .bytes_before = load.bytes_before};
    rdbLoadResult r = rdbLoadFile(f->path, &options);
    off_t end = r.end == RDB_LOAD_DONE ? (off_t)r.end_offset : -1;
    rdbLoadResultFree(&r);
    if (end < 0)
        serverLog(LL_WARNING, "Error reading the RDB preamble of the AOF file %s, AOF loading aborted", f->name);
    return end;
}

static bool loadFile(fileToLoad *f, bool base) {
    off_t from = 0;
    if (base && isSnapshot(f->fd)) {
        serverLog(LL_NOTICE, "Reading RDB base file on AOF loading...");
        from = loadSnapshot(f);
        if (from < 0) return false;
        if (from == f->size) return true;
        serverLog(LL_NOTICE, "Reading the remaining AOF tail...");
    }
    return loadCommands(f, from);
}

/* --- all of them ----------------------------------------------------------------------------------------- */

static bool openFile(fileToLoad *f, const char *folder, sds name) {
    struct stat st;
    *f = (fileToLoad){.name = name, .path = aofPath(folder, name)};
    f->fd = aofSystemNow()->open(f->path, O_RDONLY, 0);
    if (f->fd >= 0 && fstat(f->fd, &st) == 0) {
        f->size = st.st_size;
        return true;
    }
    serverLog(LL_WARNING, "Unable to obtain the AOF file %s length. stat: %s", name, strerror(errno));
    return false;
}

/* Opens base and increments, in order. Stops after the first that cannot be opened. Returns how many entries it filled
 * in. */
static size_t filesToLoad(const aofManifest *m, const char *folder, fileToLoad *files) {
    size_t n = 0;
    for (size_t i = 0; i < m->count; i++)
        if (m->files[i].type != AOF_FILE_HISTORY && !openFile(&files[n++], folder, m->files[i].name)) break;
    off_t after = 0;
    for (size_t i = n; i-- > 0;) {
        files[i].last = after == 0;
        after += files[i].size;
    }
    return n;
}

static bool loadAll(const aofManifest *m, fileToLoad *files, size_t n, aofLoaded *loaded) {
    uint64_t all_began = clockMonotonicUs();
    for (size_t i = 0; i < n; i++) {
        fileToLoad *f = &files[i];
        bool base = i == 0 && aofManifestBase(m);
        if (f->fd < 0) return false;
        uint64_t began = clockMonotonicUs();
        if (!loadFile(f, base)) return false;
        serverLog(LL_NOTICE, "DB loaded from %s file %s: %.3f seconds", base ? "base" : "incr", f->name,
                  (double)(clockMonotonicUs() - began) / 1e6);
        *(base ? &loaded->base_size : &loaded->incrs_size) += f->size;
        loaded->last_size = f->size;
        load.bytes_before += (uint64_t)f->size;
    }
    serverLog(LL_NOTICE, "DB loaded from append only file: %.3f seconds",
              (double)(clockMonotonicUs() - all_began) / 1e6);
    return true;
}

static void aofLoadBegin(uint64_t bytes, bool hide_user_data) {
    loadingBegin(bytes, false);
    load.bytes_before = 0;
    load.hide_user_data = hide_user_data;
    load.c = clientCreate(NULL, -1, "", "", false);
    load.c->authenticated = true;
    load.c->flags |= CLIENT_DENY_BLOCKING | CLIENT_REPLAYS;
    load.multi = commandNamed("multi");
    load.exec = commandNamed("exec");
    storeSetExpireIgnored(true);
}

static void aofLoadEnd(void) {
    debugAssert(load.c && loadingIsActive());
    storeSetExpireIgnored(false);
    clientFree(load.c);
    load.c = NULL;
    store_stats.dirty = 0;
    loadingEnd();
}

bool aofLoad(const char *folder, const aofManifest *m, bool hide_user_data, aofLoaded *loaded) {
    assertMainRole();
    serverAssert(!load.c);
    fileToLoad *files = zcalloc(m->count + 1, sizeof(*files));
    *loaded = (aofLoaded){.base_size = 0};
    size_t n = filesToLoad(m, folder, files);
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) bytes += (uint64_t)files[i].size;
    aofLoadBegin(bytes, hide_user_data);
    bool good = loadAll(m, files, n, loaded);
    aofLoadEnd();
    for (size_t i = 0; i < n; i++) {
        if (files[i].fd >= 0) aofSystemNow()->close(files[i].fd);
        sdsFree(files[i].path);
    }
    zfree(files);
    return good;
}

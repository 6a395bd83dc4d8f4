/* rdb_load.c -- loads a snapshot: inserts the entries that threads have decoded, in the order of the file.
 *
 * Not here    threads (rdb_pipeline.c); decoding (rdb_decode.c); how clients are served meanwhile (loading.c).
 * Owns        the threads of the running load.
 * Threads     main.
 * Invariants  1. The keyspace is not touched before the file's magic and version are accepted.
 *             2. An entry counts as taken from its batch once it is in the keyspace, so each is freed exactly once.
 * Cost        main: some 50 ns per key, for a cache line of the table; other threads read, sum and decode the bytes.
 * Tests       tests/unit/persist/rdb/rdb_load_test.c, tests/persist/loading.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_load.h"

#include "clock.h"
#include "libraries.h"
#include "loading.h"
#include "log.h"
#include "lru.h"
#include "object_settings.h"
#include "panic.h"
#include "persist_settings.h"
#include "rdb_decode.h"
#include "rdb_format.h"
#include "rdb_pipeline.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS 2             /* for a batch, before clients are served again */
#define KEY_BYTES_MIN 4       /* of a key in the file; bounds the number of keys that a file can announce */
#define EXPAND_KEYS_MAX 65536 /* for a source of unknown size */
#define EMPTY_LINES_MAX 10    /* in the log, about keys with empty values, and as many about keys that are left out */
#define HEAD_BYTES 4096       /* of a file: AUX fields are at its beginning */

typedef struct loader {
    const rdbLoadOptions *options; /* borrowed */
    rdbLoadResult *result;         /* borrowed */
    rdbPipeline *pipeline;         /* owns */
    serverDb *db;
    uint64_t file_bytes;   /* 0: unknown */
    uint64_t expanded;     /* keys for which tables of slots were expanded */
    uint64_t served_bytes; /* offset when clients were last served */
    bool begun;
} loader;

static rdbPipeline *running; /* borrowed: the pipeline of the running load, or NULL */

/* ---- AUX fields -------------------------------------------------------------------------------------- */

/* Records the fields that a server needs to continue the dataset's replication stream. */
static void noteReplication(rdbReplInfo *r, const rdbAux *f) {
    long long db;
    if (!strcasecmp(f->name, RDB_AUX_REPL_DB)) {
        if (!string2ll(f->value, sdsLen(f->value), &db) || db < 0 || db >= dbCount()) return;
        r->stream_db = (int)db;
        r->fields |= 1;
    } else if (!strcasecmp(f->name, RDB_AUX_REPL_ID)) {
        if (sdsLen(f->value) != RDB_REPL_ID_BYTES) return;
        memcpy(r->id, f->value, sizeof(r->id));
        r->fields |= 2;
    } else if (!strcasecmp(f->name, RDB_AUX_REPL_OFFSET)) {
        if (!string2ll(f->value, sdsLen(f->value), &r->offset) || r->offset < 0) return;
        r->fields |= 4;
    } else if (!strcasecmp(f->name, RDB_AUX_REPL_NODE)) {
        if (sdsLen(f->value) == RDB_REPL_ID_BYTES) memcpy(r->node, f->value, sizeof(r->node));
    }
    r->found = r->fields == 7;
}

/* Handles an AUX field. Returns false if the loader relies on it and it is malformed. */
static bool applyAux(loader *l, const rdbAux *f) {
    const char *name = f->name, *value = f->value;
    noteReplication(&l->result->replication, f);
    if (*name == '%') {
        serverLog(LL_NOTICE, "RDB '%s': %s", name, value);
    } else if (!strcasecmp(name, RDB_AUX_VALKEY_VERSION)) {
        serverLog(LL_NOTICE, "Loading RDB produced by Valkey version %s", value);
    } else if (!strcasecmp(name, RDB_AUX_REDIS_VERSION)) {
        serverLog(LL_NOTICE, "Loading RDB produced by Redis version %s", value);
    } else if (!strcasecmp(name, RDB_AUX_CREATED)) {
        long long age_s = clockWallMs() / 1000 - strtoll(value, NULL, 10);
        serverLog(LL_NOTICE, "RDB age %lld seconds", age_s < 0 ? 0 : age_s);
    } else if (!strcasecmp(name, RDB_AUX_USED_MEMORY)) {
        long long bytes = strtoll(value, NULL, 10);
        serverLog(LL_NOTICE, "RDB memory usage when created %.2f Mb", (double)bytes / (1024 * 1024));
        loadingSetUsedMemory(bytes);
    } else if (!strcasecmp(name, RDB_AUX_AOF_BASE)) {
        if (strtoll(value, NULL, 10)) serverLog(LL_NOTICE, "RDB is base AOF");
    } else if (!strcasecmp(name, RDB_AUX_AOF_PREAMBLE)) {
        if (strtoll(value, NULL, 10)) serverLog(LL_NOTICE, "RDB has an AOF tail");
    } else if (!strcasecmp(name, RDB_AUX_SLOT_STATES)) {
        sdsFree(l->result->slot_states);
        l->result->slot_states = sdsNewLen(value, sdsLen(f->value));
    }
    return rdbAuxIsGood(f);
}

/* ---- Items other than keys ---------------------------------------------------------------------------- */

static bool rdbLoadFault(loader *l, const rdbBatch *b, const rdbItem *item, rdbFaultKind kind, uint64_t number) {
    rdbFaultAt(&l->result->fault, kind, &b->piece, item);
    l->result->fault.number = number;
    return false;
}

/* Returns the announced number of keys, but no more than the rest of the file can contain. */
static uint64_t mostKeys(const loader *l, const rdbBatch *b, const rdbItem *item, uint64_t announced) {
    uint64_t at = b->piece.offset + item->end;
    uint64_t most = l->file_bytes > at ? (l->file_bytes - at) / KEY_BYTES_MIN : EXPAND_KEYS_MAX;
    return announced < most ? announced : most;
}

/* Expands the table of a slot for the announced number of keys: the tables of all slots together for no more keys than
 * were loaded and can follow. */
static void expandSlot(loader *l, const rdbBatch *b, const rdbItem *item, uint64_t slot, uint64_t keys) {
    uint64_t all = (uint64_t)l->result->keys_loaded + mostKeys(l, b, item, UINT64_MAX);
    uint64_t room = all > l->expanded ? all - l->expanded : 0;
    if (slot >= HASH_SLOTS) return;
    if (keys > room) keys = room;
    l->expanded += keys;
    (void)dbExpandSlot(l->db, (int)slot, keys);
}

static bool onAux(loader *l, const rdbBatch *b, const rdbItem *item) {
    rdbAux f;
    if (!rdbAuxRead(&b->piece, item, &f)) return rdbLoadFault(l, b, item, RDB_FAULT_AUX, 0);
    bool good = applyAux(l, &f);
    uint64_t slot, keys;
    if (!strcasecmp(f.name, RDB_AUX_SLOT_INFO) && rdbSlotInfoRead(f.value, &slot, &keys))
        expandSlot(l, b, item, slot, keys);
    rdbAuxFree(&f);
    return good || rdbLoadFault(l, b, item, RDB_FAULT_AUX, 0);
}

static bool onDb(loader *l, const rdbBatch *b, const rdbItem *item) {
    if (item->number >= (uint64_t)dbCount()) return rdbLoadFault(l, b, item, RDB_FAULT_DATABASE, (uint64_t)dbCount());
    l->db = l->options->beside ? dbShadow((int)item->number) : dbGet((int)item->number);
    return true;
}

/* Expands the tables for the announced number of keys. */
static void onResize(loader *l, const rdbBatch *b, const rdbItem *item) {
    uint64_t keys = mostKeys(l, b, item, item->number), expires = item->number2 < keys ? item->number2 : keys;
    dbExpandLoaded(l->db, keys, expires);
}

static bool isRelaxed(void) { return object_settings.version_check == RDB_VERSION_CHECK_RELAXED; }

static uint64_t moduleId(const rdbBatch *b, size_t at, const rdbItem *item) {
    rdbReader r = {b->piece.bytes + at, b->piece.bytes + item->end};
    uint64_t id;
    return rdbReadCount(&r, &id) ? id : 0;
}

static bool onModuleAux(loader *l, const rdbBatch *b, const rdbItem *item) {
    uint64_t id = moduleId(b, item->at, item);
    if (item->is_foreign && isRelaxed()) {
        sds module = rdbModuleName(id);
        serverLog(LL_WARNING, "Left out of the RDB file: data of the module '%s'", module);
        sdsFree(module);
        return true;
    }
    return rdbLoadFault(l, b, item, RDB_FAULT_MODULE, id);
}

/* Logs a key whose value is a module's, and which is left out. */
static void onLeftOut(loader *l, const rdbBatch *b, const rdbItem *item) {
    if (l->result->left_out++ >= EMPTY_LINES_MAX) return;
    rdbReader r = {b->piece.bytes + item->at, b->piece.bytes + item->value};
    rdbText name;
    if (!rdbReadText(&r, &name)) return;
    sds module = rdbModuleName(moduleId(b, item->value, item));
    sds key = l->options->hide_user_data ? sdsNew("*redacted*") : sdsCatRepr(sdsEmpty(), name.text.ptr, name.text.len);
    serverLog(LL_WARNING, "Left out of the RDB file: database %u, key %s, type %s", item->db, key, module);
    sdsFree(key);
    sdsFree(module);
    rdbTextFree(&name);
}

static void onEmpty(loader *l, const rdbBatch *b, const rdbItem *item) {
    if (l->result->empty_skipped++ >= EMPTY_LINES_MAX) return;
    rdbReader r = {b->piece.bytes + item->at, b->piece.bytes + item->value};
    rdbText name;
    if (!rdbReadText(&r, &name)) return;
    if (l->options->hide_user_data) serverLog(LL_NOTICE, "rdbLoadObject skipping empty key");
    else serverLog(LL_NOTICE, "rdbLoadObject skipping empty key: %.*s", (int)name.text.len, name.text.ptr);
    rdbTextFree(&name);
}

static bool onLibrary(loader *l, const rdbBatch *b, const rdbItem *item) {
    rdbReader r = {b->piece.bytes + item->at, b->piece.bytes + item->end};
    rdbText code;
    if (!rdbReadText(&r, &code)) return rdbLoadFault(l, b, item, RDB_FAULT_VALUE, 0);
    if (l->options->beside) {
        rdbLoadResult *to = l->result;
        to->libraries = zrealloc(to->libraries, (to->library_count + 1) * sizeof(sds));
        to->libraries[to->library_count++] = sdsFromSlice(code.text);
        rdbTextFree(&code);
        return true;
    }
    sds error = librariesAdd(code.text, l->options->merge);
    rdbTextFree(&code);
    if (!error) return true;
    serverLog(LL_WARNING, "Failed creating the functions library: %s", error);
    sdsFree(error);
    return rdbLoadFault(l, b, item, RDB_FAULT_LIBRARY, 0);
}

static bool onItem(loader *l, const rdbBatch *b, const rdbItem *item) {
    switch ((rdbItemKind)item->kind) {
    case RDB_ITEM_KEY:
        if (item->type == RDB_TYPE_MODULE) onLeftOut(l, b, item);
        else onEmpty(l, b, item);
        return true;
    case RDB_ITEM_AUX: return onAux(l, b, item);
    case RDB_ITEM_DB: return onDb(l, b, item);
    case RDB_ITEM_RESIZE: onResize(l, b, item); return true;
    case RDB_ITEM_FUNCTION: return onLibrary(l, b, item);
    case RDB_ITEM_MODULE_AUX: return onModuleAux(l, b, item);
    case RDB_ITEM_SLOT_IMPORT: return rdbLoadFault(l, b, item, RDB_FAULT_IMPORT, 0);
    case RDB_ITEM_SLOT_INFO: expandSlot(l, b, item, item->number, item->number2); return true;
    case RDB_ITEM_END: return true;
    }
    return true;
}

/* ---- Keys ------------------------------------------------------------------------------------------------ */

/* Handles a key of the batch that already exists: deletes the old one (merge), or returns false with a fault. */
static bool onDuplicate(loader *l, const rdbBatch *b) {
    const loadedKey *k = &b->decoded.keys[b->decoded.taken];
    hashedKey key = {objectKey(k->entry), k->hash};
    if (l->options->merge) {
        dbDeleteSync(l->db, key);
        dbKeyChanged(l->db, key, 0, NULL, 0);
        return true;
    }
    rdbFault *f = &l->result->fault;
    f->kind = RDB_FAULT_DUPLICATE;
    f->offset = b->piece.offset;
    f->db = (uint32_t)dbId(l->db);
    f->type = -1;
    f->key = sdsFromSlice(key.name);
    return false;
}

/* Waits, for tests: key-load-delay microseconds for each key or, if it is -n, one for about each n-th key. */
static void delayKey(long long keys) {
    long long us = persist_settings.key_load_delay;
    if (us < 0) us = keys % -us == 0;
    if (us > 0) usleep((useconds_t)us);
}

static bool addUpTo(loader *l, rdbBatch *b, size_t end) {
    rdbDecoded *d = &b->decoded;
    debugAssert(end <= d->count && l->begun); /* invariant 1 */
    while (d->taken < end) {
        bool slowly = persist_settings.key_load_delay != 0;
        size_t added = dbAddLoaded(l->db, d->keys + d->taken, slowly ? 1 : end - d->taken);
        debugAssert(added <= end - d->taken);
        d->taken += added;
        l->result->keys_loaded += (long long)added;
        if (added == 0 && !onDuplicate(l, b)) return false;
        if (slowly) {
            delayKey(l->result->keys_loaded);
            loadingSetKeys(l->result->keys_loaded, l->result->keys_expired, l->result->left_out);
            loadingServe();
        }
    }
    return true;
}

static bool takeFault(loader *l, rdbFault *f) {
    if (f->kind == RDB_FAULT_NONE) return true;
    l->result->fault = *f;
    f->key = NULL;
    return false;
}

static bool insertBatch(loader *l, rdbBatch *b) {
    rdbDecoded *d = &b->decoded;
    for (size_t i = 0; i < d->mark_count; i++) {
        const rdbMark *m = &d->marks[i];
        if (!addUpTo(l, b, m->keys) || !onItem(l, b, &b->piece.items[m->item])) return false;
    }
    if (!addUpTo(l, b, d->count)) return false;
    debugAssert(d->taken == d->count);
    l->result->keys_expired += d->expired;
    l->result->fields_expired += d->fields_expired;
    return takeFault(l, &d->fault);
}

/* ---- The file ----------------------------------------------------------------------------------------------- */

static void rdbLoadProgress(loader *l, uint64_t offset) {
    loadingProgress(l->options->bytes_before + offset);
    loadingSetKeys(l->result->keys_loaded, l->result->keys_expired, l->result->left_out);
    if (offset - l->served_bytes < (uint64_t)persist_settings.loading_process_events_interval_bytes) return;
    l->served_bytes = offset;
    loadingServe();
}

/* Copies a fault, because the scanner that owns it will be freed. */
static void copyFault(rdbFault *to, const rdbFault *from) {
    *to = *from;
    if (from->key) to->key = sdsNewLen(from->key, sdsLen(from->key));
}

/* Called once magic and version are accepted. */
static void rdbLoadBegin(loader *l) {
    debugAssert(l->result->keys_loaded == 0 && l->result->fault.kind == RDB_FAULT_NONE);
    l->begun = true;
    if (!l->options->merge && !l->options->beside) librariesClear();
    if (l->options->begin) l->options->begin();
}

static rdbLoadEnd insertAll(loader *l) {
    for (;;) {
        rdbBatch *b = rdbPipelineTake(l->pipeline, WAIT_MS);
        if (!b) {
            loadingServe();
            continue;
        }
        bool last = b->is_last;
        const rdbScanner *s = last ? rdbPipelineScanner(l->pipeline) : NULL;
        const rdbFault *f = last ? rdbScanFault(s) : NULL;
        /* If the fault concerns magic or version, no key can have been read. */
        if (last && (f->kind == RDB_FAULT_SIGNATURE || f->kind == RDB_FAULT_VERSION || rdbScanVersion(s) == 0)) {
            copyFault(&l->result->fault, f);
            return RDB_LOAD_REFUSED;
        }
        if (!l->begun) rdbLoadBegin(l);
        if (!insertBatch(l, b)) return RDB_LOAD_BROKEN;
        if (last) {
            copyFault(&l->result->fault, f);
            l->result->end_offset = rdbScanOffset(s);
            return f->kind == RDB_FAULT_NONE ? RDB_LOAD_DONE : RDB_LOAD_BROKEN;
        }
        uint64_t offset = b->offset_end;
        rdbPipelineGive(l->pipeline, b, lruInitialBits());
        rdbLoadProgress(l, offset);
    }
}

static void logEnd(const loader *l, const char *path) {
    const rdbLoadResult *r = l->result;
    if (r->end != RDB_LOAD_DONE) {
        unsigned version = rdbScanVersion(rdbPipelineScanner(l->pipeline));
        sds text = rdbFaultText(&r->fault, version), location = rdbFaultLocation(&r->fault, l->options->hide_user_data);
        serverLog(LL_WARNING, "%s", text);
        serverLog(LL_WARNING, "Can't load %s: the fault is %s", path, location);
        sdsFree(text);
        sdsFree(location);
        return;
    }
    char empty[64] = "", left_out[64] = "";
    if (r->empty_skipped) snprintf(empty, sizeof(empty), ", empty keys skipped: %lld", r->empty_skipped);
    if (r->left_out) snprintf(left_out, sizeof(left_out), ", keys left out: %lld", r->left_out);
    serverLog(LL_NOTICE,
              "Done loading RDB, keys loaded: %lld, keys expired: %lld%s%s, all fields expired hashes: %lld.",
              r->keys_loaded, r->keys_expired, empty, left_out, r->fields_expired);
}

/* Loads from `source`, or from `fd` if it is NULL. */
static void rdbLoadAll(loader *l, int fd, const rdbSource *source, const char *name) {
    rdbLoadResult *r = l->result;
    const rdbScanOptions scan = {.relaxed = isRelaxed(),
                                 .checksum = persist_settings.rdbchecksum && !l->options->unchecked &&
                                             !object_settings.skip_checksums,
                                 .source = source};
    const rdbDecodeOptions decode = {.drop_before_ms = l->options->keep_expired ? INT64_MIN : clockWallMs(),
                                     .lfu = store_settings.maxmemory_policy & MAXMEMORY_FLAG_LFU,
                                     .leave_out = isRelaxed()};
    /* One decoder per processor. Scanner and main need little time compared to decoders (a third of the instructions
     * for strings of 512 bytes, a twentieth for small collections) and run while a decoder waits for memory. */
    cpu_set_t set;
    unsigned decoders = sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
    debugAssert(!running);
    l->pipeline = running = rdbPipelineStart(fd, &scan, &decode, decoders);
    if (!l->pipeline) {
        r->error = errno;
        serverLog(LL_WARNING, "Can't start the threads that load %s: %s", name, strerror(errno));
        return;
    }
    r->end = insertAll(l);
    debugAssert((r->end == RDB_LOAD_DONE) == (r->fault.kind == RDB_FAULT_NONE));
    debugAssert(r->end != RDB_LOAD_REFUSED || !l->begun);
    if (r->end == RDB_LOAD_DONE && rdbScanWithoutChecksum(rdbPipelineScanner(l->pipeline)) && scan.checksum)
        serverLog(LL_NOTICE, "RDB file was saved with checksum disabled: no check performed.");
    logEnd(l, name);
    debugAssert(running == l->pipeline); /* no other load has begun while clients were served */
    rdbLoadAbort();
    loadingSetKeys(r->keys_loaded, r->keys_expired, r->left_out);
}

void rdbLoadAbort(void) {
    if (running) rdbPipelineStop(running);
    running = NULL;
}

/* ---- AUX fields at the beginning of a file ---- */

typedef struct fileHead {
    int fd;
    size_t left;
} fileHead;

static ssize_t readHead(void *arg, void *buf, size_t len) {
    fileHead *head = arg;
    ssize_t n = read(head->fd, buf, len < head->left ? len : head->left);
    if (n > 0) head->left -= (size_t)n;
    return n;
}

static void stopHead(void *arg) { ((fileHead *)arg)->left = 0; }

static void noteFields(rdbReplInfo *r, const rdbPiece *piece) {
    for (size_t i = 0; i < piece->count && piece->items[i].kind == RDB_ITEM_AUX; i++) {
        rdbAux f;
        if (!rdbAuxRead(piece, &piece->items[i], &f)) return;
        noteReplication(r, &f);
        rdbAuxFree(&f);
    }
}

bool rdbFileHasReplInfo(const char *path) {
    fileHead head = {.fd = open(path, O_RDONLY | O_CLOEXEC), .left = HEAD_BYTES};
    if (head.fd < 0) return false;
    const rdbSource source = {readHead, stopHead, &head, 0};
    const rdbScanOptions options = {.relaxed = true, .source = &source};
    rdbReplInfo r = {.found = false};
    rdbPiece piece = {0};
    rdbScanner *s = rdbScanCreate(-1, &options);
    bool whole = rdbScanNext(s, &piece); /* a larger file is cut here, which is no fault */
    unused(whole);
    noteFields(&r, &piece);
    rdbPieceFree(&piece);
    rdbScanFree(s);
    close(head.fd);
    return r.found;
}

/* ---- Loading a file or a source ---- */

rdbLoadResult rdbLoadFile(const char *path, const rdbLoadOptions *options) {
    rdbLoadResult r = {.end = RDB_LOAD_FAILED};
    loader l = {.options = options, .result = &r, .db = dbGet(0)};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        r.error = errno;
        if (errno == ENOENT) r.end = RDB_LOAD_NO_FILE;
        else serverLog(LL_WARNING, "Can't open the RDB file %s for reading: %s", path, strerror(errno));
        return r;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) l.file_bytes = (uint64_t)st.st_size;
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    rdbLoadAll(&l, fd, NULL, path);
    close(fd);
    return r;
}

rdbLoadResult rdbLoadSource(const rdbSource *source, const char *name, const rdbLoadOptions *options) {
    rdbLoadResult r = {.end = RDB_LOAD_FAILED};
    serverDb *first = options->beside ? dbShadow(0) : dbGet(0);
    loader l = {.options = options, .result = &r, .db = first, .file_bytes = source->bytes};
    rdbLoadAll(&l, -1, source, name);
    return r;
}

void rdbLoadResultFree(rdbLoadResult *r) {
    sdsFree(r->fault.key);
    r->fault.key = NULL;
    for (size_t i = 0; i < r->library_count; i++) sdsFree(r->libraries[i]);
    zfree(r->libraries);
    sdsFree(r->slot_states);
    r->slot_states = NULL;
    r->libraries = NULL;
    r->library_count = 0;
}

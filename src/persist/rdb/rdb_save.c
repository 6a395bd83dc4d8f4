/* rdb_save.c -- writes the whole dataset as an RDB file, or as commands.
 *
 * Entries are anywhere in memory, so each is prefetched while the batch before its own is written, and its value when
 * its own batch begins. The cache misses of a batch overlap with each other and with the work on the batch before.
 *
 * Not here    how a value is written (object/rdb_value.h); the steps of replacing a file (file_writer.c,
 *             durable_file.c); when files are saved (snapshot.c, aof_rewrite.c).
 * Owns        nothing beyond one call.
 * Threads     the thread that has the main role, or the only thread of a child.
 * Invariants  1. No memory of the dataset is written to, and no lock is taken but the allocator's.
 * Cost        docs/design/persistence.md
 * Tests       tests/unit/persist/rdb/rdb_save_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_save.h"

#include "hash.h"
#include "db_slots.h"
#include "db_walk.h"
#include "endian.h"
#include "file_writer.h"
#include "libraries.h"
#include "log.h"
#include "lru.h"
#include "object_settings.h"
#include "panic.h"
#include "persist_settings.h"
#include "rdb_format.h"
#include "rdb_older.h"
#include "version.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define BATCH 16            /* keys that are prefetched together */
#define PROGRESS_EACH 1024u /* keys */
#define PIPE_BUFFER_BYTES ((size_t)128 << 10)

typedef struct saving {
    rdbWriter *out;
    const rdbSaveOptions *options;
    size_t keys;
    int use_flags; /* MAXMEMORY_FLAG_...: write idle times or frequencies */
    bool delayed;
    bool too_new; /* a value does not exist in the version that is written */
} saving;

rdbSaveOptions rdbSaveDefaults(void) {
    return (rdbSaveOptions){.compression = object_settings.compression,
                            .checksum = persist_settings.rdbchecksum,
                            .incremental_sync = persist_settings.rdb_save_incremental_fsync};
}

void rdbTemporaryName(char out[RDB_TEMPORARY_NAME_SIZE], pid_t pid) {
    snprintf(out, RDB_TEMPORARY_NAME_SIZE, "temp-%d.rdb", (int)pid);
}

/* ---- The version ---- */

#define VERSION_OF_FUNCTIONS 10

static void noteLibrary(void *arg, slice text) {
    unused(text);
    *(unsigned *)arg = VERSION_OF_FUNCTIONS;
}

/* Returns the higher of `version` and the lowest version that holds the database. */
static unsigned lowestOfDb(serverDb *db, unsigned version) {
    const robj *keys[BATCH];
    dbIterator it;
    dbIterBegin(&it, db, false);
    for (size_t n; version < RDB_VERSION && (n = dbIterMany(&it, BATCH, keys)) > 0;) {
        for (size_t i = 0; i < n; i++) objectPrefetchValue(keys[i]);
        for (size_t i = 0; i < n; i++) {
            unsigned needs = rdbLowestVersion(keys[i]);
            if (needs > version) version = needs;
        }
    }
    dbIterEnd(&it);
    return version;
}

static unsigned lowestOfDataset(unsigned at_least) {
    unsigned version = RDB_VERSION_OLDEST;
    librariesEach(noteLibrary, &version);
    if (at_least > version) version = at_least;
    for (int id = 0; id < dbCount(); id++) version = lowestOfDb(dbGet(id), version);
    return version;
}

unsigned rdbSaveVersion(bool is_aof_base) {
    unsigned set = (unsigned)persist_settings.rdb_save_version, version = set;
    if (set == RDB_VERSION) return 0;
    bool holds_all = set == RDB_VERSION_FOREIGN_KNOWN;
    if (set == RDB_SAVE_VERSION_AUTO || (is_aof_base && !holds_all)) version = lowestOfDataset(set);
    if (version != set) serverLog(LL_NOTICE, "RDB version %u is the lowest that holds the dataset", version);
    return version >= RDB_VERSION ? 0 : version;
}

/* ---- The frame of the file ---- */

static void writeAux(rdbWriter *out, const char *name, slice value) {
    rdbWriteByte(out, RDB_OP_AUX);
    rdbWriteString(out, sliceStr(name));
    rdbWriteString(out, value);
}

static void writeAuxNumber(rdbWriter *out, const char *name, long long value) {
    char digits[LONG_STR_SIZE];
    writeAux(out, name, sliceOf(digits, ll2string(digits, value)));
}

static void writeLibrary(void *out, slice text) {
    rdbWriteByte(out, RDB_OP_FUNCTION);
    rdbWriteString(out, text);
}

static void writeHead(rdbWriter *out, const rdbSaveOptions *options) {
    char magic[RDB_MAGIC_BYTES + 1];
    if (options->version) snprintf(magic, sizeof(magic), RDB_MAGIC_OLD "%03u", options->version);
    else snprintf(magic, sizeof(magic), RDB_MAGIC "%03d", RDB_VERSION);
    serverAssert(strlen(magic) == RDB_MAGIC_BYTES);
    rdbWriteBytes(out, sliceOf(magic, RDB_MAGIC_BYTES));
    writeAux(out, RDB_AUX_VALKEY_VERSION, sliceStr(VALKEY_VERSION));
    writeAuxNumber(out, RDB_AUX_BITS, (long long)sizeof(void *) * 8);
    writeAuxNumber(out, RDB_AUX_CREATED, (long long)time(NULL));
    writeAuxNumber(out, RDB_AUX_USED_MEMORY, (long long)zmallocUsed());
    const rdbReplication *r = options->replication;
    if (r) {
        writeAuxNumber(out, RDB_AUX_REPL_DB, r->stream_db);
        writeAux(out, RDB_AUX_REPL_ID, sliceStr(r->id));
        writeAuxNumber(out, RDB_AUX_REPL_OFFSET, r->offset);
        if (r->node && *r->node) writeAux(out, RDB_AUX_REPL_NODE, sliceStr(r->node));
    }
    writeAuxNumber(out, RDB_AUX_AOF_BASE, options->is_aof_base);
    if (r && r->slot_states.len) writeAux(out, RDB_AUX_SLOT_STATES, r->slot_states);
}

/* Returns false, and fails the save, if the version has no functions and there are some. */
static bool writeLibraries(rdbWriter *out, const rdbSaveOptions *options) {
    unsigned needs = RDB_VERSION_OLDEST;
    if (options->without_functions) return true;
    if (options->version && options->version < VERSION_OF_FUNCTIONS) librariesEach(noteLibrary, &needs);
    if (needs == RDB_VERSION_OLDEST) {
        librariesEach(writeLibrary, out);
        return true;
    }
    serverLog(LL_WARNING, "Can't store functions in RDB version %u", options->version);
    out->failed = true;
    return false;
}

/* ---- Keys ---- */

static void writeUse(const saving *s, const robj *o) {
    if (s->use_flags & MAXMEMORY_FLAG_LRU) {
        rdbWriteByte(s->out, RDB_OP_IDLE);
        rdbWriteLength(s->out, lruIdleMs(o) / 1000);
    } else if (s->use_flags & MAXMEMORY_FLAG_LFU) {
        rdbWriteByte(s->out, RDB_OP_FREQ);
        rdbWriteByte(s->out, (uint8_t)lfuFrequency(o));
    }
}

/* Returns the type of the value in the version that is written. If that cannot represent it, returns RDB_TYPES, and
 * fails the save. */
static unsigned typeOf(saving *s, const robj *o) {
    if (likely(!s->options->version)) return rdbTypeOf(o);
    unsigned rdb_type = rdbTypeInVersion(o, s->options->version);
    if (rdb_type != RDB_TYPES) return rdb_type;
    slice key = objectKey(o);
    if (s->options->hide_user_data) key = sliceStr("*redacted*");
    serverLog(LL_WARNING, "Can't store key '%.*s' in RDB version %u", (int)key.len, key.ptr, s->options->version);
    s->too_new = s->out->failed = true;
    return RDB_TYPES;
}

static void writeEntry(saving *s, const robj *o) {
    if (unlikely(s->options->as_commands)) {
        s->options->as_commands->key(s->out, o);
        return;
    }
    unsigned rdb_type = typeOf(s, o);
    if (unlikely(rdb_type == RDB_TYPES)) return;
    int64_t when_ms = objectExpire(o);
    if (when_ms != -1) {
        rdbWriteByte(s->out, RDB_OP_EXPIRE_MS);
        rdbWriteMs(s->out, when_ms);
    }
    if (s->use_flags) writeUse(s, o);
    rdbWriteByte(s->out, (uint8_t)rdb_type);
    rdbWriteString(s->out, objectKey(o));
    if (likely(!s->options->version)) rdbWriteValue(s->out, o);
    else rdbWriteValueAs(s->out, o, rdb_type);
}

/* Waits, for tests: rdb-key-save-delay microseconds for each key or, if it is -n, one for each n-th key. */
static void delayKey(const saving *s) {
    long long us = persist_settings.rdb_key_save_delay;
    if (us > 0) usleep((useconds_t)us);
    else if (s->keys % (size_t)-us == 0) usleep(1);
}

static void onKeyWritten(saving *s) {
    s->keys++;
    if (unlikely(s->delayed)) delayKey(s);
    bool report = s->options->progress && (s->delayed || s->keys % PROGRESS_EACH == 0);
    if (unlikely(report)) s->options->progress(s->options->progress_arg, s->keys);
}

typedef struct keyBatch {
    const robj *keys[BATCH];
    size_t count;
} keyBatch;

static void writeBatch(saving *s, const keyBatch *b) {
    debugAssert(b->count <= BATCH);
    for (size_t i = 0; i < b->count; i++) objectPrefetchValue(b->keys[i]);
    for (size_t i = 0; i < b->count && !s->out->failed; i++) {
        writeEntry(s, b->keys[i]);
        onKeyWritten(s);
    }
}

static void writeDbHead(rdbWriter *out, int id, const dbFigures *figures) {
    rdbWriteByte(out, RDB_OP_SELECTDB);
    rdbWriteLength(out, (uint64_t)id);
    rdbWriteByte(out, RDB_OP_RESIZEDB);
    rdbWriteLength(out, figures->keys);
    rdbWriteLength(out, figures->expires < figures->keys ? figures->expires : figures->keys);
}

/* Writes the keys of a walk, and ends it. */
static void writeKeys(saving *s, dbIterator *it) {
    keyBatch batches[2];
    batches[0].count = dbIterMany(it, BATCH, batches[0].keys);
    for (int now = 0; batches[now].count && !s->out->failed; now = !now) {
        batches[!now].count = dbIterMany(it, BATCH, batches[!now].keys);
        writeBatch(s, &batches[now]);
    }
    dbIterEnd(it);
}

/* Counts the keys of a slot that have an expiry, and those whose elements have one. */
static void countVolatile(serverDb *db, int slot, size_t *expires, size_t *volatile_items) {
    const robj *keys[BATCH];
    dbIterator it;
    dbIterBeginSlot(&it, db, slot, false);
    for (size_t n; (n = dbIterMany(&it, BATCH, keys)) > 0;) {
        for (size_t i = 0; i < n; i++) {
            *expires += objectExpire(keys[i]) != -1;
            *volatile_items += keys[i]->in_volatile;
        }
    }
    dbIterEnd(&it);
}

static void writeSlotInfo(const saving *s, serverDb *db, int slot, const dbFigures *figures) {
    char text[4 * LONG_STR_SIZE];
    size_t expires = 0, volatile_items = 0;
    if (figures->expires || figures->volatile_items) countVolatile(db, slot, &expires, &volatile_items);
    int n = snprintf(text, sizeof(text), "%d,%zu,%zu,%zu", slot, dbSlotSize(db, slot), expires, volatile_items);
    writeAux(s->out, RDB_AUX_SLOT_INFO, sliceOf(text, (size_t)n));
}

/* The size of each slot's table precedes its keys. */
static void writeSlots(saving *s, serverDb *db, const dbFigures *figures) {
    dbIterator it;
    for (int slot = 0; (slot = dbSlotNext(db, slot)) != -1 && !s->out->failed; slot++) {
        if (s->options->slots && !slotSetHas(s->options->slots, (unsigned)slot)) continue;
        writeSlotInfo(s, db, slot, figures);
        dbIterBeginSlot(&it, db, slot, false);
        writeKeys(s, &it);
    }
}

static size_t keysOfSlots(const serverDb *db, const slotSet *slots) {
    size_t keys = 0;
    for (int slot = 0; (slot = dbSlotNext(db, slot)) != -1; slot++)
        if (slotSetHas(slots, (unsigned)slot)) keys += dbSlotSize(db, slot);
    return keys;
}

static void writeDb(saving *s, serverDb *db) {
    dbFigures figures = dbGetFigures(db);
    debugAssert(figures.expires <= figures.keys);
    if (s->options->slots) figures.keys = keysOfSlots(db, s->options->slots);
    if (figures.keys == 0) return;
    if (s->options->as_commands) s->options->as_commands->db(s->out, dbId(db));
    else writeDbHead(s->out, dbId(db), &figures);
    size_t before = s->keys;
    if (dbHasSlots() && !s->options->as_commands) {
        writeSlots(s, db, &figures);
    } else {
        dbIterator it;
        dbIterBegin(&it, db, false);
        writeKeys(s, &it);
    }
    debugAssert(s->out->failed || s->keys - before == figures.keys); /* as many as the file has announced */
}

/* Returns false with errno if a value does not exist in the version that is written. Errors of the output are kept in
 * `out`, for the caller that flushes it. */
static bool writeDataset(rdbWriter *out, const rdbSaveOptions *options) {
    saving s = {.out = out,
                .options = options,
                .use_flags = store_settings.maxmemory_policy & (MAXMEMORY_FLAG_LRU | MAXMEMORY_FLAG_LFU),
                .delayed = persist_settings.rdb_key_save_delay != 0};
    debugAssert(!options->as_commands || (!options->version && !options->replication)); /* not in commands */
    if (options->as_commands) options->as_commands->head(out);
    else writeHead(out, options);
    if (!options->as_commands && !writeLibraries(out, options)) s.too_new = true;
    for (int id = 0; id < dbCount() && !out->failed && !options->without_keys; id++) writeDb(&s, dbGet(id));
    if (options->progress) options->progress(options->progress_arg, s.keys);
    if (!options->as_commands) rdbWriteByte(out, RDB_OP_EOF);
    if (s.too_new) errno = EINVAL;
    return !s.too_new;
}

/* ---- The file ---- */

static bool writeChecksum(fileWriter *f) {
    char sum[RDB_CHECKSUM_BYTES];
    if (!fileWriterFlush(f)) return false;
    storeLe64(sum, f->crc);
    rdbWriteBytes(&f->out, sliceOf(sum, sizeof(sum)));
    return true;
}

/* Returns the temporary file's path. It is in the folder of `path`, so that it can be renamed to it. */
static sds temporaryFor(const char *path) {
    char name[RDB_TEMPORARY_NAME_SIZE];
    const char *slash = strrchr(path, '/');
    rdbTemporaryName(name, getpid());
    return sdsCat(sdsNewLen(path, slash ? (size_t)(slash - path) + 1 : 0), name);
}

bool rdbSaveFile(const char *path, const rdbSaveOptions *options) {
    fileWriter f;
    debugAssert(!options->without_keys || !options->is_aof_base);
    sds temporary = options->temporary ? sdsNew(options->temporary) : temporaryFor(path);
    bool done = fileWriterBegin(&f, temporary,
                                (fileWriterOptions){.compress = options->compression,
                                                    .checksum = options->checksum,
                                                    .incremental_sync = options->incremental_sync});
    if (done) {
        f.file.step = "write"; /* also if a value that the version lacks comes before the first write */
        done = writeDataset(&f.out, options) && (options->as_commands ? fileWriterFlush(&f) : writeChecksum(&f));
        if (done) done = fileWriterReplace(&f, path);
        else fileWriterAbandon(&f);
    }
    int error = errno;
    if (!done)
        serverLog(LL_WARNING, "Error saving the dataset to %s (temporary file %s, step %s): %s", path, temporary,
                  f.file.step, strerror(error));
    sdsFree(temporary);
    errno = error;
    return done;
}

/* ---- A pipe ---- */

typedef struct pipeWriter {
    rdbWriter out;
    int fd; /* borrowed */
    uint64_t crc;
    bool checksum;
    int error;
} pipeWriter;

static bool writePipe(void *arg, slice bytes) {
    pipeWriter *p = arg;
    if (p->checksum) p->crc = crc64(p->crc, bytes.ptr, bytes.len);
    while (bytes.len > 0) {
        ssize_t n = write(p->fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            p->error = errno;
            return false;
        }
        bytes = sliceOf(bytes.ptr + n, bytes.len - (size_t)n);
    }
    return true;
}

bool rdbSaveTo(int fd, const rdbSaveOptions *options) {
    pipeWriter p = {.fd = fd, .checksum = options->checksum};
    char sum[RDB_CHECKSUM_BYTES];
    rdbWriterBeginFlushing(&p.out, options->compression, PIPE_BUFFER_BYTES, writePipe, &p);
    bool done = writeDataset(&p.out, options);
    if (!done) p.error = errno;
    if (done) done = rdbWriterFlush(&p.out);
    if (done) {
        storeLe64(sum, p.crc);
        rdbWriteBytes(&p.out, sliceOf(sum, sizeof(sum)));
        done = rdbWriterFlush(&p.out);
    }
    if (!done) serverLog(LL_WARNING, "Error writing the dataset to a pipe: %s", strerror(p.error));
    rdbWriterEnd(&p.out);
    errno = p.error;
    return done;
}

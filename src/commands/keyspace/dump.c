/* dump.c -- DUMP and RESTORE: a value in a serialized form that another server can load.
 *
 * Not here    the form of a value, and the version and checksum after it (object/rdb_value.c).
 * Threads     main.
 * Invariants  1. A payload is untrusted: nothing changes before version, checksum and value have been checked.
 *             2. A value may extend into the footer, as in Valkey.
 * Tests       tests/unit/commands/keyspace/keys_test.c, tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_memory.h"
#include "commands.h"
#include "db.h"
#include "hash.h"
#include "key_changed.h"
#include "lru.h"
#include "object_settings.h"
#include "propagate.h"
#include "rdb_value.h"
#include "reply.h"
#include "resp_format.h"
#include "sliced.h"
#include "zmalloc.h"

#include <limits.h>

#define PIECE_BYTES ((size_t)1 << 16)

/* The payload of a large value: pieces, as a buffer that grows to megabytes is copied as a whole again and again. */
typedef struct dumpPieces {
    const client *c; /* borrowed */
    sds *at;         /* owns: the pieces */
    size_t count, capacity, bytes;
    uint64_t crc;
} dumpPieces;

static bool takePiece(void *arg, slice bytes) {
    dumpPieces *p = arg;
    if (p->count == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 64;
        p->at = zrealloc(p->at, p->capacity * sizeof(*p->at));
    }
    p->at[p->count++] = sdsFromSlice(bytes);
    p->bytes += bytes.len;
    p->crc = crc64(p->crc, bytes.ptr, bytes.len);
    return !replyIsDropped(p->c);
}

/* Replies with the value's payload. Other clients are served meanwhile. */
static void replyInPieces(client *c, const robj *o) {
    char header[RESP_HEADER_MAX], footer[DUMP_FOOTER_BYTES];
    dumpPieces p = {.c = c};
    rdbWriter w;
    rdbWriterBeginFlushing(&w, object_settings.compression, PIECE_BYTES, takePiece, &p);
    rdbWriteByte(&w, rdbTypeOf(o));
    rdbWriteValue(&w, o);
    (void)!rdbWriterFlush(&w);
    rdbWriterEnd(&w);
    dumpPayloadFooter(footer, rdbTypeOf(o), p.crc);
    addReplyProto(c, header, respHeader(header, '$', (long long)(p.bytes + sizeof(footer))));
    for (size_t i = 0; i < p.count; i++) {
        addReplyProto(c, p.at[i], sdsLen(p.at[i]));
        sdsFree(p.at[i]);
        slicedStep(c);
    }
    addReplyProto(c, footer, sizeof(footer));
    addReplyProto(c, "\r\n", 2);
    zfree(p.at);
}

void dumpCommand(client *c) {
    robj *o = lookupKeyRead(c->db, clientKeyAt(c, 1));
    if (!o) {
        addReplyNull(c);
        return;
    }
    slicedStart slices = slicedBegin(c, o, slicedElements(o));
    if (unlikely(slices == SLICED_POSTPONED)) return;
    if (unlikely(slices == SLICED_YES)) slicedLoops(c);
    /* The payload, compressed or not, in a buffer whose capacity grows ahead of the content. */
    if (commandMemoryReserve(c, 3 * objectMemUsage(o, 0))) {
        if (slices == SLICED_YES) {
            replyInPieces(c, o);
        } else {
            sds payload = dumpPayloadOf(o, object_settings.compression);
            addReplyBulk(c, sdsSlice(payload));
            sdsFree(payload);
        }
    }
    if (unlikely(slices == SLICED_YES)) slicedEnd(c);
}

/* A payload in the append-only file was checked when the command first ran, so the present settings do not matter. */
static bool payloadIsGood(const client *c, slice payload) {
    bool relaxed = object_settings.version_check == RDB_VERSION_CHECK_RELAXED || c->flags & CLIENT_REPLAYS;
    return dumpPayloadIsGood(payload, relaxed, object_settings.skip_checksums);
}

/* ---- RESTORE ---- */

typedef struct restoreOptions {
    long long idle_s, frequency; /* -1: not given */
    bool replace, absolute_ttl;
} restoreOptions;

/* Parses a number from 0 to `max`. Returns false after an error reply: `error` if it is out of this range. */
static bool parseUse(client *c, uint32_t index, long long max, long long *out, const char *error) {
    if (!getLongLongFromArg(c, index, out, NULL)) return false;
    return (*out >= 0 && *out <= max) || addReplyError(c, error);
}

static bool parseOptions(client *c, restoreOptions *out) {
    *out = (restoreOptions){.idle_s = -1, .frequency = -1};
    for (uint32_t i = 4; i < c->argc; i++) {
        slice word = c->argv[i];
        bool has_value = i + 1 < c->argc, ok = true;
        if (sliceIs(word, "replace")) {
            out->replace = true;
        } else if (sliceIs(word, "absttl")) {
            out->absolute_ttl = true;
        } else if (has_value && out->frequency == -1 && sliceIs(word, "idletime")) {
            ok = parseUse(c, ++i, LLONG_MAX, &out->idle_s, "Invalid IDLETIME value, must be >= 0");
        } else if (has_value && out->idle_s == -1 && sliceIs(word, "freq")) {
            ok = parseUse(c, ++i, 255, &out->frequency, "Invalid FREQ value, must be >= 0 and <= 255");
        } else {
            addReplySyntaxError(c);
            ok = false;
        }
        if (!ok) return false;
    }
    return true;
}

/* Converts argument 2 to an expiry in milliseconds since 1970; 0 means none. A relative time that overflows wraps
 * around into the past. */
static bool parseTtl(client *c, bool absolute, int64_t *when_ms) {
    long long ttl_ms;
    if (!getLongLongFromArg(c, 2, &ttl_ms, NULL)) return false;
    if (ttl_ms < 0) return addReplyError(c, "Invalid TTL value, must be >= 0");
    *when_ms = ttl_ms;
    if (ttl_ms && !absolute) *when_ms = (int64_t)((uint64_t)ttl_ms + (uint64_t)storeNowMs());
    return true;
}

/* Sets the LRU or LFU bits as the maxmemory policy uses them. The option of the other kind of policy is ignored. An
 * idle time that is longer than the range of the clock wraps around. */
static void applyUse(robj *o, const restoreOptions *options) {
    if (store_settings.maxmemory_policy & MAXMEMORY_FLAG_LFU) {
        if (options->frequency != -1) lfuSetFrequency(o, (unsigned)options->frequency);
    } else if (options->idle_s != -1) {
        lruSetIdle(o, options->idle_s & LRU_CLOCK_MAX);
    }
}

/* Handles an expiry in the past: the old key has been deleted, no new one is created. */
static void restoreExpired(client *c, hashedKey key, bool deleted) {
    if (deleted) keyChanged(c, key, NOTIFY_GENERIC, "del", 1);
    if (deleted) propagateExpired(c, key.name);
    addReplyOk(c);
}

/* Propagates the command with an absolute expiry. */
static void propagateAbsolute(const client *c, int64_t when_ms) {
    if (!propagateRewritten(c)) return;
    propagateArg(c->argv[1]);
    propagateNumber(when_ms);
    propagateArgs(c, 3, c->argc);
    propagateWord("ABSTTL");
    propagateDone();
}

/* Returns the value of the payload in argument 3; NULL after an error reply. */
static robj *readPayload(client *c, slice key, bool with_expire) {
    slice payload = c->argv[3];
    if (!payloadIsGood(c, payload)) {
        addReplyError(c, "DUMP payload version or checksum are wrong");
        return NULL;
    }
    robj *o = dumpPayloadRead(payload, key, with_expire);
    if (!o) addReplyError(c, "Bad data format");
    return o;
}

#define BYTES_OF_ELEMENT 16 /* about; of a payload */

/* Does the same, and serves other clients meanwhile if the payload is large. They do not write to the key. Returns NULL
 * also if the command is postponed. */
static robj *readInSlices(client *c, slice key, bool with_expire) {
    slicedStart slices = slicedBegin(c, NULL, c->argv[3].len / BYTES_OF_ELEMENT);
    if (likely(slices == SLICED_NO)) return readPayload(c, key, with_expire);
    if (slices == SLICED_POSTPONED) return NULL;
    slicedLoops(c);
    robj *o = readPayload(c, key, with_expire);
    slicedEnd(c);
    if (!o) propagateNothing(); /* changes of others do not count as its own */
    return o;
}

/* RESTORE key ttl payload [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency] */
void restoreCommand(client *c) {
    restoreOptions options;
    int64_t when_ms;
    if (!parseOptions(c, &options)) return;
    hashedKey key = clientKeyAt(c, 1);
    if (!options.replace && lookupKeyWrite(c->db, key)) {
        addReplyError(c, "-BUSYKEY Target key name already exists.");
        return;
    }
    if (!parseTtl(c, options.absolute_ttl, &when_ms)) return;
    robj *o = readInSlices(c, key.name, when_ms != 0);
    if (!o) return;

    bool deleted = options.replace && dbDelete(c->db, key);
    if (when_ms && storeExpirePassed(when_ms)) {
        objectReleaseNow(o);
        restoreExpired(c, key, deleted);
        return;
    }
    if (when_ms) o = objectSetExpireTake(o, when_ms);
    applyUse(o, &options);
    dbAddTake(c->db, o, key);
    keyChanged(c, key, NOTIFY_GENERIC, "restore", 1);
    if (when_ms && !options.absolute_ttl) propagateAbsolute(c, when_ms);
    addReplyOk(c);
}

/* RESTORE-ASKING is RESTORE for keys of a cluster slot that is being imported. */
void restoreAskingCommand(client *c) { restoreCommand(c); }

/* t_stream_pending.c -- entries that a group has read but not acknowledged: XACK, XPENDING, XCLAIM, XAUTOCLAIM.
 *
 * Not here    how entries become pending (t_stream_read.c).
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 * Tests       tests/type/stream.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_memory.h"
#include "commands.h"
#include "db.h"
#include "propagate.h"
#include "stream_args.h"
#include "typed_key.h"
#include "zmalloc.h"
#include <limits.h>
#include <stdio.h>

static void addReplyNoGroup(client *c) {
    slice key = c->argv[1], group = c->argv[2];
    addReplyErrorFormat(c, "-NOGROUP No such key '%.*s' or consumer group '%.*s'", (int)key.len, key.ptr,
                        (int)group.len, group.ptr);
}

/* Looks up the stream and the group in the first two arguments. Returns NULL after an error reply or, if one of them is
 * absent, after calling `absent`. */
static streamGroup *groupFromArgs(client *c, stream **s, void (*absent)(client *c)) {
    if (!streamRead(c, clientKeyAt(c, 1), s)) return NULL;
    streamGroup *g = *s ? streamGroupFind(*s, c->argv[2]) : NULL;
    if (!g) absent(c);
    return g;
}

/* ---- XACK -------------------------------------------------------------------------------------------------------- */

void xackCommand(client *c) {
    stream *s;
    streamId id;
    long long confirmed = 0;
    streamGroup *g = groupFromArgs(c, &s, addReplyZero);
    if (!g || !streamIdsCheck(c, 3)) return;
    for (uint32_t i = 3; i < c->argc; i++)
        if (parseStreamId(c->argv[i], STREAM_ARG_STRICT, 0, &id)) confirmed += streamPendingRemove(g, id);
    if (confirmed) keyGroupsChanged(c, clientKeyAt(c, 1), 0, NULL, confirmed);
    addReplyLongLong(c, confirmed);
}

/* ---- XPENDING ---------------------------------------------------------------------------------------------------- */

static void pendingSummary(client *c, const streamGroup *g) {
    addReplyArrayLen(c, 4);
    addReplyLongLong(c, (long long)g->pending);
    if (g->pending == 0) {
        addReplyNull(c);
        addReplyNull(c);
        addReplyNullArray(c);
        return;
    }
    streamPendingWalk w;
    streamPendingFrom(&w, g, NULL, STREAM_ID_MIN);
    addReplyStreamId(c, streamPendingNext(&w)->id);
    addReplyStreamId(c, g->last->entries[g->last->count - 1].id);
    long long shown = 0;
    void *deferred = addReplyDeferredLen(c);
    raxIterator it;
    for (bool on = raxIterFirst(&it, g->consumers); on; on = raxIterNext(&it)) {
        const streamConsumer *consumer = raxIterValue(&it);
        if (consumer->pending == 0) continue;
        addReplyArrayLen(c, 2);
        addReplyBulk(c, streamConsumerName(consumer));
        addReplyBulkLongLong(c, (long long)consumer->pending);
        shown++;
    }
    raxIterEnd(&it);
    setDeferredArrayLen(c, deferred, shown);
}

typedef struct pendingFilter {
    bool all; /* the short form, without a range */
    long long idle_ms, count;
    streamId start, end;
    uint32_t consumer_arg; /* 0: all consumers */
} pendingFilter;

static bool parsePending(client *c, pendingFilter *f) {
    uint32_t at = 3;
    f->all = c->argc == 3;
    if (f->all) return true;
    if (c->argc < 6 || c->argc > 9) return addReplySyntaxError(c);
    if (sliceIs(c->argv[3], "idle")) {
        if (!getLongLongFromArg(c, 4, &f->idle_ms, NULL)) return false;
        if (c->argc < 8) return addReplySyntaxError(c);
        at = 5;
    }
    if (!getLongLongFromArg(c, at + 2, &f->count, NULL)) return false;
    if (f->count < 0) f->count = 0;
    if (!getStreamStartFromArg(c, at, &f->start) || !getStreamEndFromArg(c, at + 1, &f->end)) return false;
    if (at + 3 < c->argc) f->consumer_arg = at + 3;
    return true;
}

static void pendingRange(client *c, const streamGroup *g, const pendingFilter *f) {
    const streamConsumer *consumer = f->consumer_arg ? streamConsumerFind(g, c->argv[f->consumer_arg]) : NULL;
    if (f->consumer_arg && !consumer) {
        addReplyEmptyArray(c);
        return;
    }
    int64_t now_ms = storeNowMs();
    long long shown = 0;
    void *deferred = addReplyDeferredLen(c);
    streamPendingWalk w;
    streamPendingFrom(&w, g, consumer, f->start);
    for (const streamPending *p; shown < f->count && !replyIsDropped(c) && (p = streamPendingNext(&w));) {
        if (streamIdCmp(p->id, f->end) > 0) break;
        int64_t idle_ms = now_ms - p->delivered_ms;
        if (f->idle_ms && idle_ms < f->idle_ms) continue;
        addReplyArrayLen(c, 4);
        addReplyStreamId(c, p->id);
        addReplyBulk(c, streamConsumerName(p->consumer));
        addReplyLongLong(c, idle_ms < 0 ? 0 : idle_ms);
        addReplyLongLong(c, (long long)p->deliveries);
        shown++;
    }
    setDeferredArrayLen(c, deferred, shown);
}

void xpendingCommand(client *c) {
    pendingFilter filter = {.idle_ms = 0};
    stream *s;
    if (!parsePending(c, &filter)) return;
    const streamGroup *g = groupFromArgs(c, &s, addReplyNoGroup);
    if (!g) return;
    if (filter.all) pendingSummary(c, g);
    else pendingRange(c, g, &filter);
}

/* ---- XCLAIM ------------------------------------------------------------------------------------------------------ */

typedef struct claimOptions {
    long long min_idle_ms;
    uint32_t ids_end; /* index after the last ID */
    long long delivered_ms;
    long long deliveries;
    bool has_deliveries, force, justid;
    streamId last_id;
} claimOptions;

/* Parses the number of an option. Returns false after an error reply. */
static bool getClaimNumber(client *c, uint32_t index, const char *name, long long *n) {
    char msg[64];
    snprintf(msg, sizeof(msg), "Invalid %s option argument for XCLAIM", name);
    return getLongLongFromArg(c, index, n, msg);
}

static bool takeClaimOption(client *c, uint32_t *at, int64_t now_ms, claimOptions *opts) {
    slice word = c->argv[*at];
    bool more = *at + 1 < c->argc;
    long long n;
    if (sliceIs(word, "force")) {
        opts->force = true;
    } else if (sliceIs(word, "justid")) {
        opts->justid = true;
    } else if (sliceIs(word, "idle") && more) {
        if (!getClaimNumber(c, ++*at, "IDLE", &n)) return false;
        opts->delivered_ms = (long long)((uint64_t)now_ms - (uint64_t)n);
    } else if (sliceIs(word, "time") && more) {
        if (!getClaimNumber(c, ++*at, "TIME", &opts->delivered_ms)) return false;
    } else if (sliceIs(word, "retrycount") && more) {
        if (!getClaimNumber(c, ++*at, "RETRYCOUNT", &opts->deliveries)) return false;
        opts->has_deliveries = opts->deliveries >= 0;
    } else if (sliceIs(word, "lastid") && more) {
        if (!getStreamIdFromArg(c, ++*at, STREAM_ARG_STRICT, 0, &opts->last_id)) return false;
    } else {
        return addReplyErrorFormat(c, "Unrecognized XCLAIM option '%.*s'", (int)word.len, word.ptr);
    }
    return true;
}

static bool parseClaim(client *c, int64_t now_ms, claimOptions *opts) {
    streamId id;
    if (!getLongLongFromArg(c, 4, &opts->min_idle_ms, "Invalid min-idle-time argument for XCLAIM")) return false;
    if (opts->min_idle_ms < 0) opts->min_idle_ms = 0;
    opts->delivered_ms = -1;
    uint32_t at = 5;
    while (at < c->argc && parseStreamId(c->argv[at], STREAM_ARG_STRICT, 0, &id)) at++;
    opts->ids_end = at;
    for (; at < c->argc; at++) {
        if (!takeClaimOption(c, &at, now_ms, opts)) return false;
    }
    /* A time in the future would make the idle time negative. */
    if (opts->delivered_ms < 0 || opts->delivered_ms > now_ms) opts->delivered_ms = now_ms;
    return true;
}

/* Gives an entry, which it finds by `it`, to the consumer. Returns true if it was added to the reply. `changes` counts
 * the changes to be propagated. */
static bool claimEntry(client *c, streamIterator *it, streamGroup *g, streamConsumer *consumer, streamId id,
                       const claimOptions *opts, long long *changes) {
    streamPending *p = streamPendingFind(g, id);
    size_t fields;
    if (!streamFind(it, id, &fields)) {
        if (!p) return false;
        propagateClaim(c, c->argv[1], c->argv[2], g, p);
        streamPendingRemove(g, id);
        ++*changes;
        return false;
    }
    if (!p) {
        if (!opts->force) return false;
        p = streamPendingAdd(g, id, consumer);
        streamPendingDeliver(g, p, storeNowMs());
    } else if (opts->min_idle_ms && storeNowMs() - p->delivered_ms < opts->min_idle_ms) {
        return false;
    }
    streamPendingGive(g, p, consumer);
    streamPendingDeliver(g, p, opts->delivered_ms);
    if (opts->has_deliveries) p->deliveries = (uint64_t)opts->deliveries;
    else if (!opts->justid) p->deliveries++;
    if (opts->justid) addReplyStreamId(c, id);
    else addReplyStreamEntry(c, it, id, fields);
    propagateClaim(c, c->argv[1], c->argv[2], g, p);
    ++*changes;
    return true;
}

/* Returns the consumer that claims, which is created if necessary. Returns NULL after an error reply. */
static streamConsumer *claimant(client *c, hashedKey key, streamGroup *g, bool *is_new) {
    *is_new = !streamConsumerFind(g, c->argv[3]);
    streamConsumer *consumer = streamConsumerOrReply(c, key, g, c->argv[3]);
    if (!consumer) return NULL;
    consumer->seen_ms = storeNowMs();
    propagateNothing(); /* instead, each claimed entry is propagated */
    return consumer;
}

/* Ends a claim of `claimed` entries: marks the consumer as active, or propagates it if it is new and has got none. */
static void endClaim(client *c, streamConsumer *consumer, bool is_new, size_t claimed) {
    if (claimed) consumer->active_ms = storeNowMs();
    else if (is_new) propagateConsumer(c, c->argv[1], c->argv[2], c->argv[3]);
}

void xclaimCommand(client *c) {
    claimOptions opts = {.min_idle_ms = 0};
    stream *s;
    hashedKey key = clientKeyAt(c, 1);
    streamGroup *g = groupFromArgs(c, &s, addReplyNoGroup);
    if (!g || !parseClaim(c, storeNowMs(), &opts)) return;
    bool is_new;
    streamConsumer *consumer = claimant(c, key, g, &is_new);
    if (!consumer) return;

    bool moved = streamIdCmp(opts.last_id, g->last_id) > 0;
    if (moved) g->last_id = opts.last_id;
    long long claimed = 0, changes = 0;
    streamIterator it;
    streamFindBegin(&it, s);
    void *deferred = addReplyDeferredLen(c);
    for (uint32_t i = 5; i < opts.ids_end; i++) {
        streamId id;
        if (!parseStreamId(c->argv[i], STREAM_ARG_STRICT, 0, &id)) continue;
        claimed += claimEntry(c, &it, g, consumer, id, &opts, &changes);
    }
    setDeferredArrayLen(c, deferred, claimed);
    endClaim(c, consumer, is_new, (size_t)claimed);
    if (moved && changes == 0) {
        propagateGroupId(c, key.name, c->argv[2], g);
        changes = 1;
    }
    if (changes) keyGroupsChanged(c, key, 0, NULL, changes);
}

/* ---- XAUTOCLAIM -------------------------------------------------------------------------------------------------- */

#define CLAIM_COUNT 100
#define CLAIM_VISITS 10 /* entries that are visited for each that may be claimed */
#define CLAIM_COUNT_MAX ((long long)(LONG_MAX / 16))

typedef struct autoclaimOptions {
    long long min_idle_ms, count;
    streamId start;
    bool justid;
} autoclaimOptions;

static bool parseAutoclaim(client *c, autoclaimOptions *opts) {
    if (!getLongLongFromArg(c, 4, &opts->min_idle_ms, "Invalid min-idle-time argument for XAUTOCLAIM")) return false;
    if (opts->min_idle_ms < 0) opts->min_idle_ms = 0;
    if (!getStreamStartFromArg(c, 5, &opts->start)) return false;
    opts->count = CLAIM_COUNT;
    for (uint32_t at = 6; at < c->argc; at++) {
        if (sliceIs(c->argv[at], "count") && at + 1 < c->argc) {
            if (!getRangeLongFromArg(c, ++at, 1, CLAIM_COUNT_MAX, &opts->count, "COUNT must be > 0")) return false;
        } else if (sliceIs(c->argv[at], "justid")) {
            opts->justid = true;
        } else {
            return addReplySyntaxError(c);
        }
    }
    return true;
}

/* The result of a walk, in the order of IDs: claimed entries, and pending ones that were removed because their entries
 * have been deleted. */
typedef struct claimed {
    streamId *ids; /* owns: claimed ones from the front, removed ones from the back */
    size_t capacity, claimed, deleted;
    streamId cursor; /* where the next call continues; 0-0 at the end */
} claimed;

static void autoclaim(const client *c, const stream *s, streamGroup *g, streamConsumer *consumer,
                      const autoclaimOptions *opts, claimed *found) {
    int64_t now_ms = storeNowMs();
    unsigned long long visits = (unsigned long long)opts->count * CLAIM_VISITS;
    streamPendingWalk w;
    streamPending *p;
    streamIterator it;
    size_t fields;
    streamPendingFrom(&w, g, NULL, opts->start);
    streamFindBegin(&it, s);
    while ((p = streamPendingNext(&w)) && visits > 0 && found->claimed + found->deleted < found->capacity) {
        streamId id = p->id;
        visits--;
        if (!streamFind(&it, id, &fields)) {
            found->ids[found->capacity - ++found->deleted] = id;
            propagateClaim(c, c->argv[1], c->argv[2], g, p);
            streamPendingRemove(g, id);
            if (!streamIdNext(&id)) return;
            streamPendingFrom(&w, g, NULL, id);
            continue;
        }
        if (opts->min_idle_ms && now_ms - p->delivered_ms < opts->min_idle_ms) continue;
        streamPendingGive(g, p, consumer);
        streamPendingDeliver(g, p, now_ms);
        if (!opts->justid) p->deliveries++;
        propagateClaim(c, c->argv[1], c->argv[2], g, p);
        found->ids[found->claimed++] = id;
    }
    if (p) found->cursor = p->id;
}

static void addReplyClaimed(client *c, const stream *s, const claimed *found, bool justid) {
    streamIterator it;
    streamFindBegin(&it, s);
    addReplyArrayLen(c, 3);
    addReplyStreamId(c, found->cursor);
    addReplyArrayLen(c, (long long)found->claimed);
    for (size_t i = 0; i < found->claimed; i++) {
        if (justid) addReplyStreamId(c, found->ids[i]);
        else addReplyStreamEntryOf(c, &it, found->ids[i]);
    }
    addReplyArrayLen(c, (long long)found->deleted);
    for (size_t i = 0; i < found->deleted; i++) addReplyStreamId(c, found->ids[found->capacity - 1 - i]);
}

void xautoclaimCommand(client *c) {
    autoclaimOptions opts = {.justid = false};
    stream *s;

    if (!parseAutoclaim(c, &opts)) return;
    hashedKey key = clientKeyAt(c, 1);
    streamGroup *g = groupFromArgs(c, &s, addReplyNoGroup);
    if (!g) return;
    claimed found = {.capacity = (size_t)opts.count < g->pending ? (size_t)opts.count : g->pending};
    size_t bytes = found.capacity * sizeof(*found.ids);
    if (bytes >= COMMAND_MEMORY_LARGE && !commandMemoryReserve(c, bytes)) return;
    bool is_new;
    streamConsumer *consumer = claimant(c, key, g, &is_new);
    if (!consumer) return;
    if (found.capacity) found.ids = zmalloc(bytes);
    autoclaim(c, s, g, consumer, &opts, &found);
    addReplyClaimed(c, s, &found, opts.justid);
    zfree(found.ids);
    endClaim(c, consumer, is_new, found.claimed);
    if (found.claimed + found.deleted) keyGroupsChanged(c, key, 0, NULL, (long long)(found.claimed + found.deleted));
}

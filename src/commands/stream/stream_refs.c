/* stream_refs.c -- XDELEX, XACKDEL, and trimming that regards groups (DELREF and ACKED of XADD and XTRIM).
 *
 * No version of Valkey has these commands and options: they are propagated as XACK, XDEL, XADD and XTRIM.
 *
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 *             2. Each removed reference and each deleted entry is propagated by a command of its own.
 * Tests       tests/type/stream.tcl, tests/differential/redis8
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "stream_refs.h"

#include "commands.h"
#include "db.h"
#include "propagate.h"
#include "stream_args.h"
#include "typed_key.h"
#include <limits.h>

bool streamRefsParse(slice word, streamRefs *refs) {
    if (*refs != STREAM_REFS_UNSET) return false;
    if (sliceIs(word, "keepref")) *refs = STREAM_REFS_KEEP;
    else if (sliceIs(word, "delref")) *refs = STREAM_REFS_DROP;
    else if (sliceIs(word, "acked")) *refs = STREAM_REFS_ACKED;
    return *refs != STREAM_REFS_UNSET;
}

/* ---- References -------------------------------------------------------------------------------------------------- */

static bool isReferenced(const stream *s, streamId id) {
    bool found = false;
    raxIterator it;
    if (!s->groups) return false;
    for (bool on = raxIterFirst(&it, s->groups); on && !found; on = raxIterNext(&it)) {
        const streamGroup *g = raxIterValue(&it);
        found = streamIdCmp(id, g->last_id) > 0 || streamPendingFind(g, id);
    }
    raxIterEnd(&it);
    return found;
}

/* Returns the smallest ID up to which a group has read: each entry above it is referenced. */
static streamId readByAll(const stream *s) {
    streamId least = STREAM_ID_MAX;
    raxIterator it;
    if (!s->groups) return least;
    for (bool on = raxIterFirst(&it, s->groups); on; on = raxIterNext(&it)) {
        const streamGroup *g = raxIterValue(&it);
        if (streamIdCmp(g->last_id, least) < 0) least = g->last_id;
    }
    raxIterEnd(&it);
    return least;
}

static void propagateAck(const client *c, slice group, streamId id) {
    if (!propagateInstead(c, "XACK")) return;
    propagateArg(c->argv[1]);
    propagateCopied(group);
    propagateStreamId(id);
    propagateDone();
}

/* Removes the pending entries of an ID from all groups. Returns their number. */
static long long dropRefs(const client *c, stream *s, streamId id) {
    long long dropped = 0;
    raxIterator it;
    if (!s->groups) return 0;
    for (bool on = raxIterFirst(&it, s->groups); on; on = raxIterNext(&it)) {
        if (!streamPendingRemove(raxIterValue(&it), id)) continue;
        propagateAck(c, raxIterKey(&it), id);
        dropped++;
    }
    raxIterEnd(&it);
    return dropped;
}

static bool deleteEntry(const client *c, stream *s, streamId id) {
    if (!streamDelete(s, id)) return false;
    if (propagateInstead(c, "XDEL")) {
        propagateArg(c->argv[1]);
        propagateStreamId(id);
        propagateDone();
    }
    return true;
}

/* ---- Trimming ---------------------------------------------------------------------------------------------------- */

/* Returns whether the trimming ends before the entry, after `deleted` entries. */
static bool trimEnds(const streamTrimSpec *spec, uint64_t left, uint64_t deleted, streamId id) {
    if (spec->limit && deleted >= spec->limit) return true;
    return spec->kind == STREAM_TRIM_MAXLEN ? left <= spec->maxlen : streamIdCmp(id, spec->minid) >= 0;
}

static uint64_t trimDroppingRefs(client *c, stream *s, const streamTrimSpec *spec) {
    uint64_t count = 0;
    streamIterator it;
    streamId id;
    size_t fields;
    streamIterBegin(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, false);
    for (; streamIterNext(&it, &id, &fields) && !trimEnds(spec, s->length - count, count, id); count++)
        dropRefs(c, s, id);
    streamIterEnd(&it);
    streamTrimSpec exact = {.kind = STREAM_TRIM_MAXLEN, .maxlen = s->length - count};
    return streamTrim(s, &exact);
}

/* Entries that are not deleted are left between deleted ones, so the deletions count as those of XDEL. */
static uint64_t trimAcked(client *c, stream *s, const streamTrimSpec *spec) {
    uint64_t deleted = 0;
    streamIterator it;
    streamId id, last = readByAll(s);
    size_t fields;
    streamIterBegin(&it, s, STREAM_ID_MIN, last, false);
    while (streamIterNext(&it, &id, &fields) && !trimEnds(spec, s->length, deleted, id)) {
        if (isReferenced(s, id)) continue;
        streamIterEnd(&it);
        deleted += deleteEntry(c, s, id);
        streamIterBegin(&it, s, id, last, false);
    }
    streamIterEnd(&it);
    return deleted;
}

uint64_t streamTrimRefs(client *c, stream *s, const streamTrimSpec *spec, streamRefs refs) {
    if (spec->kind == STREAM_TRIM_NONE) return 0;
    if (refs == STREAM_REFS_DROP) return trimDroppingRefs(c, s, spec);
    return refs == STREAM_REFS_ACKED ? trimAcked(c, s, spec) : streamTrim(s, spec);
}

/* ---- XDELEX, XACKDEL --------------------------------------------------------------------------------------------- */

enum { REPLY_ABSENT = -1, REPLY_DELETED = 1, REPLY_REFERENCED = 2 };

typedef struct deleteOptions {
    streamRefs refs;
    uint32_t ids_arg, ids_end;
} deleteOptions;

/* Parses the options from argument `at` on. Returns false after an error reply. */
static bool parseDelete(client *c, uint32_t at, deleteOptions *opts) {
    long long count;
    while (at < c->argc) {
        if (streamRefsParse(c->argv[at], &opts->refs)) {
            at++;
            continue;
        }
        if (!sliceIs(c->argv[at], "ids") || c->argc - at < 2) return addReplySyntaxError(c);
        if (!getRangeLongFromArg(c, at + 1, 1, LONG_MAX, &count, "Number of IDs must be a positive integer"))
            return false;
        if (count > (long long)c->argc - at - 2)
            return addReplyError(c, "The `numids` parameter must match the number of arguments");
        opts->ids_arg = at + 2;
        at = opts->ids_end = opts->ids_arg + (uint32_t)count;
    }
    return opts->ids_arg != 0 || addReplySyntaxError(c);
}

/* Deletes the entries of a command. With a group, only of IDs that are pending in it, which it acknowledges. */
static void deleteEntries(client *c, stream *s, streamGroup *g, const deleteOptions *opts) {
    long long deleted = 0, dropped = 0;
    streamId id;

    for (uint32_t i = opts->ids_arg; i < opts->ids_end; i++)
        if (!getStreamIdFromArg(c, i, STREAM_ARG_STRICT, 0, &id)) return;
    addReplyArrayLen(c, opts->ids_end - opts->ids_arg);
    for (uint32_t i = opts->ids_arg; i < opts->ids_end; i++) {
        if (!parseStreamId(c->argv[i], STREAM_ARG_STRICT, 0, &id)) continue;
        if (g && !streamPendingRemove(g, id)) {
            addReplyLongLong(c, REPLY_ABSENT);
            continue;
        }
        if (g) propagateAck(c, c->argv[2], id);
        dropped += g != NULL;
        if (opts->refs == STREAM_REFS_ACKED && isReferenced(s, id)) {
            addReplyLongLong(c, REPLY_REFERENCED);
            continue;
        }
        if (opts->refs == STREAM_REFS_DROP) dropped += dropRefs(c, s, id);
        bool found = deleteEntry(c, s, id);
        deleted += found;
        addReplyLongLong(c, found || g ? REPLY_DELETED : REPLY_ABSENT);
    }
    hashedKey key = clientKeyAt(c, 1);
    if (deleted) keyChanged(c, key, NOTIFY_STREAM, "xdel", deleted + dropped);
    else if (dropped) keyGroupsChanged(c, key, 0, NULL, dropped);
}

static void deleteGeneric(client *c, bool of_group) {
    deleteOptions opts = {.refs = STREAM_REFS_UNSET};
    stream *s;

    if (!streamWrite(c, clientKeyAt(c, 1), &s) || !parseDelete(c, of_group ? 3 : 2, &opts)) return;
    streamGroup *g = s && of_group ? streamGroupFind(s, c->argv[2]) : NULL;
    if (s && (g || !of_group)) {
        deleteEntries(c, s, g, &opts);
        return;
    }
    addReplyArrayLen(c, opts.ids_end - opts.ids_arg);
    for (uint32_t i = opts.ids_arg; i < opts.ids_end; i++) addReplyLongLong(c, REPLY_ABSENT);
}

void xdelexCommand(client *c) { deleteGeneric(c, false); }
void xackdelCommand(client *c) { deleteGeneric(c, true); }

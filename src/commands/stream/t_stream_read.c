/* t_stream_read.c -- XREAD and XREADGROUP: the entries of several streams that come after an ID.
 *
 * With BLOCK, a command that finds nothing waits and runs again when one of the streams has a new entry. "$" then has
 * its meaning from the first run; "+" means the last entry at the time of each run.
 *
 * Not here    ranges of one stream (t_stream.c), acknowledging and claiming pending entries (t_stream_pending.c).
 * Threads     main.
 * Invariants  1. All arguments, keys and groups are checked before the first entry is read.
 *             2. XREAD changes nothing.
 * Tests       tests/type/stream.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "blocking.h"
#include "clock.h"
#include "commands.h"
#include "db.h"
#include "panic.h"
#include "propagate.h"
#include "stream_args.h"
#include "typed_key.h"
#include "zmalloc.h"

#include <limits.h>

typedef struct readOptions {
    bool is_group;
    uint32_t group_arg;   /* index of the group's name, followed by the consumer's; 0 if not given */
    uint32_t streams_arg; /* index of the first key; 0 if not given */
    uint32_t streams;     /* number of keys, and of the IDs after them */
    size_t count;         /* 0: no limit */
    bool noack;
    bool claims; /* CLAIM was given, with min_idle_ms */
    long long min_idle_ms;
    int64_t again_ms;    /* when an entry can be claimed; 0: no entry can */
    bool waits;          /* BLOCK was given */
    int64_t deadline_ms; /* end of the wait */
} readOptions;

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static bool takeStreams(client *c, uint32_t at, readOptions *opts) {
    uint32_t left = c->argc - at;
    if (left % 2)
        return addReplyErrorFormat(
            c, "Unbalanced '%s' list of streams: for each stream key an ID or '%s' must be specified.",
            opts->is_group ? "xreadgroup" : "xread", opts->is_group ? ">" : "$");
    opts->streams_arg = at;
    opts->streams = left / 2;
    return true;
}

/* Parses an option other than STREAMS, with `more` arguments after it. Returns the number of its arguments; 0 after an
 * error reply. */
static uint32_t takeReadOption(client *c, uint32_t at, uint32_t more, readOptions *opts) {
    long long count;
    if (sliceIs(c->argv[at], "block") && more) {
        opts->waits = true;
        return getTimeoutMsFromArg(c, at + 1, &opts->deadline_ms) ? 2 : 0;
    }
    if (sliceIs(c->argv[at], "count") && more) {
        if (!getLongLongFromArg(c, at + 1, &count, NULL)) return 0;
        opts->count = count < 0 ? 0 : (size_t)count;
        return 2;
    }
    if (sliceIs(c->argv[at], "group") && more >= 2) {
        if (!opts->is_group)
            return addReplyError(c, "The GROUP option is only supported by XREADGROUP. You called XREAD instead.");
        opts->group_arg = at + 1;
        return 3;
    }
    if (sliceIs(c->argv[at], "claim") && more) {
        if (!opts->is_group)
            return addReplyError(c, "The CLAIM option is only supported by XREADGROUP. You called XREAD instead.");
        if (!getLongLongFromArg(c, at + 1, &opts->min_idle_ms, "min-idle-time is not an integer or out of range"))
            return 0;
        if (opts->min_idle_ms < 0) return addReplyError(c, "min-idle-time must be a positive integer");
        opts->claims = true;
        return 2;
    }
    if (sliceIs(c->argv[at], "noack")) {
        if (!opts->is_group)
            return addReplyError(c, "The NOACK option is only supported by XREADGROUP. You called XREAD instead.");
        opts->noack = true;
        return 1;
    }
    return addReplySyntaxError(c);
}

static bool parseRead(client *c, readOptions *opts) {
    for (uint32_t at = 1; at < c->argc && !opts->streams_arg;) {
        uint32_t more = c->argc - at - 1;
        if (sliceIs(c->argv[at], "streams") && more) {
            if (!takeStreams(c, at + 1, opts)) return false;
        } else {
            uint32_t taken = takeReadOption(c, at, more, opts);
            if (taken == 0) return false;
            at += taken;
        }
    }
    if (!opts->streams_arg) return addReplySyntaxError(c);
    if (opts->is_group && !opts->group_arg) return addReplyError(c, "Missing GROUP option for XREADGROUP");
    return true;
}

/* ---- Planning what to read --------------------------------------------------------------------------------------- */

typedef struct readPlan {
    stream *s; /* NULL if there is nothing to read */
    streamId after;
    bool is_new; /* ">" */
} readPlan;

static bool isWord(slice text, char word) { return text.len == 1 && *text.ptr == word; }

static bool planXread(client *c, uint32_t id_arg, readPlan *plan) {
    slice text = c->argv[id_arg];
    if (isWord(text, '$')) {
        plan->after = plan->s ? plan->s->last_id : STREAM_ID_MIN;
    } else if (isWord(text, '+')) {
        plan->after = plan->s ? plan->s->last_id : STREAM_ID_MIN;
        if (!streamIdIsZero(plan->after)) (void)!streamIdPrev(&plan->after);
    } else if (isWord(text, '>')) {
        return addReplyError(
            c, "The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> "
               "option.");
    } else {
        return getStreamIdFromArg(c, id_arg, STREAM_ARG_STRICT, 0, &plan->after);
    }
    return true;
}

static bool planXreadgroup(client *c, const readOptions *opts, hashedKey key, uint32_t id_arg, readPlan *plan) {
    slice text = c->argv[id_arg], group = c->argv[opts->group_arg];
    if (!plan->s || !streamGroupFind(plan->s, group))
        return addReplyErrorFormat(
            c, "-NOGROUP No such key '%.*s' or consumer group '%.*s' in XREADGROUP with GROUP option",
            (int)key.name.len, key.name.ptr, (int)group.len, group.ptr);
    if (isWord(text, '$') || isWord(text, '+'))
        return addReplyErrorFormat(
            c,
            "The %c ID is meaningless in the context of XREADGROUP: you want to read the history of "
            "this consumer by specifying a proper ID, or use the > ID to get new messages. The %c ID "
            "would just return an empty result set.",
            *text.ptr, *text.ptr);
    plan->is_new = isWord(text, '>');
    if (plan->is_new) return true;
    if (!getStreamIdFromArg(c, id_arg, STREAM_ARG_STRICT, 0, &plan->after)) return false;
    /* The largest ID stands for ">", because no history can come after it. */
    plan->is_new = streamIdCmp(plan->after, STREAM_ID_MAX) == 0;
    return true;
}

static bool planStream(client *c, const readOptions *opts, uint32_t i, readPlan *plan) {
    *plan = (readPlan){.is_new = false};
    hashedKey key = clientKeyAt(c, opts->streams_arg + i);
    uint32_t id_arg = opts->streams_arg + opts->streams + i;
    if (!streamRead(c, key, &plan->s)) return false;
    return opts->is_group ? planXreadgroup(c, opts, key, id_arg, plan) : planXread(c, id_arg, plan);
}

/* Checks all keys, groups and IDs. Returns false after an error reply. */
static bool checkStreams(client *c, const readOptions *opts) {
    readPlan plan;
    for (uint32_t i = 0; i < opts->streams; i++)
        if (!planStream(c, opts, i, &plan)) return false;
    return true;
}

/* ---- XREAD ------------------------------------------------------------------------------------------------------- */

/* The reply: the streams that have entries, each with its key. It begins when the first one is found. */
typedef struct readReply {
    void *deferred;
    long long streams;
} readReply;

static void addReplyStreamKey(client *c, readReply *reply, slice key) {
    if (reply->streams++ == 0) reply->deferred = addReplyDeferredLen(c);
    if (c->resp == 2) addReplyArrayLen(c, 2);
    addReplyBulk(c, key);
}

#define SEEN_ALREADY (LOOKUP_NOTOUCH | LOOKUP_NOSTATS | LOOKUP_NONOTIFY)

/* Returns a copy of the arguments in which each "$" is replaced by the stream's last ID, for blockFor.args; in one
 * allocation. Returns NULL if there is no memory. */
static slice *argsWithIds(client *c, const readOptions *opts) {
    slice *args = ztrymalloc(c->argc * sizeof(*args) + opts->streams * (size_t)STREAM_ID_TEXT_SIZE);
    if (!args) return NULL;
    char *text = (char *)(args + c->argc);
    memcpy(args, c->argv, c->argc * sizeof(*args));
    for (uint32_t i = 0; i < opts->streams; i++, text += STREAM_ID_TEXT_SIZE) {
        slice *id = &args[opts->streams_arg + opts->streams + i];
        if (!isWord(*id, '$')) continue;
        const robj *o = lookupKeyReadWithFlags(c->db, clientKeyAt(c, opts->streams_arg + i), SEEN_ALREADY);
        *id = streamIdText(o ? ((const stream *)objectStructure(o))->last_id : STREAM_ID_MIN, text);
    }
    return args;
}

static void waitForMore(client *c, const readOptions *opts) {
    blockFor what = {.type = OBJ_STREAM,
                     .first_key = opts->streams_arg,
                     .keys = opts->streams,
                     .deadline_ms = opts->deadline_ms,
                     .again_ms = opts->again_ms,
                     .until_deleted = opts->is_group};
    bool needs_ids = !opts->is_group && !blockingRunsAgain(c);
    if (needs_ids && !(what.args = argsWithIds(c, opts))) addReplyNoMemory(c);
    else blockForKeys(c, &what);
}

static void endReply(client *c, const readOptions *opts, const readReply *reply) {
    if (reply->streams == 0 && opts->waits) waitForMore(c, opts);
    else if (reply->streams == 0) addReplyNullArray(c);
    else if (c->resp == 2) setDeferredArrayLen(c, reply->deferred, reply->streams);
    else setDeferredMapLen(c, reply->deferred, reply->streams);
}

static bool hasEntriesAfter(const stream *s, streamId after) {
    return s && s->length && streamIdCmp(s->last_id, after) > 0 && streamIdCmp(streamLastEntry(s), after) > 0;
}

void xreadCommand(client *c) {
    readOptions opts = {.is_group = false};
    readReply reply = {.streams = 0};
    readPlan plan;

    slice *ids = blockingRunsAgain(c) ? blockingArgs(c) : NULL;
    if (ids) c->argv = ids;
    if (!parseRead(c, &opts) || !checkStreams(c, &opts)) return;
    for (uint32_t i = 0; i < opts.streams; i++) {
        if (!planStream(c, &opts, i, &plan) || !hasEntriesAfter(plan.s, plan.after)) continue;
        addReplyStreamKey(c, &reply, c->argv[opts.streams_arg + i]);
        (void)!streamIdNext(&plan.after);
        addReplyStreamRange(c, plan.s, plan.after, STREAM_ID_MAX, false, opts.count);
    }
    endReply(c, &opts, &reply);
}

/* ---- XREADGROUP -------------------------------------------------------------------------------------------------- */

/* Adds the entries that are claimed for the consumer. They are pending also with NOACK. */
static void addClaimed(client *c, hashedKey key, stream *s, streamGroup *g, streamConsumer *consumer,
                       const readOptions *opts, const streamIdle *idle, size_t count) {
    streamIterator it;
    size_t fields;
    int64_t now_ms = storeNowMs();
    for (size_t i = 0; i < count; i++) {
        streamPending *p = streamPendingFind(g, idle[i].id);
        streamFindBegin(&it, s);
        serverAssert(p && streamFind(&it, p->id, &fields));
        int64_t idle_ms = p->delivered_ms < now_ms ? now_ms - p->delivered_ms : 0;
        addReplyStreamClaimed(c, &it, p->id, fields, idle_ms, p->deliveries);
        streamPendingGive(g, p, consumer);
        streamPendingDeliver(g, p, now_ms);
        p->deliveries++;
        propagateClaim(c, key.name, c->argv[opts->group_arg], g, p);
    }
}

/* Replies with entries that the group has not read yet, and makes them pending for the consumer. With CLAIM, those that
 * are idle come before them. */
static void readNew(client *c, hashedKey key, stream *s, streamGroup *g, streamConsumer *consumer,
                    const readOptions *opts, const streamIdle *idle, size_t idle_count) {
    streamIterator it;
    streamId from = g->last_id, id;
    size_t fields, shown = idle_count, read = 0;
    int64_t now_ms = storeNowMs();
    slice group = c->argv[opts->group_arg];
    void *deferred = addReplyDeferredLen(c);

    addClaimed(c, key, s, g, consumer, opts, idle, idle_count);
    (void)!streamIdNext(&from);
    streamIterBegin(&it, s, from, STREAM_ID_MAX, false);
    while ((opts->count == 0 || shown < opts->count) && streamIterNext(&it, &id, &fields)) {
        streamGroupAdvance(s, g, id);
        if (opts->claims) addReplyStreamClaimed(c, &it, id, fields, 0, 0);
        else addReplyStreamEntry(c, &it, id, fields);
        shown++;
        read++;
        if (opts->noack) continue;
        /* A group whose position was set back may read entries that are pending already. */
        streamPending *p = streamPendingFind(g, id);
        if (p) streamPendingGive(g, p, consumer);
        else p = streamPendingAdd(g, id, consumer);
        streamPendingDeliver(g, p, now_ms);
        p->deliveries = 1;
        propagateClaim(c, key.name, group, g, p);
    }
    streamIterEnd(&it);
    if (read || !idle_count) propagateGroupId(c, key.name, group, g);
    setDeferredArrayLen(c, deferred, (long long)shown);
    if (!opts->noack || idle_count) consumer->active_ms = now_ms;
    keyGroupsChanged(c, key, 0, NULL, 1);
}

/* Replies with the consumer's pending entries after an ID. Of those that were deleted only the ID is left. */
static void readHistory(client *c, hashedKey key, const stream *s, streamGroup *g, const streamConsumer *consumer,
                        streamId after, const readOptions *opts) {
    streamPendingWalk w;
    streamIterator it;
    size_t shown = 0;
    int64_t now_ms = storeNowMs();
    void *deferred = addReplyDeferredLen(c);

    (void)!streamIdNext(&after);
    streamFindBegin(&it, s);
    streamPendingFrom(&w, g, consumer, after);
    for (streamPending *p; (opts->count == 0 || shown < opts->count) && (p = streamPendingNext(&w)); shown++) {
        if (addReplyStreamEntryOf(c, &it, p->id)) {
            streamPendingDeliver(g, p, now_ms);
            p->deliveries++;
            propagateClaim(c, key.name, c->argv[opts->group_arg], g, p);
            continue;
        }
        addReplyArrayLen(c, 2);
        addReplyStreamId(c, p->id);
        addReplyNullArray(c);
    }
    setDeferredArrayLen(c, deferred, (long long)shown);
    keyGroupsChanged(c, key, 0, NULL, 1);
}

#define LOOK_AGAIN_MS \
    1000 /* for entries that others make pending while the client waits, if they are not idle before */

/* Notes when the command can claim an entry that was delivered at `delivered_ms`, or else look again. */
static void noteAgain(readOptions *opts, int64_t delivered_ms) {
    int64_t now_ms = clockWallMs(), after_ms = opts->min_idle_ms;
    if (after_ms < LOOK_AGAIN_MS) after_ms = LOOK_AGAIN_MS;
    if (opts->min_idle_ms > INT64_MAX - now_ms - LOOK_AGAIN_MS) return;
    int64_t again_ms = now_ms + after_ms;
    if (delivered_ms < again_ms - opts->min_idle_ms) again_ms = delivered_ms + opts->min_idle_ms;
    if (!opts->again_ms || again_ms < opts->again_ms) opts->again_ms = again_ms;
}

/* Finds what the consumer can claim (streamPendingIdle()). */
static size_t findIdle(readOptions *opts, const stream *s, streamGroup *g, streamIdle **idle) {
    int64_t next_ms;
    size_t count = opts->count ? opts->count : SIZE_MAX;
    if (opts->min_idle_ms > storeNowMs()) return 0;
    size_t found = streamPendingIdle(s, g, storeNowMs() - opts->min_idle_ms, count, idle, &next_ms);
    noteAgain(opts, next_ms);
    return found;
}

/* Reads one stream. Returns false after an error reply. */
static bool readAsConsumer(client *c, readOptions *opts, uint32_t i, const readPlan *plan, readReply *reply) {
    hashedKey key = clientKeyAt(c, opts->streams_arg + i);
    stream *s;
    if (!streamWrite(c, key, &s) || !s) return true;
    streamGroup *g = streamGroupFind(s, c->argv[opts->group_arg]);
    slice name = c->argv[opts->group_arg + 1];
    serverAssert(g); /* planStream() has found it */
    bool is_new = !streamConsumerFind(g, name), has_new = plan->is_new && hasEntriesAfter(s, g->last_id);
    streamConsumer *consumer = streamConsumerTry(c, key, g, name);
    if (!consumer) {
        if (reply->streams > 0) return true; /* left out: an error cannot follow streams in the same reply */
        return addReplyNoMemory(c);
    }
    consumer->seen_ms = storeNowMs();
    streamIdle *idle = NULL;
    size_t idle_count = opts->claims && plan->is_new ? findIdle(opts, s, g, &idle) : 0;
    bool is_implied = idle_count || (has_new && !opts->noack); /* by an XCLAIM */
    if (is_new && !is_implied) propagateConsumer(c, key.name, c->argv[opts->group_arg], name);
    if (!plan->is_new) {
        addReplyStreamKey(c, reply, key.name);
        readHistory(c, key, s, g, consumer, plan->after, opts);
    } else if (has_new || idle_count) {
        addReplyStreamKey(c, reply, key.name);
        readNew(c, key, s, g, consumer, opts, idle, idle_count);
    }
    zfree(idle);
    return true;
}

void xreadgroupCommand(client *c) {
    readOptions opts = {.is_group = true};
    readReply reply = {.streams = 0};
    readPlan plan;

    propagateNothing(); /* instead, each effect is propagated: the entries depend on when a group is read */
    if (!parseRead(c, &opts) || !checkStreams(c, &opts)) return;
    for (uint32_t i = 0; i < opts.streams; i++) {
        if (planStream(c, &opts, i, &plan) && !readAsConsumer(c, &opts, i, &plan, &reply)) return;
    }
    endReply(c, &opts, &reply);
}

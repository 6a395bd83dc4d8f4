/* t_stream.c -- commands of the entries of a stream: XADD, XTRIM, XLEN, XRANGE, XREVRANGE, XDEL, XSETID.
 *
 * Not here    XDELEX, XACKDEL (stream_refs.c), producers (stream_idmp.c), XREAD and XREADGROUP (t_stream_read.c),
 *             groups (t_stream_groups.c), pending entries (t_stream_pending.c), XINFO (t_stream_info.c).
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 *             2. XADD and XTRIM propagate and report a change in one place each, which knows the ID that was generated
 *                and the bound of the trimming.
 * Tests       tests/type/stream.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_memory.h"
#include "commands.h"
#include "db.h"
#include "object_settings.h"
#include "propagate.h"
#include "stream_args.h"
#include "stream_idmp.h"
#include "stream_refs.h"
#include "typed_key.h"

/* ---- Options of XADD and XTRIM ----------------------------------------------------------------------------------- */

typedef struct addOptions {
    streamTrimSpec trim;
    bool has_limit;
    bool no_mkstream;
    streamRefs refs;
    streamIdmpArgs idmp;
    bool auto_id, auto_seq; /* "*", "ms-*" */
    streamId id;
    uint32_t fields_arg; /* index of the first field */
    uint32_t bound_arg;  /* index of the trimming's bound */
} addOptions;

#define TRIM_LIMIT_NODES 100 /* with "~" and without LIMIT, a call trims at most this many */
#define TRIM_LIMIT_UNKNOWN 10000
#define TRIM_LIMIT_MAX 1000000

/* Parses the strategy at argument `at`, with "=" or "~" and the bound. Returns the number of arguments; 0 after an
 * error reply. */
static uint32_t takeStrategy(client *c, uint32_t at, streamTrimKind kind, addOptions *opts) {
    uint32_t taken = 2;
    if (opts->trim.kind != STREAM_TRIM_NONE)
        return addReplyError(c, "syntax error, MAXLEN and MINID options at the same time are not compatible");
    opts->trim.kind = kind;
    slice next = c->argv[at + 1];
    if (c->argc - at > 2 && next.len == 1 && (*next.ptr == '~' || *next.ptr == '=')) {
        opts->trim.approximate = *next.ptr == '~';
        taken = 3;
    }
    opts->bound_arg = at + taken - 1;
    if (kind == STREAM_TRIM_MINID)
        return getStreamIdFromArg(c, at + taken - 1, STREAM_ARG_STRICT, 0, &opts->trim.minid) ? taken : 0;
    long long maxlen;
    if (!getLongLongFromArg(c, at + taken - 1, &maxlen, NULL)) return 0;
    if (maxlen < 0) return addReplyError(c, "The MAXLEN argument must be >= 0.");
    opts->trim.maxlen = (uint64_t)maxlen;
    return taken;
}

static uint32_t takeLimit(client *c, uint32_t at, addOptions *opts) {
    long long limit;
    if (!getLongLongFromArg(c, at + 1, &limit, NULL)) return 0;
    if (limit < 0) return addReplyError(c, "The LIMIT argument must be >= 0.");
    opts->trim.limit = (uint64_t)limit;
    opts->has_limit = true;
    return 2;
}

/* Parses the ID argument of XADD; the fields come after it. Returns false after an error reply. */
static bool takeNewId(client *c, uint32_t at, addOptions *opts) {
    slice text = c->argv[at];
    opts->fields_arg = at + 1;
    opts->auto_id = text.len == 1 && *text.ptr == '*';
    if (opts->auto_id) return true;
    opts->auto_seq = parseStreamIdAnySeq(text, &opts->id.ms);
    return opts->auto_seq || getStreamIdFromArg(c, at, STREAM_ARG_STRICT, 0, &opts->id);
}

/* Parses a trimming option. Returns the number of its arguments, NO_OPTION if it is something else, 0 after an error
 * reply. */
#define NO_OPTION UINT32_MAX
static uint32_t takeTrimOption(client *c, uint32_t at, addOptions *opts) {
    slice word = c->argv[at];
    if (streamRefsParse(word, &opts->refs)) return 1;
    if (c->argc - at < 2) return NO_OPTION;
    if (sliceIs(word, "maxlen")) return takeStrategy(c, at, STREAM_TRIM_MAXLEN, opts);
    if (sliceIs(word, "minid")) return takeStrategy(c, at, STREAM_TRIM_MINID, opts);
    if (sliceIs(word, "limit")) return takeLimit(c, at, opts);
    return NO_OPTION;
}

static bool checkTrim(client *c, addOptions *opts) {
    if (opts->has_limit && opts->trim.kind == STREAM_TRIM_NONE)
        return addReplyError(c, "syntax error, LIMIT cannot be used without specifying a trimming strategy");
    /* Commands from the primary or the append-only file may have LIMIT with "=": propagateTrimmed() has replaced "~".
     * */
    if (opts->has_limit && !opts->trim.approximate && !(c->flags & (CLIENT_REPLAYS | CLIENT_PRIMARY)))
        return addReplyError(c, "syntax error, LIMIT cannot be used without the special ~ option");
    if (!opts->trim.approximate) opts->trim.limit = 0;
    if (!opts->trim.approximate || opts->has_limit) return true;
    long long entries = object_settings.stream_node_max_entries;
    long long limit = entries > TRIM_LIMIT_MAX / TRIM_LIMIT_NODES ? TRIM_LIMIT_MAX : TRIM_LIMIT_NODES * entries;
    opts->trim.limit = (uint64_t)(limit > 0 ? limit : TRIM_LIMIT_UNKNOWN);
    return true;
}

static bool parseAdd(client *c, addOptions *opts) {
    uint32_t at = 2;
    while (opts->fields_arg == 0 && at < c->argc) {
        if (c->argv[at].len == 1 && *c->argv[at].ptr == '*') {
            if (!takeNewId(c, at, opts)) return false;
            break;
        }
        uint32_t taken = takeTrimOption(c, at, opts);
        if (taken == 0) return false;
        if (taken != NO_OPTION) {
            at += taken;
        } else if (sliceIs(c->argv[at], "nomkstream")) {
            opts->no_mkstream = true;
            at++;
        } else if ((taken = streamIdmpParse(c, at, &opts->idmp)) != 0) {
            if (taken == STREAM_IDMP_BAD) return false;
            at += taken;
        } else if (!takeNewId(c, at, opts)) {
            return false;
        }
    }
    if (opts->fields_arg && opts->idmp.producer_arg && !opts->auto_id &&
        !(c->flags & (CLIENT_REPLAYS | CLIENT_PRIMARY)))
        return addReplyError(c, "syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs");
    if (!checkTrim(c, opts)) return false;
    if (opts->fields_arg == 0 || c->argc - opts->fields_arg < 2 || (c->argc - opts->fields_arg) % 2)
        return addReplyErrorArity(c);
    return true;
}

/* ---- Propagation ------------------------------------------------------------------------------------------------- */

/* Propagates the arguments from `first` up to `end`, without the one about references. After approximate trimming the
 * bound becomes exact: the number or the first ID of the entries that are left. */
static void propagateTrimmed(const client *c, const addOptions *opts, const stream *s, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        streamRefs refs = STREAM_REFS_UNSET;
        bool is_word = i != 1 && i != opts->bound_arg && !streamIdmpHasArg(&opts->idmp, i);
        if (is_word && streamRefsParse(c->argv[i], &refs)) continue;
        if (!opts->trim.approximate || i + 1 < opts->bound_arg || i > opts->bound_arg) propagateArg(c->argv[i]);
        else if (i < opts->bound_arg) propagateWord("=");
        else if (opts->trim.kind == STREAM_TRIM_MAXLEN) propagateNumber((long long)s->length);
        else propagateStreamId(s->length ? s->first_id : STREAM_ID_MAX);
    }
}

static void propagateAdded(const client *c, const addOptions *opts, const stream *s, streamId id) {
    bool as_sent = !(opts->auto_id || opts->auto_seq || opts->trim.approximate || opts->refs != STREAM_REFS_UNSET);
    if (as_sent || !propagateRewritten(c)) return;
    if (opts->refs == STREAM_REFS_ACKED) {
        propagateArg(c->argv[1]);
        propagateStreamIdmp(c, &opts->idmp);
    } else {
        propagateTrimmed(c, opts, s, 1, opts->fields_arg - 1);
    }
    propagateStreamId(id);
    propagateArgs(c, opts->fields_arg, c->argc);
    propagateDone();
}

/* ---- XADD -------------------------------------------------------------------------------------------------------- */

/* Sets *id to the ID of the new entry. Returns false after an error reply. */
static bool newId(client *c, const addOptions *opts, streamId last, streamId *id) {
    if (last.ms == UINT64_MAX && last.seq == UINT64_MAX)
        return addReplyError(c, "The stream has exhausted the last possible ID, unable to add more items");
    *id = opts->id;
    if (opts->auto_id) {
        *id = (streamId){(uint64_t)storeNowMs(), 0};
        if (id->ms > last.ms) return true;
        *id = last;
        return streamIdNext(id);
    }
    if (opts->auto_seq) {
        id->seq = 0;
        if (id->ms == last.ms && last.seq < UINT64_MAX) id->seq = last.seq + 1;
    }
    if (streamIdCmp(*id, last) > 0) return true;
    return addReplyError(c, "The ID specified in XADD is equal or smaller than the target stream top item");
}

/* Reports a change by XADD, and wakes clients that are blocked on the stream. For a new key the store has
 * done so already. */
static void reportAdded(client *c, hashedKey key, bool is_new, uint64_t trimmed) {
    keyChanged(c, key, NOTIFY_STREAM, "xadd", 1);
    if (trimmed) keyEvent(c, key, NOTIFY_STREAM, "xtrim");
    if (!is_new) dbKeyReady(c->db, key, OBJ_STREAM);
}

/* Reserves memory for a large entry. Returns false after an error reply. */
static bool reserveEntry(client *c, const stream *s, const addOptions *opts) {
    uint32_t fields_arg = opts->fields_arg;
    size_t count = c->argc - fields_arg, bytes = 0;
    if (likely(count < 64 && !(c->req->flags & REQ_LARGE))) return true;
    for (uint32_t i = fields_arg; i < c->argc; i++) bytes += c->argv[i].len;
    if (bytes > STREAM_ENTRY_BYTES_MAX) return addReplyError(c, "Elements are too large to be stored");
    size_t needs = streamAppendNeeds(s, bytes, count) + streamIdmpNeeds(c, &opts->idmp);
    return needs < COMMAND_MEMORY_LARGE || commandMemoryReserve(c, needs);
}

void xaddCommand(client *c) {
    addOptions opts = {.no_mkstream = false};
    streamId id;
    stream *s;

    if (!parseAdd(c, &opts)) return;
    if (!opts.auto_id && !opts.auto_seq && streamIdIsZero(opts.id)) {
        addReplyError(c, "The ID specified in XADD must be greater than 0-0");
        return;
    }
    hashedKey key = clientKeyAt(c, 1);
    if (!streamWrite(c, key, &s)) return;
    if (!s && opts.no_mkstream) {
        addReplyNull(c);
        return;
    }
    if (opts.idmp.producer_arg && !streamIdmpBegin(c, s, &opts.idmp, opts.fields_arg, opts.auto_id)) return;
    if (!newId(c, &opts, s ? s->last_id : STREAM_ID_MIN, &id) || !reserveEntry(c, s, &opts)) return;

    bool is_new = s == NULL;
    if (is_new) s = streamCreate();
    if (!streamAppend(s, id, c->argv + opts.fields_arg, c->argc - opts.fields_arg)) {
        if (is_new) streamFree(s);
        addReplyError(c, "Elements are too large to be stored");
        return;
    }
    if (opts.idmp.producer_arg) streamIdmpRecord(c, s, &opts.idmp, id);
    if (is_new) dbAddTake(c->db, objectCreateTake(key.name, OBJ_STREAM, OBJ_ENC_STREAM, s), key);
    addReplyStreamId(c, id);
    if (opts.refs == STREAM_REFS_ACKED) propagateAdded(c, &opts, s, id); /* before the XDEL of the trimming */
    reportAdded(c, key, is_new, streamTrimRefs(c, s, &opts.trim, opts.refs));
    if (opts.refs != STREAM_REFS_ACKED) propagateAdded(c, &opts, s, id);
}

/* ---- XTRIM ------------------------------------------------------------------------------------------------------- */

static bool parseTrim(client *c, addOptions *opts) {
    for (uint32_t at = 2; at < c->argc;) {
        uint32_t taken = takeTrimOption(c, at, opts);
        if (taken == 0) return false;
        if (taken == NO_OPTION) return addReplySyntaxError(c);
        at += taken;
    }
    if (!checkTrim(c, opts)) return false;
    if (opts->trim.kind != STREAM_TRIM_NONE) return true;
    return addReplyError(c, "syntax error, XTRIM must be called with a trimming strategy");
}

void xtrimCommand(client *c) {
    addOptions opts = {.no_mkstream = false};
    stream *s;

    if (!parseTrim(c, &opts)) return;
    hashedKey key = clientKeyAt(c, 1);
    if (!streamWrite(c, key, &s)) return;
    uint64_t trimmed = s ? streamTrimRefs(c, s, &opts.trim, opts.refs) : 0;
    if (trimmed) keyChanged(c, key, NOTIFY_STREAM, "xtrim", (long long)trimmed);
    bool as_sent = !opts.trim.approximate && opts.refs == STREAM_REFS_UNSET;
    if (trimmed && !as_sent && opts.refs != STREAM_REFS_ACKED && propagateRewritten(c)) {
        propagateTrimmed(c, &opts, s, 1, c->argc);
        propagateDone();
    }
    addReplyLongLong(c, (long long)trimmed);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

void xlenCommand(client *c) {
    stream *s;
    if (streamRead(c, clientKeyAt(c, 1), &s)) addReplyLongLong(c, s ? (long long)s->length : 0);
}

static void rangeGeneric(client *c, uint32_t start_arg, uint32_t end_arg, bool backward) {
    streamId start, end;
    stream *s;
    long long count = 0;
    bool has_count = false;

    if (!getStreamStartFromArg(c, start_arg, &start) || !getStreamEndFromArg(c, end_arg, &end)) return;
    for (uint32_t at = 4; at < c->argc; at += 2) {
        if (!sliceIs(c->argv[at], "count") || at + 1 == c->argc) {
            addReplySyntaxError(c);
            return;
        }
        if (!getLongLongFromArg(c, at + 1, &count, NULL)) return;
        has_count = true;
    }
    if (!streamRead(c, clientKeyAt(c, 1), &s)) return;
    if (s && has_count && count <= 0) addReplyNullArray(c);
    else if (!s) addReplyEmptyArray(c);
    else addReplyStreamRange(c, s, start, end, backward, (size_t)count);
}

void xrangeCommand(client *c) { rangeGeneric(c, 2, 3, false); }
void xrevrangeCommand(client *c) { rangeGeneric(c, 3, 2, true); }

/* ---- XDEL, XSETID ------------------------------------------------------------------------------------------------ */

void xdelCommand(client *c) {
    streamId id;
    long long deleted = 0;
    hashedKey key = clientKeyAt(c, 1);
    robj *o = typedKeyWriteOrReply(c, key, OBJ_STREAM, addReplyZero);
    if (!o) return;
    stream *s = objectStructure(o);
    if (!streamIdsCheck(c, 2)) return;
    for (uint32_t i = 2; i < c->argc; i++)
        if (parseStreamId(c->argv[i], STREAM_ARG_STRICT, 0, &id)) deleted += streamDelete(s, id);
    if (deleted) keyChanged(c, key, NOTIFY_STREAM, "xdel", deleted);
    addReplyLongLong(c, deleted);
}

/* Parses the options of XSETID. Returns false after an error reply. */
static bool parseSetId(client *c, streamId last, long long *added, streamId *max_deleted, bool *has_max_deleted) {
    for (uint32_t at = 3; at < c->argc; at += 2) {
        bool more = at + 1 < c->argc;
        if (more && sliceIs(c->argv[at], "entriesadded")) {
            if (!getLongLongFromArg(c, at + 1, added, NULL)) return false;
            if (*added < 0) return addReplyError(c, "entries_added must be positive");
        } else if (more && sliceIs(c->argv[at], "maxdeletedid")) {
            if (!getStreamIdFromArg(c, at + 1, STREAM_ARG_STRICT, 0, max_deleted)) return false;
            *has_max_deleted = !streamIdIsZero(*max_deleted);
            if (streamIdCmp(last, *max_deleted) < 0)
                return addReplyError(c, "The ID specified in XSETID is smaller than the provided max_deleted_entry_id");
        } else {
            return addReplySyntaxError(c);
        }
    }
    return true;
}

void xsetidCommand(client *c) {
    streamId last, max_deleted = STREAM_ID_MIN;
    long long added = -1;
    bool has_max_deleted = false;

    if (!getStreamIdFromArg(c, 2, STREAM_ARG_STRICT, 0, &last)) return;
    if (!parseSetId(c, last, &added, &max_deleted, &has_max_deleted)) return;
    hashedKey key = clientKeyAt(c, 1);
    robj *o = typedKeyWriteOrReply(c, key, OBJ_STREAM, addReplyNoKeyError);
    if (!o) return;
    stream *s = objectStructure(o);
    if (streamIdCmp(last, s->max_deleted_id) < 0) {
        addReplyError(c, "The ID specified in XSETID is smaller than current max_deleted_entry_id");
        return;
    }
    if (s->length && streamIdCmp(last, streamLastEntry(s)) < 0) {
        addReplyError(c, "The ID specified in XSETID is smaller than the target stream top item");
        return;
    }
    if (s->length && added != -1 && (uint64_t)added < s->length) {
        addReplyError(c, "The entries_added specified in XSETID is smaller than the target stream length");
        return;
    }
    uint64_t entries_added = (uint64_t)added;
    streamSetId(s, last, added == -1 ? NULL : &entries_added, has_max_deleted ? &max_deleted : NULL);
    keyGroupsChanged(c, key, NOTIFY_STREAM, "xsetid", 1);
    addReplyOk(c);
}

/* t_zset_range.c -- commands on ranges of a sorted set: read, count, store, remove.
 *
 * object/value_zset_range.c converts each kind of range to ranks. The commands differ only in how a range is written.
 *
 * Not here    how a range is found in each encoding (object/value_zset_range.c).
 * Threads     main.
 * Tests       tests/type/zset.tcl, tests/differential/types/zset.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "t_zset.h"

#include "command_memory.h"
#include "commands.h"
#include "sliced.h"

#include <math.h>
#include <stdlib.h>

typedef enum { BY_RANK, BY_SCORE, BY_LEX } rangeKind;

/* A range as the client has written it, not yet converted to ranks of a set. */
typedef struct rangeSpec {
    rangeKind kind;
    bool reverse;
    long long start, stop; /* BY_RANK; negative ones count from the end */
    zsetScoreRange scores;
    zsetLexRange members;
} rangeSpec;

/* ---- Bounds ---- */

/* Parses bounds that string2d() refuses: an empty text, which is 0, and numbers beyond the range of doubles. A bound
 * ends at a NUL byte. */
static bool parseLooseScore(slice text, double *out) {
    char copy[DOUBLE_STR_SIZE], *end;
    text.len = strnlen(text.ptr, text.len);
    if (text.len >= sizeof(copy)) return false;
    for (size_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        if (!(ch >= '0' && ch <= '9') && ch != '.' && ch != 'e' && ch != 'E' && ch != '-' && ch != '+') return false;
        copy[i] = ch;
    }
    copy[text.len] = '\0';
    *out = strtod(copy, &end);
    return *end == '\0' && !isnan(*out);
}

static bool parseScore(slice text, double *out, bool *open) {
    *open = text.len > 0 && text.ptr[0] == '(';
    if (*open) text = sliceOf(text.ptr + 1, text.len - 1);
    return string2d(text.ptr, text.len, out) || parseLooseScore(text, out);
}

static bool parseMember(slice text, zsetLexEnd *out) {
    if (text.len == 0) return false;
    out->open = text.ptr[0] == '(';
    out->member = sliceOf(text.ptr + 1, text.len - 1);
    switch (text.ptr[0]) {
    case '+': out->kind = ZSET_LEX_HIGHEST; return text.len == 1;
    case '-': out->kind = ZSET_LEX_LOWEST; return text.len == 1;
    case '[':
    case '(': out->kind = ZSET_LEX_MEMBER; return true;
    default: return false;
    }
}

/* Parses the bounds in arguments `min` and `max`. Returns false after an error reply. */
static bool parseBounds(client *c, uint32_t min, uint32_t max, rangeSpec *spec) {
    zsetScoreRange *s = &spec->scores;
    switch (spec->kind) {
    case BY_RANK:
        return getLongLongFromArg(c, min, &spec->start, NULL) && getLongLongFromArg(c, max, &spec->stop, NULL);
    case BY_SCORE:
        if (parseScore(c->argv[min], &s->min, &s->min_open) && parseScore(c->argv[max], &s->max, &s->max_open))
            return true;
        return addReplyError(c, "min or max is not a float");
    default:
        if (parseMember(c->argv[min], &spec->members.min) && parseMember(c->argv[max], &spec->members.max)) return true;
        return addReplyError(c, "min or max not valid string range item");
    }
}

/* ---- Ranks ---- */

static zsetRanks ranksByIndex(size_t size, long long start, long long stop, bool reverse) {
    long long len = (long long)size;
    if (start < 0) start = start < -len ? 0 : start + len;
    if (stop < 0) stop += len; /* may stay negative */
    if (stop >= len) stop = len - 1;
    if (start > stop || start >= len) return (zsetRanks){0, 0};
    zsetRanks ranks = {(size_t)start, (size_t)(stop - start) + 1};
    if (reverse) ranks.first = size - ranks.first - ranks.count;
    return ranks;
}

static zsetRanks ranksOf(const robj *o, const rangeSpec *spec) {
    switch (spec->kind) {
    case BY_RANK: return ranksByIndex(zsetCount(o), spec->start, spec->stop, spec->reverse);
    case BY_SCORE: return zsetRanksByScore(o, &spec->scores);
    default: return zsetRanksByLex(o, &spec->members);
    }
}

/* Applies LIMIT: skips the first `offset` members in the direction of reading, and keeps `count` (negative: all) of the
 * rest. With a negative offset, as in Valkey, a skiplist counts from the end of the range and a listpack keeps
 * nothing. */
static zsetRanks limitRanks(zsetRanks ranks, bool is_listpack, bool reverse, long long offset, long long count) {
    if (offset < 0 && !is_listpack) offset += (long long)ranks.count;
    if (offset < 0 || (unsigned long long)offset >= ranks.count) return (zsetRanks){0, 0};
    size_t left = ranks.count - (size_t)offset;
    size_t taken = count < 0 || (unsigned long long)count > left ? left : (size_t)count;
    size_t first = reverse ? ranks.first + left - taken : ranks.first + (size_t)offset;
    return (zsetRanks){first, taken};
}

/* ---- Counting, removing ------ */

static void countGeneric(client *c, rangeKind kind) {
    rangeSpec spec = {.kind = kind};
    robj *o;
    if (!parseBounds(c, 2, 3, &spec)) return;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_ZSET, &o)) return;
    addReplyLongLong(c, o ? (long long)ranksOf(o, &spec).count : 0);
}

void zcountCommand(client *c) { countGeneric(c, BY_SCORE); }
void zlexcountCommand(client *c) { countGeneric(c, BY_LEX); }

static void removeGeneric(client *c, rangeKind kind, const char *event) {
    rangeSpec spec = {.kind = kind};
    zsetRanks ranks = {0, 0};
    robj *o;
    if (!parseBounds(c, 2, 3, &spec)) return;
    hashedKey key = clientKeyAt(c, 1);
    if (!typedKeyWrite(c, key, OBJ_ZSET, &o)) return;
    if (o) ranks = ranksOf(o, &spec);
    if (ranks.count) zsetDeleteRanks(c, key, o, ranks, event);
    addReplyLongLong(c, (long long)ranks.count);
}

void zremrangebyrankCommand(client *c) { removeGeneric(c, BY_RANK, "zremrangebyrank"); }
void zremrangebyscoreCommand(client *c) { removeGeneric(c, BY_SCORE, "zremrangebyscore"); }
void zremrangebylexCommand(client *c) { removeGeneric(c, BY_LEX, "zremrangebylex"); }

/* ---- Reading and storing ---- */

/* The options after the bounds. */
typedef struct rangeOptions {
    bool has_kinds; /* ZRANGE, ZRANGESTORE: BYSCORE, BYLEX, REV are allowed */
    bool may_have_scores;
    bool with_scores, limited;
    long long offset, count;
} rangeOptions;

/* Parses the options. Returns false after an error reply. */
static bool parseRangeOptions(client *c, uint32_t at, rangeSpec *spec, rangeOptions *out) {
    for (; at < c->argc; at++) {
        slice word = c->argv[at];
        if (out->may_have_scores && sliceIs(word, "withscores")) {
            out->with_scores = true;
        } else if (c->argc - at > 2 && sliceIs(word, "limit")) {
            if (!getLongLongFromArg(c, at + 1, &out->offset, NULL)) return false;
            if (!getLongLongFromArg(c, at + 2, &out->count, NULL)) return false;
            out->limited = true;
            at += 2;
        } else if (out->has_kinds && sliceIs(word, "rev")) {
            spec->reverse = true;
        } else if (out->has_kinds && spec->kind == BY_RANK && sliceIs(word, "bylex")) {
            spec->kind = BY_LEX;
        } else if (out->has_kinds && spec->kind == BY_RANK && sliceIs(word, "byscore")) {
            spec->kind = BY_SCORE;
        } else {
            return addReplySyntaxError(c);
        }
    }
    if (out->limited && out->count != -1 && spec->kind == BY_RANK)
        return addReplyError(c, "syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    if (out->with_scores && spec->kind == BY_LEX)
        return addReplyError(c, "syntax error, WITHSCORES not supported in combination with BYLEX");
    return true;
}

/* Parses the arguments from `at` on: two bounds, then options. Returns false after an error reply. */
static bool parseRange(client *c, uint32_t at, rangeSpec *spec, rangeOptions *options) {
    options->count = -1;
    if (!parseRangeOptions(c, at + 2, spec, options)) return false;
    bool swapped = spec->reverse && spec->kind != BY_RANK;
    return parseBounds(c, at + swapped, at + !swapped, spec);
}

static zsetRanks rangeInSet(const robj *o, const rangeSpec *spec, const rangeOptions *options) {
    zsetRanks ranks = ranksOf(o, spec);
    if (options->limited && spec->kind != BY_RANK)
        ranks = limitRanks(ranks, !zsetTable(o), spec->reverse, options->offset, options->count);
    return ranks;
}

/* With `slices` constant each use is a loop of its own, so that short ranges pay nothing for long ones. */
static inline __attribute__((always_inline)) void replyMembers(client *c, const robj *o, zsetRanks ranks, bool reverse,
                                                               bool with_scores, const slicedStart slices) {
    zsetIter it = zsetIterAt(o, reverse ? ranks.first + ranks.count - 1 : ranks.first, reverse);
    zsetElement e;
    for (size_t i = 0; i < ranks.count && !replyIsDropped(c) && zsetIterNext(&it, &e); i++) {
        addReplyMember(c, e.member, e.score, with_scores);
        if (slices == SLICED_YES) slicedStep(c);
    }
}

static void replyRange(client *c, robj *o, zsetRanks ranks, bool reverse, bool with_scores) {
    slicedStart slices = slicedBegin(c, o, ranks.count);
    if (unlikely(slices == SLICED_POSTPONED)) return;
    addReplyMembersLen(c, ranks.count, with_scores);
    if (ranks.count == 0) return;
    if (likely(slices == SLICED_NO)) {
        replyMembers(c, o, ranks, reverse, with_scores, SLICED_NO);
        return;
    }
    replyMembers(c, o, ranks, reverse, with_scores, SLICED_YES);
    slicedEnd(c);
}

static void rangeGeneric(client *c, rangeKind kind, bool reverse, bool has_kinds) {
    rangeSpec spec = {.kind = kind, .reverse = reverse};
    rangeOptions options = {.has_kinds = has_kinds, .may_have_scores = true};
    robj *o;
    if (!parseRange(c, 2, &spec, &options)) return;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_ZSET, &o)) return;
    if (o) replyRange(c, o, rangeInSet(o, &spec, &options), spec.reverse, options.with_scores);
    else addReplyEmptyArray(c);
}

void zrangeCommand(client *c) { rangeGeneric(c, BY_RANK, false, true); }
void zrevrangeCommand(client *c) { rangeGeneric(c, BY_RANK, true, false); }
void zrangebyscoreCommand(client *c) { rangeGeneric(c, BY_SCORE, false, false); }
void zrevrangebyscoreCommand(client *c) { rangeGeneric(c, BY_SCORE, true, false); }
void zrangebylexCommand(client *c) { rangeGeneric(c, BY_LEX, false, false); }
void zrevrangebylexCommand(client *c) { rangeGeneric(c, BY_LEX, true, false); }

/* ZRANGESTORE copies the members before it replaces the destination, which may be the source. */
void zrangestoreCommand(client *c) {
    rangeSpec spec = {.kind = BY_RANK};
    rangeOptions options = {.has_kinds = true};
    zsetBuilder b;
    zsetRanks ranks = {0, 0};
    robj *o;
    if (!parseRange(c, 3, &spec, &options)) return;
    if (!typedKeyRead(c, clientKeyAt(c, 2), OBJ_ZSET, &o)) return;
    if (o) ranks = rangeInSet(o, &spec, &options);
    if (ranks.count) {
        double part = (double)ranks.count / (double)zsetCount(o);
        size_t bytes = (size_t)((double)objectMemUsage(o, 5) * part) + ranks.count * sizeof(void *);
        if (bytes >= COMMAND_MEMORY_LARGE && !commandMemoryReserve(c, bytes)) return;
    }
    zsetBuildBegin(&b, ranks.count);
    if (ranks.count) {
        zsetIter it = zsetIterAt(o, ranks.first, false);
        zsetElement e;
        for (size_t i = 0; i < ranks.count && zsetIterNext(&it, &e); i++) zsetBuildAdd(&b, e.member, e.score);
    }
    zsetStoreBuilt(c, clientKeyAt(c, 1), &b, "zrangestore");
}

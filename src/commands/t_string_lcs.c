/* t_string_lcs.c -- LCS: the longest common subsequence of two values.
 *
 * Not here    the other commands of strings (t_string.c).
 * Owns        nothing: the table of lengths lives for the length of a command.
 * Threads     main.
 * Cost        time and memory in the product of the two lengths, 4 bytes for each pair of positions: the table may be
 *             as large as one value (proto-max-bulk-len).
 * Tests       tests/unit/commands/t_string_test.c, tests/type/string.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "db.h"
#include "reply.h"
#include "string_limits.h"
#include "zmalloc.h"

typedef struct lcsOptions {
    bool len, idx, with_match_len;
    long long min_match_len;
} lcsOptions;

/* at(i, j) is the length for the first i bytes of a and the first j of b. */
typedef struct lcsTable {
    uint32_t *cells; /* owns */
    slice a, b;
} lcsTable;

static inline uint32_t *cellAt(const lcsTable *t, size_t i, size_t j) {
    return &t->cells[i * (t->b.len + 1) + j];
}

/* False: the error was sent. */
static bool parseOptions(client *c, lcsOptions *opts) {
    *opts = (lcsOptions){0};
    for (uint32_t i = 3; i < c->argc; i++) {
        slice word = c->argv[i];
        if (sliceIs(word, "IDX")) {
            opts->idx = true;
        } else if (sliceIs(word, "LEN")) {
            opts->len = true;
        } else if (sliceIs(word, "WITHMATCHLEN")) {
            opts->with_match_len = true;
        } else if (sliceIs(word, "MINMATCHLEN") && i + 1 < c->argc) {
            if (!getLongLongFromArg(c, ++i, &opts->min_match_len, NULL)) return false;
        } else {
            addReplySyntaxError(c);
            return false;
        }
    }
    if (opts->idx && opts->len) {
        addReplyError(c, "If you want both the length and indexes, please just use IDX.");
        return false;
    }
    return true;
}

/* Make the table. NULL, or the error. */
static const char *makeTable(lcsTable *t) {
    size_t cells, bytes;

    if (t->a.len >= UINT32_MAX - 1 || t->b.len >= UINT32_MAX - 1) return "String too long for LCS";
    if (__builtin_mul_overflow(t->a.len + 1, t->b.len + 1, &cells) ||
        __builtin_mul_overflow(cells, sizeof(uint32_t), &bytes) || bytes > (unsigned long long)string_bytes_max)
        return "Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len";
    t->cells = ztrycalloc(cells, sizeof(uint32_t)); /* row 0 and column 0 stay zero */
    return t->cells ? NULL : "Insufficient memory, failed allocating transient memory for LCS";
}

static void fillTable(lcsTable *t) {
    for (size_t i = 1; i <= t->a.len; i++) {
        for (size_t j = 1; j <= t->b.len; j++) {
            uint32_t up = *cellAt(t, i - 1, j), left = *cellAt(t, i, j - 1);
            if (t->a.ptr[i - 1] == t->b.ptr[j - 1]) *cellAt(t, i, j) = *cellAt(t, i - 1, j - 1) + 1;
            else *cellAt(t, i, j) = up > left ? up : left;
        }
    }
}

/* Step back from (i, j) over bytes that differ, to the end of the next common run; false when there is none. */
static bool findRunEnd(const lcsTable *t, size_t *i, size_t *j) {
    while (*i > 0 && *j > 0) {
        if (t->a.ptr[*i - 1] == t->b.ptr[*j - 1]) return true;
        if (*cellAt(t, *i - 1, *j) > *cellAt(t, *i, *j - 1)) (*i)--;
        else (*j)--;
    }
    return false;
}

/* Length of the common run that ends at (i, j). */
static size_t runLength(const lcsTable *t, size_t i, size_t j) {
    size_t n = 0;

    while (n < i && n < j && t->a.ptr[i - n - 1] == t->b.ptr[j - n - 1]) n++;
    return n;
}

static void replyRange(client *c, size_t end, size_t len) {
    addReplyArrayLen(c, 2);
    addReplyLongLong(c, (long long)(end - len));
    addReplyLongLong(c, (long long)end - 1);
}

/* The matches, from the last to the first. */
static void replyMatches(client *c, const lcsTable *t, const lcsOptions *opts) {
    void *place = addReplyDeferredLen(c);
    long long matches = 0;

    for (size_t i = t->a.len, j = t->b.len; findRunEnd(t, &i, &j);) {
        size_t len = runLength(t, i, j);
        if (opts->min_match_len <= 0 || (long long)len >= opts->min_match_len) {
            addReplyArrayLen(c, opts->with_match_len ? 3 : 2);
            replyRange(c, i, len);
            replyRange(c, j, len);
            if (opts->with_match_len) addReplyLongLong(c, (long long)len);
            matches++;
        }
        i -= len;
        j -= len;
    }
    setDeferredArrayLen(c, place, matches);
}

static void replySubsequence(client *c, const lcsTable *t, size_t len) {
    char *out = zmalloc(len ? len : 1);
    size_t at = len;

    for (size_t i = t->a.len, j = t->b.len; findRunEnd(t, &i, &j); i--, j--) out[--at] = t->a.ptr[i - 1];
    addReplyBulk(c, sliceOf(out, len));
    zfree(out);
}

static slice valueOrEmpty(const robj *o, char *digits) {
    return o ? objectString(o, digits) : sliceOf("", 0);
}

void lcsCommand(client *c) {
    char digits[2][LONG_STR_SIZE];
    lcsOptions opts;

    robj *a = lookupKeyRead(c->db, clientKeyAt(c, 1));
    robj *b = lookupKeyRead(c->db, clientKeyAt(c, 2));
    if ((a && a->type != OBJ_STRING) || (b && b->type != OBJ_STRING)) {
        addReplyError(c, "The specified keys must contain string values");
        return;
    }
    if (!parseOptions(c, &opts)) return;
    lcsTable t = {NULL, valueOrEmpty(a, digits[0]), valueOrEmpty(b, digits[1])};
    const char *err = makeTable(&t);
    if (err) {
        addReplyError(c, err);
        return;
    }
    fillTable(&t);

    uint32_t len = *cellAt(&t, t.a.len, t.b.len);
    if (opts.idx) {
        addReplyMapLen(c, 2);
        addReplyBulkCString(c, "matches");
        replyMatches(c, &t, &opts);
        addReplyBulkCString(c, "len");
        addReplyLongLong(c, len);
    } else if (opts.len) {
        addReplyLongLong(c, len);
    } else {
        replySubsequence(c, &t, len);
    }
    zfree(t.cells);
}

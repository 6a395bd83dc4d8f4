/* t_string_lcs.c -- LCS: the longest common subsequence of two values.
 *
 * The lengths for all pairs of prefixes make a table in which neighbors of a row differ by 0 or 1. So a row is stored
 * as bits, and the next row is computed from it for 64 columns at once, by an addition (H. Hyyroe, "Bit-parallel
 * LCS-length computation revisited", 2004). These bits are sufficient for the walk back through the table that finds
 * the matches.
 *
 * Not here    the other commands of strings (t_string.c).
 * Threads     main.
 * Invariants  1. A command is refused if Valkey's table, 4 bytes for each pair, would be larger than the largest value
 *                (proto-max-bulk-len). The table here takes at most a sixteenth of that, and one row.
 * Cost        time in the product of the two lengths, about 6 instructions for 64 pairs.
 * Tests       tests/unit/commands/string/t_string_test.c, tests/type/string.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "db.h"
#include "reply.h"
#include "engine_settings.h"
#include "zmalloc.h"

typedef struct lcsOptions {
    bool len, idx, with_match_len;
    long long min_match_len;
} lcsOptions;

/* Let L(i, j) be the length of the LCS of the first i bytes of a and the first j of b. In row i, bit j - 1 is 0 if L(i,
 * j) is L(i, j - 1) + 1, and 1 if both are equal. Bits after the last column are 1. */
typedef struct lcsTable {
    uint64_t *words; /* owns: the rows 1, 2, ... (with `only_len` only the last one), then the masks */
    size_t row_words;
    slice a, b;
} lcsTable;

static inline const uint64_t *rowAt(const lcsTable *t, size_t i) { return &t->words[(i - 1) * t->row_words]; }

/* Returns false after an error reply. */
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
            return addReplySyntaxError(c);
        }
    }
    if (opts->idx && opts->len)
        return addReplyError(c, "If you want both the length and indexes, please just use IDX.");
    return true;
}

/* Returns an error text if the strings are too long, or NULL. */
static const char *checkSize(slice a, slice b) {
    size_t cells, bytes;

    if (a.len >= UINT32_MAX - 1 || b.len >= UINT32_MAX - 1) return "String too long for LCS";
    if (__builtin_mul_overflow(a.len + 1, b.len + 1, &cells) ||
        __builtin_mul_overflow(cells, sizeof(uint32_t), &bytes) || bytes > (unsigned long long)string_bytes_max)
        return "Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len";
    return NULL;
}

/* Numbers the distinct bytes of `a` from 1 on; bytes that are not in `a` get 0. Returns how many distinct ones there
 * are. */
static size_t numberBytes(slice a, uint16_t number[256]) {
    uint16_t count = 0;
    memset(number, 0, 256 * sizeof(*number));
    for (size_t i = 0; i < a.len; i++) {
        uint16_t *n = &number[(unsigned char)a.ptr[i]];
        if (*n == 0) *n = ++count;
    }
    return count;
}

/* Computes the row after `row`. `mask` has a 1 in each column whose byte equals the byte of the new row. */
static void nextRow(uint64_t *next, const uint64_t *row, const uint64_t *mask, size_t words) {
    bool carry = false;
    for (size_t w = 0; w < words; w++) {
        uint64_t match = row[w] & mask[w], sum;
        bool over = __builtin_add_overflow(row[w], match, &sum);
        carry = __builtin_add_overflow(sum, (uint64_t)carry, &sum) | over;
        next[w] = sum | (row[w] & ~match);
    }
}

/* Allocates and fills the table, with `only_len` only its last row. Returns false if there is no memory. */
static bool makeTable(lcsTable *t, bool only_len, uint64_t *len) {
    uint16_t number[256];
    size_t rows = only_len ? 1 : t->a.len, masks = numberBytes(t->a, number);

    t->row_words = t->b.len / 64 + 1;
    t->words = ztrycalloc((rows + masks + 1) * t->row_words, sizeof(uint64_t));
    if (!t->words) return false;
    uint64_t *mask = t->words + rows * t->row_words, *ones = mask + masks * t->row_words;
    for (size_t j = 0; j < t->b.len; j++) {
        size_t n = number[(unsigned char)t->b.ptr[j]];
        if (n) mask[(n - 1) * t->row_words + j / 64] |= (uint64_t)1 << j % 64;
    }
    memset(ones, 0xff, t->row_words * sizeof(uint64_t));
    const uint64_t *row = ones;
    for (size_t i = 1; i <= t->a.len; i++) {
        uint64_t *next = t->words + (only_len ? 0 : i - 1) * t->row_words;
        nextRow(next, row, &mask[(number[(unsigned char)t->a.ptr[i - 1]] - 1u) * t->row_words], t->row_words);
        row = next;
    }
    *len = 0;
    for (size_t w = 0; w < t->row_words; w++) *len += (unsigned)__builtin_popcountll(~row[w]);
    return true;
}

/* Steps back from (i, j) over bytes that differ, to the end of the next common run. Returns false if there is none.
 * Where the bytes differ L(i, j) is the larger one of L(i - 1, j) and L(i, j - 1), so a 0 in row i means that the first
 * one is larger. */
static bool findRunEnd(const lcsTable *t, size_t *i, size_t *j) {
    while (*i > 0 && *j > 0) {
        if (t->a.ptr[*i - 1] == t->b.ptr[*j - 1]) return true;
        if (rowAt(t, *i)[(*j - 1) / 64] >> (*j - 1) % 64 & 1) (*j)--;
        else (*i)--;
    }
    return false;
}

/* Returns the length of the common run that ends at (i, j). */
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

/* Replies with the matches, from the last to the first. */
static void replyMatches(client *c, const lcsTable *t, const lcsOptions *opts) {
    void *deferred = addReplyDeferredLen(c);
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
    setDeferredArrayLen(c, deferred, matches);
}

static void replySubsequence(client *c, const lcsTable *t, size_t len) {
    char *out = zmalloc(len ? len : 1);
    size_t at = len;

    for (size_t i = t->a.len, j = t->b.len; findRunEnd(t, &i, &j); i--, j--) out[--at] = t->a.ptr[i - 1];
    addReplyBulk(c, sliceOf(out, len));
    zfree(out);
}

static slice valueOrEmpty(const robj *o, char *digits) { return o ? objectString(o, digits) : sliceOf("", 0); }

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
    lcsTable t = {.a = valueOrEmpty(a, digits[0]), .b = valueOrEmpty(b, digits[1])};
    uint64_t len;
    const char *err = checkSize(t.a, t.b);
    if (!err && !makeTable(&t, opts.len, &len)) err = "Insufficient memory, failed allocating transient memory for LCS";
    if (err) {
        addReplyError(c, err);
        return;
    }

    if (opts.idx) {
        addReplyMapLen(c, 2);
        addReplyBulkCString(c, "matches");
        replyMatches(c, &t, &opts);
        addReplyBulkCString(c, "len");
        addReplyLongLong(c, (long long)len);
    } else if (opts.len) {
        addReplyLongLong(c, (long long)len);
    } else {
        replySubsequence(c, &t, len);
    }
    zfree(t.words);
}

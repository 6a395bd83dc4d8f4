/* bitops.c -- strings as bit arrays: SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP.
 *
 * Not here    how bits are counted and combined (ds/bits.h); BITFIELD (bitfield.c).
 * Threads     main.
 * Invariants  1. Setting a bit that has this value already, in a string that is long enough, is no change: the value
 *                and its encoding stay.
 * Tests       tests/type/bitmap.tcl, tests/unit/ds/bits_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bits.h"
#include "command_memory.h"
#include "commands.h"
#include "propagate.h"
#include "string_change.h"
#include "typed_key.h"
#include "zmalloc.h"

/* ---- One bit ----------------------------------------------------------------------------------------------------- */

static bool bitOf(const robj *o, uint64_t at) {
    char digits[LONG_STR_SIZE];
    slice bytes = objectString(o, digits);

    return at >> 3 < bytes.len && bitsTest(bytes.ptr, at);
}

void getbitCommand(client *c) {
    uint64_t at;
    robj *o;

    if (!getBitOffsetFromArg(c, 2, 0, &at)) return;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_STRING, &o)) return;
    if (o && bitOf(o, at)) addReplyOne(c);
    else addReplyZero(c);
}

void setbitCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    uint64_t at;
    long long bit;
    robj *o;

    if (!getBitOffsetFromArg(c, 2, 0, &at)) return;
    if (!getRangeLongFromArg(c, 3, 0, 1, &bit, "bit is not an integer or out of range")) return;
    if (!typedKeyWrite(c, key, OBJ_STRING, &o)) return;

    size_t old_len = o ? objectStringLen(o) : 0, len = (size_t)(at >> 3) + 1;
    bool old_bit = o && bitOf(o, at);
    if (!o || len > old_len || old_bit != bit) {
        if (len < old_len) len = old_len;
        o = stringOpen(c, key, o, len, len);
        if (!o) return;
        char *byte = objectWritableBytes(o) + (at >> 3);
        if (old_bit != bit) *byte = (char)(*byte ^ (0x80 >> (at & 7)));
        keyChanged(c, key, NOTIFY_STRING, "setbit", 1);
    }
    if (old_bit) addReplyOne(c);
    else addReplyZero(c);
}

/* ---- Ranges ------------------------------------------------------------------------------------------------------ */

typedef struct bitRange {
    long long from, to;
    bool in_bits;
    bool has_end;
} bitRange;

/* Parses [start [end [BYTE|BIT]]] from argument `first` on. Returns false after an error reply. */
static bool parseRange(client *c, uint32_t first, bitRange *range) {
    *range = (bitRange){.from = 0, .to = -1};
    if (c->argc > first && !getLongLongFromArg(c, first, &range->from, NULL)) return false;
    range->has_end = c->argc > first + 1;
    range->in_bits = c->argc > first + 2 && sliceIs(c->argv[first + 2], "bit");
    if (c->argc > first + 2 && !range->in_bits && !sliceIs(c->argv[first + 2], "byte")) return addReplySyntaxError(c);
    return !range->has_end || getLongLongFromArg(c, first + 1, &range->to, NULL);
}

/* Converts the range to the bits from..end (end excluded) of a string of `len` bytes. Returns false if it is empty. */
static bool bitsOfRange(const bitRange *range, size_t len, uint64_t *from, uint64_t *end) {
    long long first = range->from, last = range->to;
    unsigned unit = range->in_bits ? 1 : 8;

    if (!clampRange(&first, &last, (long long)(len * 8 / unit))) return false;
    *from = (uint64_t)first * unit;
    *end = ((uint64_t)last + 1) * unit;
    return true;
}

void bitcountCommand(client *c) {
    char digits[LONG_STR_SIZE];
    bitRange range;
    uint64_t from, end;
    robj *o;

    if (c->argc > 5) {
        addReplySyntaxError(c);
        return;
    }
    if (!parseRange(c, 2, &range) || !typedKeyRead(c, clientKeyAt(c, 1), OBJ_STRING, &o)) return;
    slice bytes = o ? objectString(o, digits) : sliceOf("", 0);
    bool any = bitsOfRange(&range, bytes.len, &from, &end);
    addReplyLongLong(c, any ? (long long)bitsCount(bytes.ptr, from, end) : 0);
}

/* If the range has no explicit end, the string counts as followed by zeros: then the search for a 0 always succeeds. */
void bitposCommand(client *c) {
    char digits[LONG_STR_SIZE];
    bitRange range;
    uint64_t from, end;
    long long bit;
    robj *o;

    if (!getLongLongFromArg(c, 2, &bit, NULL)) return;
    if (bit != 0 && bit != 1) {
        addReplyError(c, "The bit argument must be 1 or 0.");
        return;
    }
    if (c->argc > 6) {
        addReplySyntaxError(c);
        return;
    }
    if (!parseRange(c, 3, &range) || !typedKeyRead(c, clientKeyAt(c, 1), OBJ_STRING, &o)) return;
    if (!o) {
        addReplyLongLong(c, bit ? -1 : 0);
        return;
    }
    slice bytes = objectString(o, digits);
    int64_t found = -1;
    if (bitsOfRange(&range, bytes.len, &from, &end)) {
        found = bitsFind(bytes.ptr, from, end, bit);
        if (found == -1 && !bit && !range.has_end) found = (int64_t)end;
    }
    addReplyLongLong(c, found);
}

/* ---- BITOP ------------------------------------------------------------------------------------------------------- */

/* A buffer for the digits of a source that is stored as an integer. */
typedef struct bitSource {
    char digits[LONG_STR_SIZE];
} bitSource;

#define SOURCES_INLINE 8

static bool parseOperation(slice word, bitsOperation *operation) {
    static const char *words[] = {
        [BITS_AND] = "and",   [BITS_OR] = "or",       [BITS_XOR] = "xor",     [BITS_NOT] = "not",
        [BITS_DIFF] = "diff", [BITS_DIFF1] = "diff1", [BITS_ANDOR] = "andor", [BITS_ONE] = "one"};
    for (size_t i = 0; i < array_len(words); i++) {
        if (!sliceIs(word, words[i])) continue;
        *operation = (bitsOperation)i;
        return true;
    }
    return false;
}

/* Looks up the strings of the `count` keys from argument 3 on. They are valid until the keyspace changes. Returns false
 * after an error reply. */
static bool lookUpSources(client *c, uint32_t count, slice *out, bitSource *texts, size_t *longest) {
    *longest = 0;
    for (uint32_t i = 0, ready = 0; i < count; i++) {
        robj *o;
        if (i == ready) ready += keysPrefetch(c, 3 + i, 1, count - i);
        if (!typedKeyRead(c, clientKeyAt(c, 3 + i), OBJ_STRING, &o)) return false;
        out[i] = o ? objectString(o, texts[i].digits) : sliceOf("", 0);
        if (out[i].len > *longest) *longest = out[i].len;
    }
    return true;
}

/* Propagates the result of an operation that Valkey does not have; `text` of length 0 is a key that is deleted. */
static void propagateResult(const client *c, bitsOperation operation, slice text) {
    if (operation <= BITS_NOT || !propagateInstead(c, text.len ? "SET" : "DEL")) return;
    propagateArg(c->argv[2]);
    if (text.len) propagateCopied(text);
    propagateDone();
}

static void bitopRun(client *c, bitsOperation operation, uint32_t count, slice *sources, bitSource *texts) {
    hashedKey to = clientKeyAt(c, 2);
    char digits[LONG_STR_SIZE];
    size_t len;

    if (!lookUpSources(c, count, sources, texts, &len)) return;
    if (len == 0) {
        if (deleteAndReport(c, to)) propagateResult(c, operation, sliceOf("", 0));
        addReplyZero(c);
        return;
    }
    if (!commandMemoryReserve(c, (operation > BITS_NOT ? 2 : 1) * len + to.name.len)) return;
    char *bytes = zmalloc(len);
    bitsCombine(bytes, len, operation, sources, count);
    robj *o = objectCreateFromExactTake(to.name, bytes, len, object_main_owner);
    setKeyTake(c->db, o, to, false);
    propagateResult(c, operation, objectString(o, digits)); /* after the DEL of a destination that has expired */
    keyChanged(c, to, NOTIFY_STRING, "set", 1);
    addReplyLongLong(c, (long long)len);
}

void bitopCommand(client *c) {
    slice inline_sources[SOURCES_INLINE], *sources = inline_sources;
    bitSource inline_texts[SOURCES_INLINE], *texts = inline_texts;
    uint32_t count = c->argc - 3;
    bitsOperation operation;

    if (!parseOperation(c->argv[1], &operation)) {
        addReplySyntaxError(c);
        return;
    }
    if (operation == BITS_NOT && count != 1) {
        addReplyError(c, "BITOP NOT must be called with a single source key.");
        return;
    }
    if (operation >= BITS_DIFF && operation <= BITS_ANDOR && count < 2) {
        static const char *const names[] = {"DIFF", "DIFF1", "ANDOR"};
        addReplyErrorFormat(c, "BITOP %s must be called with at least two source keys.", names[operation - BITS_DIFF]);
        return;
    }
    if (count > SOURCES_INLINE) {
        sources = zmalloc(count * sizeof(*sources));
        texts = zmalloc(count * sizeof(*texts));
    }
    bitopRun(c, operation, count, sources, texts);
    if (sources != inline_sources) {
        zfree(sources);
        zfree(texts);
    }
}

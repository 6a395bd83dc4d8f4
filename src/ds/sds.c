/* sds.c -- growable byte strings that know their length and are still C strings.
 *
 *     u8 string    | len 1 | cap 1 | kind | bytes ... | NUL |
 *     u16          | len 2 | cap 2 | kind | bytes ... | NUL |       likewise u32 and u64
 *                                          ^ sds points here
 *
 * The byte before the string defines the width of the two numbers before it. `cap` counts the bytes that fit,
 * without header and NUL; it includes the allocator's slack if the width can express that.
 *
 * Owns        one block per string.
 * Invariants  1. len <= cap <= the largest number of the kind.  2. s[len] is NUL.
 * Cost        appending is O(added) on average: capacity grows by doubling up to 1 MiB.
 * Tests       tests/unit/ds/sds_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sds.h"
#include "slice.h"
#include "numbers.h"
#include "panic.h"
#include "zmalloc.h"
#include <math.h>
#include <stdio.h>

enum { KIND_8, KIND_16, KIND_32, KIND_64 };

#define GROW_STEP_MAX ((size_t)1 << 20)

static int kindOf(const char *s) { return (uint8_t)s[-1]; }
static size_t headerSize(int kind) { return ((size_t)2 << kind) + 1; }

static size_t kindMax(int kind) {
    return kind == KIND_8 ? UINT8_MAX : kind == KIND_16 ? UINT16_MAX : kind == KIND_32 ? UINT32_MAX : SIZE_MAX / 2;
}

static int kindFor(size_t cap) {
    int kind = KIND_8;
    while (cap > kindMax(kind)) kind++;
    return kind;
}

/* Reads a number, which is unaligned. */
static size_t readNumber(const char *p, int kind) {
    uint16_t v16;
    uint32_t v32;
    uint64_t v64;
    switch (kind) {
    case KIND_8: return (uint8_t)*p;
    case KIND_16: memcpy(&v16, p, 2); return v16;
    case KIND_32: memcpy(&v32, p, 4); return v32;
    default: memcpy(&v64, p, 8); return v64;
    }
}

static void writeNumber(char *p, int kind, size_t value) {
    uint16_t v16 = (uint16_t)value;
    uint32_t v32 = (uint32_t)value;
    uint64_t v64 = value;
    switch (kind) {
    case KIND_8: *p = (char)(uint8_t)value; break;
    case KIND_16: memcpy(p, &v16, 2); break;
    case KIND_32: memcpy(p, &v32, 4); break;
    default: memcpy(p, &v64, 8); break;
    }
}

static size_t capOf(const char *s) {
    int kind = kindOf(s);
    return readNumber(s - 1 - ((size_t)1 << kind), kind);
}

static char *blockOf(const char *s) { return (char *)(uintptr_t)s - headerSize(kindOf(s)); }

static void setLen(char *s, size_t len) {
    writeNumber(blockOf(s), kindOf(s), len);
    s[len] = '\0';
}

/* Writes the header of a block with `usable` bytes; returns the string, whose length is not yet set. */
static char *formatBlock(char *block, int kind, size_t usable) {
    size_t header = headerSize(kind), cap = usable - header - 1;
    if (cap > kindMax(kind)) cap = kindMax(kind);
    char *s = block + header;
    block[header - 1] = (char)kind;
    writeNumber(block + ((size_t)1 << kind), kind, cap);
    return s;
}

static char *newBlock(size_t cap) {
    serverAssert(cap <= SIZE_MAX / 2 - 32);
    int kind = kindFor(cap);
    size_t usable;
    char *block = zmallocUsable(headerSize(kind) + cap + 1, &usable);
    return formatBlock(block, kind, usable);
}

sds sdsNewLen(const void *init, size_t len) {
    char *s = newBlock(len);
    if (!init) memset(s, 0, len);
    else if (len) memcpy(s, init, len);
    setLen(s, len);
    return s;
}

sds sdsNew(const char *init) { return sdsNewLen(init ? init : "", init ? strlen(init) : 0); }
sds sdsEmpty(void) { return sdsNewLen("", 0); }
sds sdsDup(const sds s) { return sdsNewLen(s, sdsLen(s)); }
sds sdsFromSlice(slice v) { return sdsNewLen(v.len ? v.ptr : "", v.len); }

sds sdsFromLongLong(long long value) {
    char digits[LONG_STR_SIZE];
    size_t len = ll2string(digits, value);
    return sdsNewLen(digits, len);
}

void sdsFree(sds s) {
    if (s) zfree(blockOf(s));
}

size_t sdsLen(const sds s) { return readNumber(blockOf(s), kindOf(s)); }
size_t sdsAvail(const sds s) { return capOf(s) - sdsLen(s); }
size_t sdsAllocSize(const sds s) { return zmallocSize(blockOf(s)); }

/* Moves the string to a block with a capacity of at least `cap`. */
static sds resizeBlock(sds s, size_t cap) {
    size_t len = sdsLen(s), usable;
    int kind = kindFor(cap);
    if (kind == kindOf(s)) {
        char *block = zreallocUsable(blockOf(s), headerSize(kind) + cap + 1, &usable);
        return formatBlock(block, kind, usable);
    }
    char *wider = newBlock(cap);
    memcpy(wider, s, len);
    setLen(wider, len);
    sdsFree(s);
    return wider;
}

static __attribute__((noinline)) sds grow(sds s, size_t extra, bool greedy) {
    size_t len = sdsLen(s);
    serverAssert(extra <= SIZE_MAX / 4 && len <= SIZE_MAX / 4);
    size_t cap = len + extra;
    if (greedy) cap += cap < GROW_STEP_MAX ? cap : GROW_STEP_MAX;
    return resizeBlock(s, cap);
}

static inline sds sdsReserve(sds s, size_t extra, bool greedy) {
    return likely(sdsAvail(s) >= extra) ? s : grow(s, extra, greedy);
}

sds sdsMakeRoomFor(sds s, size_t extra) { return sdsReserve(s, extra, true); }
sds sdsMakeRoomForNonGreedy(sds s, size_t extra) { return sdsReserve(s, extra, false); }

void sdsIncrLen(sds s, ptrdiff_t delta) {
    size_t len = sdsLen(s);
    if (delta >= 0) serverAssert((size_t)delta <= capOf(s) - len);
    else serverAssert((size_t)-delta <= len);
    setLen(s, len + (size_t)delta);
}

void sdsClear(sds s) { setLen(s, 0); }

/* The source may be part of `s` only if there is capacity already; callers append other bytes. */
sds sdsCatLen(sds s, const void *p, size_t len) {
    if (len == 0) return s;
    s = sdsReserve(s, len, true);
    size_t old = sdsLen(s);
    memcpy(s + old, p, len);
    setLen(s, old + len);
    return s;
}

sds sdsCat(sds s, const char *p) { return sdsCatLen(s, p, strlen(p)); }
sds sdsCatSlice(sds s, slice v) { return sdsCatLen(s, v.ptr, v.len); }

/* Output that is written past the end of a string, whose length is set at the end. */
typedef struct writing {
    char *s, *at, *limit;
} writing;

static __attribute__((noinline)) void growWriting(writing *w, size_t n) {
    size_t len = (size_t)(w->at - w->s);
    setLen(w->s, len);
    w->s = sdsReserve(w->s, n, true);
    w->at = w->s + len;
    w->limit = w->s + capOf(w->s);
}

static inline void putBytes(writing *w, const char *p, size_t n) {
    if (unlikely((size_t)(w->limit - w->at) < n)) growWriting(w, n);
    memcpy(w->at, p, n);
    w->at += n;
}

#define NUMBER_SIZE 32
static_assert(NUMBER_SIZE >= LONG_STR_SIZE && NUMBER_SIZE >= FIXED_SHORT_SIZE, "fits any number that is short");
static_assert(sizeof(size_t) == sizeof(long), "z is read as l");

/* Writes a number for "%d", "%u" and the like with l, ll or z; `letter` is the conversion's last letter. */
static inline size_t putNumber(char *out, char letter, int longs, va_list *ap) {
    if (letter == 'd') {
        long long n = longs == 2 ? va_arg(*ap, long long) : longs ? va_arg(*ap, long) : va_arg(*ap, int);
        return ll2string(out, n);
    }
    unsigned long long n = longs == 2 ? va_arg(*ap, unsigned long long)
                           : longs    ? va_arg(*ap, unsigned long)
                                      : va_arg(*ap, unsigned);
    return ull2string(out, n);
}

/* Writes a number for "%.2f" and the like, with up to four digits; the conversion begins at `f`. Returns the position
 * after it, NULL if it is another conversion or the number is long. */
static const char *putFixed(writing *w, const char *f, va_list *ap) {
    if (f[1] < '0' || f[1] > '4' || f[2] != 'f') return NULL;
    double x = va_arg(*ap, double);
    if (!(fabs(x) < FIXED_SHORT_BELOW)) return NULL;
    w->at += d2fixed(w->at, x, (unsigned)(f[1] - '0'));
    return f + 3;
}

/* Writes the conversion at `f`, after the '%', if it is a simple one, and returns the position after it. NULL: only
 * printf can do it. */
static const char *putConversion(writing *w, const char *f, va_list *ap) {
    if (*f == 's') {
        const char *text = va_arg(*ap, const char *);
        if (!text) text = "(null)";
        putBytes(w, text, strlen(text));
        return f + 1;
    }
    if (unlikely(w->limit - w->at < NUMBER_SIZE)) growWriting(w, NUMBER_SIZE);
    if (*f == '.') return putFixed(w, f, ap);
    if (*f == '%') {
        *w->at++ = '%';
        return f + 1;
    }
    size_t digits = 0;
    if (f[0] == '0' && f[1] >= '1' && f[1] <= '9') {
        digits = (size_t)(f[1] - '0');
        f += 2;
    }
    int longs = *f == 'z';
    if (longs) f++;
    else
        for (; *f == 'l' && longs < 2; f++) longs++;
    if (*f != 'd' && *f != 'u') return NULL;
    size_t len = putNumber(w->at, *f, longs, ap);
    if (len < digits) {
        if (*w->at == '-') return NULL;
        memmove(w->at + digits - len, w->at, len);
        memset(w->at, '0', digits - len);
        len = digits;
    }
    w->at += len;
    return f + 1;
}

/* Appends formatted text if all conversions are simple (%s, %d and %u with l, ll or z or a width like 06, %.2f and the
 * like, %%), as nearly all of INFO are: takes a third of the time of printf. Returns false if nothing was appended. */
static bool catPlain(sds *to, const char *fmt, va_list *ap) {
    size_t before = sdsLen(*to);
    writing w = {*to, *to + before, *to + capOf(*to)};
    while (fmt && *fmt) {
        const char *next = strchrnul(fmt, '%');
        putBytes(&w, fmt, (size_t)(next - fmt));
        fmt = *next ? putConversion(&w, next + 1, ap) : next;
    }
    setLen(w.s, fmt ? (size_t)(w.at - w.s) : before);
    *to = w.s;
    return fmt != NULL;
}

static sds catFormatted(sds s, const char *fmt, va_list ap) {
    char small[1024];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof(small), fmt, ap);
    serverAssert(n >= 0);
    size_t len = (size_t)n;
    if (len < sizeof(small)) {
        s = sdsCatLen(s, small, len);
    } else {
        s = sdsReserve(s, len, true);
        vsnprintf(s + sdsLen(s), len + 1, fmt, again);
        setLen(s, sdsLen(s) + len);
    }
    va_end(again);
    return s;
}

sds sdsCatVprintf(sds s, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    if (!catPlain(&s, fmt, &again)) s = catFormatted(s, fmt, ap);
    va_end(again);
    return s;
}

sds sdsCatPrintf(sds s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    s = sdsCatVprintf(s, fmt, ap);
    va_end(ap);
    return s;
}

static bool isPrintable(unsigned char c) { return c >= 0x20 && c < 0x7f; }

sds sdsCatRepr(sds s, const char *p, size_t len) {
    static const char escaped[] = "\\\"\n\r\t\a\b", letter[] = "\\\"nrtab";
    s = sdsReserve(s, len + 2, true);
    s = sdsCatLen(s, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        const char *known = p[i] ? strchr(escaped, p[i]) : NULL;
        if (known) {
            char pair[2] = {'\\', letter[known - escaped]};
            s = sdsCatLen(s, pair, 2);
        } else if (isPrintable((unsigned char)p[i])) {
            s = sdsCatLen(s, p + i, 1);
        } else {
            s = sdsCatPrintf(s, "\\x%02x", (unsigned char)p[i]);
        }
    }
    return sdsCatLen(s, "\"", 1);
}

sds sdsCpyLen(sds s, const char *p, size_t len) {
    sdsClear(s);
    return sdsCatLen(s, p, len);
}

sds sdsGrowZero(sds s, size_t len) {
    size_t old = sdsLen(s);
    if (len <= old) return s;
    s = sdsReserve(s, len - old, true);
    memset(s + old, 0, len - old);
    setLen(s, len);
    return s;
}

void sdsRange(sds s, ptrdiff_t start, ptrdiff_t end) {
    ptrdiff_t len = (ptrdiff_t)sdsLen(s);
    if (start < 0) start = start + len < 0 ? 0 : start + len;
    if (end < 0) end = end + len < 0 ? -1 : end + len;
    if (end >= len) end = len - 1;
    if (start > end) {
        sdsClear(s);
        return;
    }
    memmove(s, s + start, (size_t)(end - start + 1));
    setLen(s, (size_t)(end - start + 1));
}

void sdsTrim(sds s, const char *cset) {
    size_t set = strlen(cset), start = 0, end = sdsLen(s);
    while (start < end && memchr(cset, s[start], set)) start++;
    while (end > start && memchr(cset, s[end - 1], set)) end--;
    memmove(s, s + start, end - start);
    setLen(s, end - start);
}

void sdsToLower(sds s) {
    for (size_t i = 0, n = sdsLen(s); i < n; i++) {
        if (s[i] >= 'A' && s[i] <= 'Z') s[i] = (char)(s[i] + ('a' - 'A'));
    }
}

void sdsToUpper(sds s) {
    for (size_t i = 0, n = sdsLen(s); i < n; i++) {
        if (s[i] >= 'a' && s[i] <= 'z') s[i] = (char)(s[i] - ('a' - 'A'));
    }
}

int sdsCmp(const sds a, const sds b) { return sliceCmp(sdsSlice(a), sdsSlice(b)); }

/* ---- splitting and joining ---- */

/* A growing array of strings. */
typedef struct words {
    sds *at; /* owns */
    int count;
    size_t capacity;
} words;

static void wordsPush(words *w, sds s) {
    w->at = zgrowArray(w->at, (size_t)w->count, &w->capacity, sizeof(*w->at));
    w->at[w->count++] = s;
}

sds *sdsSplitLen(const char *s, size_t len, const char *sep, size_t seplen, int *count) {
    serverAssert(sep && seplen >= 1);
    words w = {zmalloc(8 * sizeof(sds)), 0, 8};
    *count = 0;
    if (len == 0) return w.at;
    const char *end = s + len;
    for (;;) {
        const char *hit = memmem(s, (size_t)(end - s), sep, seplen);
        wordsPush(&w, sdsNewLen(s, (size_t)((hit ? hit : end) - s)));
        if (!hit) break;
        s = hit + seplen;
    }
    *count = w.count;
    return w.at;
}

void sdsFreeSplitRes(sds *list, int count) {
    if (!list) return;
    for (int i = 0; i < count; i++) sdsFree(list[i]);
    zfree(list);
}

sds sdsJoin(char **list, int count, const char *sep) {
    sds s = sdsEmpty();
    for (int i = 0; i < count; i++) {
        if (i) s = sdsCat(s, sep);
        s = sdsCat(s, list[i]);
    }
    return s;
}

/* Returns whether the byte ends a word outside of quotes. Vertical tab and form feed may precede a word, but do not end
 * one. */
static bool endsWord(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Returns the byte that the escape at *p, in double quotes, stands for, and moves *p past it. */
static char takeEscape(const char **p, const char *end) {
    static const char letter[] = "nrtba", stands_for[] = "\n\r\t\b\a";
    const char *s = *p, *known = s[1] ? strchr(letter, s[1]) : NULL;
    if (s[1] == 'x' && end - s >= 4 && hexDigit(s[2]) >= 0 && hexDigit(s[3]) >= 0) {
        *p = s + 4;
        return (char)(hexDigit(s[2]) * 16 + hexDigit(s[3]));
    }
    *p = s + 2;
    return known ? stands_for[known - letter] : s[1];
}

ptrdiff_t sdsTakeWord(const char **in, const char *end, ptrdiff_t escape_min, char *out) {
    const char *p = *in;
    char *start = out, quote = 0;
    while (p < end && (quote || !endsWord(*p))) {
        bool escapes = *p == '\\' && end - p >= escape_min;
        if (!quote && (*p == '"' || *p == '\'')) {
            quote = *p++;
        } else if (quote && *p == quote) {
            quote = 0;
            p++;
        } else if (quote == '"' && escapes) {
            *out++ = takeEscape(&p, end);
        } else if (quote == '\'' && escapes && p[1] == '\'') {
            *out++ = '\'';
            p += 2;
        } else {
            *out++ = *p++;
        }
    }
    *in = p;
    return quote ? -1 : out - start;
}

static sds *splitLine(const char *line, ptrdiff_t escape_min, int *count) {
    size_t len = strlen(line);
    char *word = zmalloc(len + 1); /* no word is longer than the line */
    words w = {zmalloc(8 * sizeof(sds)), 0, 8};
    const char *p = line, *end = line + len;
    ptrdiff_t word_len = 0;
    while (word_len >= 0) {
        while (p < end && isBlank(*p)) p++;
        if (p == end) break;
        word_len = sdsTakeWord(&p, end, escape_min, word);
        if (word_len >= 0) wordsPush(&w, sdsNewLen(word, (size_t)word_len));
    }
    zfree(word);
    *count = word_len < 0 ? 0 : w.count;
    if (word_len >= 0) return w.at;
    sdsFreeSplitRes(w.at, w.count);
    return NULL;
}

sds *sdsSplitArgs(const char *line, int *count) { return splitLine(line, 2, count); }
sds *sdsSplitInline(const char *line, int *count) { return splitLine(line, 3, count); }

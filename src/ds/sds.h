/* sds.h -- growable byte strings that know their length and are still C strings.
 *
 * An sds points at the first byte; the header with length and capacity sits before it, in four
 * widths so that short strings pay 3 bytes. Always NUL-terminated; may contain NULs. Functions that
 * can move the string return the new pointer, and the old one is dead.
 *
 * Threads     one owner at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_SDS_H
#define DS_SDS_H

#include "slice.h"
#include <stdarg.h>

typedef char *sds;

sds sdsNewLen(const void *init, size_t len); /* init NULL: zero bytes */
sds sdsNew(const char *init);
sds sdsEmpty(void);
sds sdsDup(const sds s);
sds sdsFromSlice(slice v);
sds sdsFromLongLong(long long value);
void sdsFree(sds s); /* NULL is allowed */

size_t sdsLen(const sds s);
size_t sdsAvail(const sds s);
size_t sdsAllocSize(const sds s); /* bytes of the block that holds it */
static inline slice sdsSlice(const sds s) {
    return sliceOf(s, sdsLen(s));
}

sds sdsCatLen(sds s, const void *p, size_t len);
sds sdsCat(sds s, const char *p);
sds sdsCatSlice(sds s, slice v);
sds sdsCatPrintf(sds s, const char *fmt, ...) printf_like(2, 3);
sds sdsCatVprintf(sds s, const char *fmt, va_list ap);
/* Append with quotes and escapes (\n \r \t \a \b \" \\ \xHH), as logs and CONFIG REWRITE show it. */
sds sdsCatRepr(sds s, const char *p, size_t len);
sds sdsCpyLen(sds s, const char *p, size_t len);
sds sdsGrowZero(sds s, size_t len);
/* Room for `extra` more bytes: doubling below 1 MiB, +1 MiB above. NonGreedy: exactly that. */
sds sdsMakeRoomFor(sds s, size_t extra);
sds sdsMakeRoomForNonGreedy(sds s, size_t extra);
sds sdsRemoveFreeSpace(sds s);
/* Bytes were written behind the end (delta > 0) or are dropped from it (delta < 0). */
void sdsIncrLen(sds s, ptrdiff_t delta);
void sdsClear(sds s);
void sdsRange(sds s, ptrdiff_t start, ptrdiff_t end); /* keep [start, end]; negatives from the end */
void sdsTrim(sds s, const char *cset);
void sdsToLower(sds s);
void sdsToUpper(sds s);
int sdsCmp(const sds a, const sds b);

/* Split at each `sep` (not NULL, seplen >= 1). Returns an array of *count strings, freed with
 * sdsFreeSplitRes(). */
sds *sdsSplitLen(const char *s, size_t len, const char *sep, size_t seplen, int *count);
/* Split a line into words as the configuration and inline commands do: "..." with \n \r \t \a \b
 * \xHH escapes, '...' with only \' escaped, blanks between. Quoted text is joined with what it touches:
 * "a b"c is the word `a bc`. NULL for unbalanced quotes. An empty line gives a non-NULL array and *count 0. */
sds *sdsSplitArgs(const char *line, int *count);
void sdsFreeSplitRes(sds *words, int count);
sds sdsJoin(char **words, int count, const char *sep);

#endif

/* sds.h -- growable byte strings that know their length and are still C strings.
 *
 * An sds points at the first byte; the header with length and capacity sits before it, in four
 * widths so that short strings pay 3 bytes. Always NUL-terminated; may contain NULs. Functions that
 * can move the string return the new pointer; the old one is invalid.
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
size_t sdsAvail(const sds s);     /* capacity left */
size_t sdsAllocSize(const sds s); /* bytes of the block that holds it */
static inline slice sdsSlice(const sds s) { return sliceOf(s, sdsLen(s)); }

sds sdsCatLen(sds s, const void *p, size_t len);
sds sdsCat(sds s, const char *p);
sds sdsCatSlice(sds s, slice v);
sds sdsCatPrintf(sds s, const char *fmt, ...) printf_like(2, 3);
sds sdsCatVprintf(sds s, const char *fmt, va_list ap);
/* Appends the bytes in quotes, with escapes (\n \r \t \a \b \" \\ \xHH), as in logs and CONFIG REWRITE. */
sds sdsCatRepr(sds s, const char *p, size_t len);
/* Replaces the content by `len` bytes. */
sds sdsCpyLen(sds s, const char *p, size_t len);
/* Extends the string to `len` bytes with zeros; does nothing if it is longer. */
sds sdsGrowZero(sds s, size_t len);
/* Ensures capacity for `extra` more bytes: doubles below 1 MiB, adds 1 MiB above. NonGreedy: exactly that. */
sds sdsMakeRoomFor(sds s, size_t extra);
sds sdsMakeRoomForNonGreedy(sds s, size_t extra);
/* Changes the length, after bytes were written past the end (delta > 0) or to drop some (delta < 0). */
void sdsIncrLen(sds s, ptrdiff_t delta);
/* Makes the string empty and keeps its capacity. */
void sdsClear(sds s);
void sdsRange(sds s, ptrdiff_t start, ptrdiff_t end); /* keeps [start, end]; negative from the end */
void sdsTrim(sds s, const char *cset);
void sdsToLower(sds s); /* ASCII letters only */
void sdsToUpper(sds s);
int sdsCmp(const sds a, const sds b); /* as memcmp(); a prefix is less */

/* Splits at each `sep` (not NULL, seplen >= 1). Returns an array of *count strings, freed by sdsFreeSplitRes(). */
sds *sdsSplitLen(const char *s, size_t len, const char *sep, size_t seplen, int *count);
/* Splits a line into words like the configuration file: separated by blanks, with "..." (escapes \n \r \t \a \b \xHH)
 * and '...' (only \' is escaped). Quoted text is joined with adjacent text: "a b"c is the word `a bc`. Returns NULL for
 * unbalanced quotes; for an empty line, a non-NULL array and *count 0. */
sds *sdsSplitArgs(const char *line, int *count);
/* Like sdsSplitArgs(), for an inline request: in "\" at the end of the line the backslash is literal and the quote
 * closes. */
sds *sdsSplitInline(const char *line, int *count);
/* Reads the word at *in by these rules and moves *in past it. Writes it without quotes to `out`, at or before *in or
 * elsewhere. Returns its length, -1 if a quote is not closed. A backslash escapes only if, with it, at least
 * `escape_min` (2 or more) bytes are left. */
ptrdiff_t sdsTakeWord(const char **in, const char *end, ptrdiff_t escape_min, char *out);
void sdsFreeSplitRes(sds *words, int count);           /* NULL is allowed */
sds sdsJoin(char **words, int count, const char *sep); /* with `sep` between the words */

#endif

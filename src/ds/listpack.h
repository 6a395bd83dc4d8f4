/* listpack.h -- a short sequence of strings and integers in one block of bytes, of the published layout.
 *
 * A listpack is the address of its first byte. An entry is the address of its first byte in the block, its "position";
 * it is valid until the next function that changes the listpack. Functions that change it return its new address; the
 * old one is invalid.
 *
 * Functions that may grow it by a size that a client chooses return NULL if there is no memory, or if it would become
 * larger than LISTPACK_BYTES_MAX; the listpack and positions in it are then unchanged. Shrinking never fails.
 * Values passed to a function must not be part of the listpack that it changes.
 *
 * Text that is an integer as ll2string() would write it (of 64 bits) is kept as that integer, and reads back as the
 * same text.
 *
 * Threads     one owner at a time; functions that take const bytes change nothing, for any number of readers.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_LISTPACK_H
#define DS_LISTPACK_H

#include "numbers.h"
#include "slice.h"

#define LISTPACK_BYTES_MAX ((size_t)1 << 30)
#define LISTPACK_BYTES_MIN 7 /* of an empty one */

/* ---- Whole listpacks ---- */

/* Returns an empty one with `capacity` bytes reserved. Returns NULL if there is no memory; never for up to one page. */
uint8_t *listpackCreate(size_t capacity);
void listpackFree(uint8_t *lp); /* NULL is allowed */
/* Returns a copy of a listpack, or of the valid bytes of a file; NULL if there is no memory. */
uint8_t *listpackDup(const uint8_t *lp) must_check;
/* Turns a zmalloc() block that begins with a valid listpack into that listpack. Takes ownership of the block. */
uint8_t *listpackOfBlockTake(void *block);
/* Gives unused capacity back to the allocator. Returns the new address. */
uint8_t *listpackShrinkToFit(uint8_t *lp) must_check;
/* Returns the size in bytes, with header and end byte: what is written to files. */
size_t listpackBytes(const uint8_t *lp);
/* Returns the number of entries. O(1) up to 65534; a listpack that has, or once had, more is walked. */
size_t listpackCount(const uint8_t *lp);
/* Like listpackCount(), and stores the number if it is below 65535, so that listpackCount() is O(1) again. */
size_t listpackRecount(uint8_t *lp);

/* ---- Positions: NULL if there is no such entry ---- */

const uint8_t *listpackFirst(const uint8_t *lp);
const uint8_t *listpackLast(const uint8_t *lp);
const uint8_t *listpackNext(const uint8_t *at);
const uint8_t *listpackPrev(const uint8_t *lp, const uint8_t *at);
/* Returns the entry with that index, negative from the end; walks from the nearer end. */
const uint8_t *listpackIndex(const uint8_t *lp, long index);
/* Returns the first entry equal to `value`, searching `from` (may be NULL) and then every (skip + 1)-th entry: with
 * skip 1, only the fields of field, value, field, value. Also finds an integer that is stored as text. */
const uint8_t *listpackFind(const uint8_t *from, slice value, size_t skip);

/* ---- Values ---- */

typedef struct listpackValue {
    const char *str; /* borrowed from the listpack until it changes; NULL: the value is an integer */
    size_t len;
    int64_t num;
} listpackValue;

listpackValue listpackGet(const uint8_t *at);
/* For loops over many entries: reads an entry that is a text of at most 63 bytes, as most are, and sets *next to the
 * position after it, which may be the end. Returns false for any other entry: use listpackGet(). */
#define LISTPACK_SHORT_MAX 63
static inline bool listpackShortText(const uint8_t *at, slice *text, const uint8_t **next) {
    unsigned head = *at;
    if ((head & 0xc0) != 0x80) return false;
    *text = sliceOf(at + 1, head & LISTPACK_SHORT_MAX);
    *next = at + 2 + text->len;
    return true;
}
/* Returns the value as text, which is in the listpack, or in `buf` if the value is an integer. */
slice listpackText(const uint8_t *at, char buf[LONG_STR_SIZE]);
/* Returns whether the value is an integer, stored as such or as text, and sets *num. */
bool listpackInteger(const uint8_t *at, int64_t *num) must_check;
/* Returns whether the value, as text, equals `value`. */
bool listpackEquals(const uint8_t *at, slice value);

/* A walk over all entries from the front or from the back. The listpack must not change meanwhile. */
typedef struct listpackIter {
    const uint8_t *lp, *at; /* at: the next entry, NULL at the end */
    bool backward;
} listpackIter;
listpackIter listpackIterBegin(const uint8_t *lp, bool backward);
/* Reads the next entry and, unless `at` is NULL, sets *at to its position. Returns false at the end. */
bool listpackIterNext(listpackIter *it, listpackValue *value, const uint8_t **at);

/* ---- Sizes ---- */

/* Return the bytes of an entry with this value, and of one with a text of at most this length. */
size_t listpackEntryBytes(slice value);
size_t listpackEntryBytesMax(size_t len);
size_t listpackIntegerBytes(int64_t num);
/* Returns whether the listpack can grow by `add` bytes and stay within both `limit` and LISTPACK_BYTES_MAX. */
bool listpackMayGrow(const uint8_t *lp, size_t add, size_t limit);

/* ---- Changes ---- */

uint8_t *listpackAppend(uint8_t *lp, slice value) must_check;
uint8_t *listpackAppendInteger(uint8_t *lp, int64_t num) must_check;
uint8_t *listpackPrepend(uint8_t *lp, slice value) must_check;
/* Appends all of `n` values or, if there is no memory, none; grows once. */
uint8_t *listpackAppendBatch(uint8_t *lp, const slice *values, size_t n) must_check;

/* Appends texts and integers from any source with one growth: at most `capacity` bytes of entries, by
 * listpackEntryBytes() and its like. listpackWriteBegin() returns false if there is no memory, or the listpack would
 * become too large; it is then unchanged. Otherwise the listpack must not be used until listpackWriteEnd() returns its
 * new address. Unused capacity stays with the listpack. */
typedef struct listpackWriter {
    uint8_t *lp; /* borrowed from its owner until listpackWriteEnd() returns it */
    size_t bytes, added, most;
} listpackWriter;
bool listpackWriteBegin(listpackWriter *w, uint8_t *lp, size_t capacity) must_check;
void listpackWriteText(listpackWriter *w, slice value);
void listpackWriteInteger(listpackWriter *w, int64_t num);
uint8_t *listpackWriteEnd(const listpackWriter *w) must_check;

/* Inserts a value before or after *at, or replaces that entry. *at becomes the position of the new entry. */
typedef enum { LISTPACK_BEFORE, LISTPACK_AFTER, LISTPACK_REPLACE } listpackWhere;
uint8_t *listpackInsert(uint8_t *lp, const uint8_t **at, listpackWhere where, slice value) must_check;
uint8_t *listpackInsertInteger(uint8_t *lp, const uint8_t **at, listpackWhere where, int64_t num) must_check;

/* Deletes `n` entries (fewer if there are not so many) from *at on; *at becomes the position after them, NULL at the
 * end. */
uint8_t *listpackDelete(uint8_t *lp, const uint8_t **at, size_t n) must_check;
/* Like listpackDelete(), from the entry with that index on, negative from the end; does nothing if there is none. */
uint8_t *listpackDeleteRange(uint8_t *lp, long index, size_t n) must_check;

/* Deletes entries equal to `value`, in one pass: skips the first `skip` of them, then deletes at most `max`. */
uint8_t *listpackDeleteEqual(uint8_t *lp, slice value, size_t skip, size_t max, size_t *removed) must_check;
size_t listpackCountEqual(const uint8_t *lp, slice value);

/* Appends the entries of `other`, which is unchanged. */
uint8_t *listpackConcat(uint8_t *lp, const uint8_t *other) must_check;
/* Joins two listpacks and frees what is not used of them. Returns NULL if there is no memory: both are unchanged. */
uint8_t *listpackMergeTake(uint8_t *first, uint8_t *second) must_check;

/* ---- Changes in place at either end, for a listpack inside a block of another structure ---- */

/* Appends an entry, with `capacity` free bytes after the listpack. Returns by how many bytes it has grown; 0: it does
 * not fit, nothing has changed. */
size_t listpackAppendWithin(uint8_t *lp, slice value, size_t capacity);
/* Prepends an entry, with `capacity` free bytes before the listpack. Returns its new address; NULL: it does not fit,
 * nothing has changed. */
uint8_t *listpackPrependWithin(uint8_t *lp, slice value, size_t capacity);
/* Removes the first `n` entries, which exist, and returns the new address, which is higher. */
uint8_t *listpackDropFirst(uint8_t *lp, size_t n);
/* Removes the last `n` entries, which exist. */
void listpackDropLast(uint8_t *lp, size_t n);

/* ---- Bare listpacks: entries without backlen ----
 *
 * For listpacks that are full, read often and hardly changed: each entry is a byte shorter, or more if it is long. A
 * bare listpack is a block of exactly its bytes, with the header and end byte of a listpack. listpackFirst(),
 * listpackGet(), listpackText(), listpackInteger() and listpackEquals() can read it. */

/* Returns a bare copy; never NULL, as the listpack must not exceed LISTPACK_BARE_MAX bytes. */
#define LISTPACK_BARE_MAX 16384
uint8_t *listpackBare(const uint8_t *lp) must_check;
/* Returns an ordinary listpack with the same entries. */
uint8_t *listpackOfBare(const uint8_t *bare) must_check;
/* Returns the position after an entry, NULL at the end. */
const uint8_t *listpackBareNext(const uint8_t *at);
/* Overwrites an integer by another that takes as many bytes. Returns false if it takes more or fewer; nothing has
 * changed. */
bool listpackBareSet(uint8_t *bare, const uint8_t *at, int64_t num) must_check;

/* ---- Trust ---- */

/* Called for each entry that is complete; return false to reject the listpack. It may read only this entry and those
 * before it. */
typedef bool listpackVisit(void *arg, const uint8_t *at);
/* Returns whether these `size` bytes, from any source, are a listpack. Never reads outside of them. Without `deep`,
 * checks only that header and end byte agree with the size. With `deep`, checks every entry, after which no function
 * here reads out of bounds, and calls `visit` (may be NULL) for each. */
bool listpackValidate(const uint8_t *bytes, size_t size, bool deep, listpackVisit *visit, void *arg) must_check;

/* --- listpack_duplicates.c ---------------------------------------------------------------------------------------- */

/* Returns whether two of the elements 0, step, 2 * step ... are the same text. The listpack is valid and has `count`
 * entries. Also returns true if there is no memory to find out. */
bool listpackHasDuplicates(const uint8_t *lp, size_t count, unsigned step) must_check;

/* --- ziplist.c: packed layouts in files of older servers ----------------------------------------------------------
 *
 * Both accept bytes from any source and never read outside of them. They return NULL if the bytes are malformed, the
 * result is larger than a listpack can be, or there is no memory. */

/* Returns a listpack with the same elements in the same order; an empty one for an empty one. */
uint8_t *ziplistToListpack(const uint8_t *bytes, size_t size) must_check;
/* Returns a listpack of field, value, field, value with at least one pair. Fields may repeat. */
uint8_t *zipmapToListpack(const uint8_t *bytes, size_t size) must_check;

#endif

/* listpack.h -- a short sequence of strings and integers in one block of bytes, of the published layout.
 *
 * A listpack is the address of its first byte. An entry is the address of its first byte in the block, its "position";
 * it is valid until the next function that changes the listpack. Functions that change it return where it is now; the
 * old address is dead.
 *
 * What may grow by a size that a client chooses returns NULL when there is no memory, or when the listpack would get
 * larger than LISTPACK_BYTES_MAX; the listpack is then as it was, and so are positions in it. What shrinks never fails.
 * Values that are handed in must not lie in the listpack that is to change.
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

/* An empty one with room for `capacity` bytes. NULL when so much cannot be had; never for up to one page. */
uint8_t *listpackCreate(size_t capacity);
void listpackFree(uint8_t *lp); /* NULL is allowed */
/* A copy of a listpack, which may also be the valid bytes of a file. NULL: no memory. */
uint8_t *listpackDup(const uint8_t *lp) must_check;
/* A block (zmalloc) that begins with a sound listpack becomes it. */
uint8_t *listpackOfBlockTake(void *block);
/* Give back room that is not used. */
uint8_t *listpackShrinkToFit(uint8_t *lp) must_check;
/* Bytes with header and end: the block begins with so many bytes that a file takes. */
size_t listpackBytes(const uint8_t *lp);
/* Entries. O(1) up to 65534; a listpack that has, or once had, more is walked. */
size_t listpackCount(const uint8_t *lp);
/* The same, and it is stored if it is below 65535, so that listpackCount() is O(1) again. */
size_t listpackRecount(uint8_t *lp);

/* ---- Positions: NULL when there is no such entry ---- */

const uint8_t *listpackFirst(const uint8_t *lp);
const uint8_t *listpackLast(const uint8_t *lp);
const uint8_t *listpackNext(const uint8_t *at);
const uint8_t *listpackPrev(const uint8_t *lp, const uint8_t *at);
/* The entry of that number, negative from the end; walks from the nearer end. */
const uint8_t *listpackIndex(const uint8_t *lp, long index);
/* Positions of the `n` entries of these numbers, which ascend and may repeat, in one pass: out[i] belongs to index[i],
 * NULL where there are not so many entries. For random picks. */
void listpackPick(const uint8_t *lp, const size_t *index, size_t n, const uint8_t **out);
/* The first entry equal to `value`, of `from` (may be NULL) and every entry that follows by a multiple of skip + 1:
 * with skip 1 the fields of field, value, field, value. Also finds an integer that is stored as text. */
const uint8_t *listpackFind(const uint8_t *from, slice value, size_t skip);

/* ---- Values ---- */

typedef struct listpackValue {
    const char *str; /* borrowed from the listpack until it changes; NULL: the value is an integer */
    size_t len;
    int64_t num;
} listpackValue;

listpackValue listpackGet(const uint8_t *at);
/* For those who read many entries: an entry of a text of at most 63 bytes, which most are. *next is what lies behind
 * it, also when that is the end. False: any other entry; look with listpackGet(). */
#define LISTPACK_SHORT_MAX 63
static inline bool listpackShortText(const uint8_t *at, slice *text, const uint8_t **next) {
    unsigned head = *at;
    if ((head & 0xc0) != 0x80) return false;
    *text = sliceOf(at + 1, head & LISTPACK_SHORT_MAX);
    *next = at + 2 + text->len;
    return true;
}
/* The value as text: in the listpack, or written to `buf` if it is an integer. */
slice listpackText(const uint8_t *at, char buf[LONG_STR_SIZE]);
/* Whether it is an integer, stored as such or as text; if so, it is in *num. */
bool listpackInteger(const uint8_t *at, int64_t *num) must_check;
bool listpackEquals(const uint8_t *at, slice value);

/* Walk all entries from the front or from the back. The listpack must not change meanwhile. */
typedef struct listpackIter {
    const uint8_t *lp, *at; /* at: what comes next, NULL behind the last */
    bool backward;
} listpackIter;
listpackIter listpackIterBegin(const uint8_t *lp, bool backward);
/* False behind the last entry. Its position is in *at if that is not NULL. */
bool listpackIterNext(listpackIter *it, listpackValue *value, const uint8_t **at);

/* ---- Sizes ---- */

/* Bytes that an entry of this value takes; of text of this length at most. */
size_t listpackEntryBytes(slice value);
size_t listpackEntryBytesMax(size_t len);
size_t listpackIntegerBytes(int64_t num);
/* Whether `add` more bytes leave the listpack within `limit` bytes, and within LISTPACK_BYTES_MAX. */
bool listpackMayGrow(const uint8_t *lp, size_t add, size_t limit);

/* ---- Changes ---- */

uint8_t *listpackAppend(uint8_t *lp, slice value) must_check;
uint8_t *listpackAppendInteger(uint8_t *lp, int64_t num) must_check;
uint8_t *listpackPrepend(uint8_t *lp, slice value) must_check;
uint8_t *listpackPrependInteger(uint8_t *lp, int64_t num) must_check;
/* All or none of `n` values, with one growth. */
uint8_t *listpackAppendBatch(uint8_t *lp, const slice *values, size_t n) must_check;

/* The same for texts and integers, whatever they are taken from: as many as fit into `room` bytes, which is the sum of
 * their listpackEntryBytes...() or more. Begin says false when there is no memory, or the listpack would get too large:
 * it is then as it was. Else nothing else is done with it before the end, which hands back where it is now. Room that
 * is left over stays the listpack's. */
typedef struct listpackWriter {
    uint8_t *lp; /* borrowed from its owner, who gets it back by listpackWriteEnd() */
    size_t bytes, added, most;
} listpackWriter;
bool listpackWriteBegin(listpackWriter *w, uint8_t *lp, size_t room) must_check;
void listpackWriteText(listpackWriter *w, slice value);
void listpackWriteInteger(listpackWriter *w, int64_t num);
uint8_t *listpackWriteEnd(const listpackWriter *w) must_check;

/* Put a value before or after *at, or in its place. *at becomes the position of the new entry. */
typedef enum { LISTPACK_BEFORE, LISTPACK_AFTER, LISTPACK_REPLACE } listpackWhere;
uint8_t *listpackInsert(uint8_t *lp, const uint8_t **at, listpackWhere where, slice value) must_check;
uint8_t *listpackInsertInteger(uint8_t *lp, const uint8_t **at, listpackWhere where, int64_t num) must_check;

/* Take `n` entries out (fewer if there are not so many) from *at on; *at becomes what then follows, NULL at the end. */
uint8_t *listpackDelete(uint8_t *lp, const uint8_t **at, size_t n) must_check;
/* The same from an entry's number, negative from the end; nothing happens when there is none. */
uint8_t *listpackDeleteRange(uint8_t *lp, long index, size_t n) must_check;

/* Take out the entries equal to `value`: of them leave the first `skip`, then take at most `max`. In one pass. */
uint8_t *listpackDeleteEqual(uint8_t *lp, slice value, size_t skip, size_t max, size_t *removed) must_check;
size_t listpackCountEqual(const uint8_t *lp, slice value);

/* Append the entries of `other`, which stays. */
uint8_t *listpackConcat(uint8_t *lp, const uint8_t *other) must_check;
/* One listpack with the entries of both, and neither of the two is left; NULL: both are as they were. */
uint8_t *listpackMergeTake(uint8_t *first, uint8_t *second) must_check;

/* ---- At the ends, where they lie: for a listpack inside a block that somebody else keeps ---- */

/* Append, with `room` bytes free behind it. How many bytes it has grown; 0: too little room, nothing has changed. */
size_t listpackAppendWithin(uint8_t *lp, slice value, size_t room);
/* Prepend, with `room` bytes free before it: where it begins now. NULL: too little room, nothing has changed. */
uint8_t *listpackPrependWithin(uint8_t *lp, slice value, size_t room);
/* Without its first `n` entries, which it has: it begins later then. */
uint8_t *listpackDropFirst(uint8_t *lp, size_t n);
void listpackDropLast(uint8_t *lp, size_t n);

/* ---- Bare: entries without what leads backwards ----
 * For what is full, read often and hardly changed: each entry is a byte shorter, or more where it is long. A bare
 * listpack is a block of exactly its bytes, with the header and end of a listpack. listpackFirst(), listpackGet(),
 * listpackText(), listpackInteger() and listpackEquals() read it. */

/* A bare copy; never NULL for up to LISTPACK_BARE_MAX bytes, which the listpack must not exceed. */
#define LISTPACK_BARE_MAX 16384
uint8_t *listpackBare(const uint8_t *lp) must_check;
/* The listpack that it was. */
uint8_t *listpackOfBare(const uint8_t *bare) must_check;
const uint8_t *listpackBareNext(const uint8_t *at);
/* Put an integer where one is that takes as many bytes; false: it does not, nothing has changed. */
bool listpackBareSet(uint8_t *bare, const uint8_t *at, int64_t num) must_check;

/* ---- Trust ---- */

/* Called for each entry that has been found whole; false refuses the listpack. Only this entry and those before it may
 * be read. */
typedef bool listpackVisit(void *arg, const uint8_t *at);
/* Are these `size` bytes, from wherever they come, a listpack? Never reads outside of them. Not deep: header and end
 * agree with the size, which says nothing about the entries. Deep: every entry; then no function here reads out of
 * bounds, and `visit` (may be NULL) has seen all of them. */
bool listpackValidate(const uint8_t *bytes, size_t size, bool deep, listpackVisit *visit, void *arg) must_check;

#endif

/* quicklist.h -- a sequence of strings and integers of any length: a chain of listpacks.
 *
 * `fill` bounds a node. Below zero: bytes of its listpack, -1 .. -5 for 4, 8, 16, 32, 64 KiB. Above: so many elements,
 * and 8 KiB; 0 is 1. An element that is larger than a node may be has a node of its own, as it is ("plain").
 * `depth`: so many nodes from either end are as they are, those between are compressed where that saves something; 0:
 * none is.
 *
 * What is added must not lie in the list. Memory for nodes of ordinary size does not fail; an element of 1 MiB or more
 * has its memory reserved by the caller.
 *
 * Threads     one owner at a time; functions that take const change nothing, for any number of readers.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_QUICKLIST_H
#define DS_QUICKLIST_H

#include "listpack.h"
#include "zmalloc_move.h"

typedef struct quicklist quicklist;
typedef struct quicklistNode quicklistNode;

/* ---- Bounds of a node ---- */

/* Whether a listpack of `bytes` bytes and `count` elements is within the bounds of one node. */
bool quicklistFits(int fill, size_t bytes, size_t count);
/* Whether an element of this length is a node of its own. */
bool quicklistIsPlain(int fill, size_t len);
/* For tests (main): elements from so many bytes on are plain, and others are not, whatever the bounds; 0: as usual. */
void quicklistSetPlainFrom(size_t len);

/* ---- Whole lists ---- */

quicklist *quicklistCreate(int fill, unsigned depth);
void quicklistFree(quicklist *q);
/* A copy; NULL when there is no memory. */
quicklist *quicklistDup(const quicklist *q) must_check;
size_t quicklistCount(const quicklist *q);
int quicklistFill(const quicklist *q);
unsigned quicklistDepth(const quicklist *q);
/* Nodes at the end, however large, from outside: a listpack that has been validated, or one element. The list takes
 * the block. A large listpack becomes several nodes; false when there is no memory: the block stays the caller's. */
bool quicklistAppendListpackTake(quicklist *q, uint8_t *lp) must_check;
/* Each of its elements, into nodes within the bounds; the listpack stays. False when there is no memory: some are
 * there. */
bool quicklistAppendEach(quicklist *q, const uint8_t *lp) must_check;
/* A copy of the element; false when there is no memory. */
bool quicklistAppendPlain(quicklist *q, slice value) must_check;
/* The listpack of a list that has but one node, which is one within the bounds that `fill` means, or, with `half`,
 * within half of them: the list is gone then. NULL otherwise. */
uint8_t *quicklistToListpackTake(quicklist *q, int fill, bool half);

/* Defragmentation. Offer up to `nodes` nodes and their blocks to `move`, from the head on with `begin`, else from where
 * the last call stopped. True when all have been offered. The list stays where it is. */
bool quicklistDefrag(quicklist *q, bool begin, size_t nodes, blockMover *move);

typedef struct quicklistStats {
    size_t nodes, compressed; /* nodes */
    size_t bytes;             /* of all nodes, none compressed */
} quicklistStats;
void quicklistGetStats(const quicklist *q, quicklistStats *out);
/* Bytes that it takes, by at most `samples` of its nodes (0: all). */
size_t quicklistMemory(const quicklist *q, size_t samples);
size_t quicklistNodeCount(const quicklist *q);
/* Assert what holds; reads everything. */
void quicklistCheck(const quicklist *q);

/* ---- Ends ---- */

typedef enum { LIST_HEAD, LIST_TAIL } listEnd;

void quicklistPush(quicklist *q, listEnd end, slice value);
/* The element at that end, until the list changes; false when there is none. */
bool quicklistEnd(const quicklist *q, listEnd end, listpackValue *value);
/* Take away the last `n` elements at that end, fewer when there are not so many. */
void quicklistDrop(quicklist *q, listEnd end, size_t n);

/* ---- Places ---- */

/* Walks over elements, beginning at any. A compressed node is read into memory of the iterator. The list may be changed
 * only by the functions below that take the iterator, which then is at its end. */
typedef struct quicklistIter {
    const quicklistNode *node; /* NULL behind the end */
    const uint8_t *lp;         /* its listpack, in the node or in scratch; NULL: plain */
    const uint8_t *at;         /* in lp; NULL: not looked up */
    size_t number;             /* of that in the node */
    uint8_t *scratch;          /* owns */
    bool backward, given;      /* given: what comes next is behind it */
} quicklistIter;

/* From the element of that number on; negative: from the end, -1 the last. At its end at once if there is none. What is
 * given lives until the next one is. */
void quicklistIterBegin(quicklistIter *it, const quicklist *q, long index, bool backward);
bool quicklistIterNext(quicklistIter *it, listpackValue *value);
/* Whether what was given last lies in a compressed node, and so in memory of the iterator. */
bool quicklistIterUnpacked(const quicklistIter *it);
/* The same for several: a run of at most `max` elements, that at *at in the listpack *lp and those behind it (backward:
 * before it), or one plain one: then *at is NULL and it is in *plain. How many; 0 at the end. */
size_t quicklistIterRun(quicklistIter *it, size_t max, const uint8_t **lp, const uint8_t **at, slice *plain);
void quicklistIterEnd(quicklistIter *it);

/* Put a value before or after what the iterator has given last, or in its place. */
void quicklistInsert(quicklist *q, quicklistIter *it, listpackWhere where, slice value);
/* Take out `n` elements from that number on, which are there. */
void quicklistDelete(quicklist *q, size_t index, size_t n);
/* Take out elements that are equal to `value`, at most `max`, seen from that end. How many there were. */
size_t quicklistDeleteEqual(quicklist *q, slice value, listEnd from, size_t max);

/* ---- Nodes as they are kept, for those who write them to files ---- */

typedef struct quicklistPart {
    bool plain;
    bool compressed;  /* by LZF, to packed bytes */
    slice bytes;      /* a listpack, or an element; compressed or not */
    size_t raw_bytes; /* when not compressed */
} quicklistPart;
/* The node behind `node`, NULL: the first one. NULL behind the last. */
const quicklistNode *quicklistNextPart(const quicklist *q, const quicklistNode *node, quicklistPart *out);

#endif

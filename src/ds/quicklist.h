/* quicklist.h -- a sequence of strings and integers of any length: a chain of listpacks.
 *
 * `fill` limits a node. Negative: bytes of its listpack, -1 .. -5 for 4, 8, 16, 32, 64 KiB. Positive: elements,
 * and 8 KiB; 0 means 1. An element that is larger than the limit has a node of its own ("plain").
 * `depth` is the number of nodes at either end that are not compressed; those between are, if that saves memory. 0:
 * none is compressed.
 *
 * Values to add must not be part of the list. Memory for nodes of ordinary size does not fail; for an element of 1 MiB
 * or more the caller reserves memory first.
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

/* ---- Limits of a node ---- */

/* Returns whether a listpack of `bytes` bytes and `count` elements is within the limits of a node. */
bool quicklistFits(int fill, size_t bytes, size_t count);
/* Returns whether an element of this length gets a node of its own. */
bool quicklistIsPlain(int fill, size_t len);
/* For tests, on main: makes exactly the elements of at least `len` bytes plain, whatever the limits; 0: as usual. */
void quicklistSetPlainFrom(size_t len);

/* ---- Whole lists ---- */

quicklist *quicklistCreate(int fill, unsigned depth);
void quicklistFree(quicklist *q);
/* Returns a copy; NULL if there is no memory. */
quicklist *quicklistDup(const quicklist *q) must_check;
size_t quicklistCount(const quicklist *q);
int quicklistFill(const quicklist *q);
unsigned quicklistDepth(const quicklist *q);
/* Appends a node, however large, from outside: a listpack that has been validated, or one element. The list takes
 * ownership of the block. A large listpack becomes several nodes. Returns false if there is no memory: the caller still
 * owns the block. */
bool quicklistAppendListpackTake(quicklist *q, uint8_t *lp) must_check;
/* Appends each element of the listpack, which is unchanged, in nodes within the limits. Returns false if there is no
 * memory: some elements have been appended. */
bool quicklistAppendEach(quicklist *q, const uint8_t *lp) must_check;
/* Appends a copy of the element as a plain node. Returns false if there is no memory. */
bool quicklistAppendPlain(quicklist *q, slice value) must_check;
/* Returns the listpack of a list with a single packed node within the limits that `fill` means or, with `half`, within
 * half of them, and frees the list. Returns NULL, and does nothing, for other lists. */
uint8_t *quicklistToListpackTake(quicklist *q, int fill, bool half);

/* For defragmentation: offers up to `nodes` nodes and their blocks to `move`, from the head on with `begin`, else from
 * where the last call ended. Returns true when all have been offered. The list itself does not move. */
bool quicklistDefrag(quicklist *q, bool begin, size_t nodes, blockMover *move);

typedef struct quicklistStats {
    size_t nodes, compressed; /* nodes: all of them */
    size_t bytes;             /* of all nodes, as if none were compressed */
} quicklistStats;
void quicklistGetStats(const quicklist *q, quicklistStats *out); /* reads every node */
/* Returns the bytes of memory used, estimated from at most `samples` nodes (0: all). */
size_t quicklistMemory(const quicklist *q, size_t samples);
size_t quicklistNodeCount(const quicklist *q);
/* Asserts the invariants; reads everything. */
void quicklistCheck(const quicklist *q);

/* ---- Ends ---- */

typedef enum { LIST_HEAD, LIST_TAIL } listEnd;

void quicklistPush(quicklist *q, listEnd end, slice value);
/* Reads the element at that end, valid until the list changes. Returns false if the list is empty. */
bool quicklistEnd(const quicklist *q, listEnd end, listpackValue *value);
/* Removes `n` elements at that end, fewer if there are not so many. */
void quicklistDrop(quicklist *q, listEnd end, size_t n);

/* ---- Positions ---- */

/* A walk over elements from any index. Compressed nodes are unpacked to memory of the iterator. The list may be changed
 * only by the functions below that take the iterator, which is then at its end. */
typedef struct quicklistIter {
    const quicklistNode *node; /* NULL at the end */
    const uint8_t *lp;         /* its listpack, in the node or in scratch; NULL: plain */
    const uint8_t *at;         /* in lp; NULL: not yet looked up */
    size_t number;             /* index of the element in the node */
    uint8_t *scratch;          /* owns */
    bool backward, given;      /* given: the element at `number` has been returned, the next one follows it */
} quicklistIter;

/* Begins at the element with that index; negative from the end, -1 is the last. If there is none the walk is at its
 * end. */
void quicklistIterBegin(quicklistIter *it, const quicklist *q, long index, bool backward);
/* Reads the next element; its bytes stay valid until the next call. Returns false at the end. */
bool quicklistIterNext(quicklistIter *it, listpackValue *value);
/* Returns whether the last element is in a compressed node, so that its bytes are in memory of the iterator. */
bool quicklistIterUnpacked(const quicklistIter *it);
/* Reads several elements at once: a run of at most `max` elements in the listpack *lp, from *at on in the walk's
 * direction; or a plain element, in *plain, with *at NULL. Returns their number, 0 at the end. */
size_t quicklistIterRun(quicklistIter *it, size_t max, const uint8_t **lp, const uint8_t **at, slice *plain);
void quicklistIterEnd(quicklistIter *it); /* frees the iterator's memory */

/* Inserts a value before or after the element that the iterator returned last, or replaces that. */
void quicklistInsert(quicklist *q, quicklistIter *it, listpackWhere where, slice value);
/* Deletes at most `max` elements equal to `value`, counted from that end. Returns their number. */
size_t quicklistDeleteEqual(quicklist *q, slice value, listEnd from, size_t max);

/* ---- Nodes in their stored form, for writing to files ---- */

typedef struct quicklistPart {
    bool plain;
    bool compressed;  /* by LZF, to packed bytes */
    slice bytes;      /* a listpack, or an element; compressed or not */
    size_t raw_bytes; /* size if it were not compressed */
} quicklistPart;
/* Returns the node after `node` (NULL: the first) and describes it in *out; NULL at the end. */
const quicklistNode *quicklistNextPart(const quicklist *q, const quicklistNode *node, quicklistPart *out);

#endif

/* quicklist_internal.h -- the nodes of a quicklist, for this folder only.
 *
 *   block   | gap | listpack             | free space   |      packed
 *           | the element                               |      plain
 *           | packed bytes 4 | raw 4 | LZF              |      compressed
 *
 * The gap lets a listpack grow and shrink at its front without moving.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_QUICKLIST_INTERNAL_H
#define DS_QUICKLIST_INTERNAL_H

#include "quicklist.h"

typedef enum { NODE_PACKED, NODE_PLAIN, NODE_PACKED_LZF, NODE_PLAIN_LZF } nodeKind;

#define NODE_CAPACITY_UNIT 16
#define NODE_CAPACITY_MAX 0xffffu
#define NODE_GAP_MAX 0xffffu
#define NODE_BYTES_MAX ((size_t)1 << 19) /* a listpack is never larger; `capacity` can express twice as much */

struct quicklistNode {
    quicklistNode *prev, *next; /* borrowed */
    uint8_t *block;             /* owned */
    union {
        struct {
            uint64_t kind : 2;
            uint64_t count : 30;    /* entries of the listpack */
            uint64_t gap : 16;      /* bytes before it */
            uint64_t capacity : 16; /* capacity of the block, in units of NODE_CAPACITY_UNIT */
        };
        struct {
            uint64_t kind_ : 2;
            uint64_t len : 62; /* plain: bytes of the element */
        };
    };
};
static_assert(sizeof(quicklistNode) == 32, "as small as the links and the address allow");

static inline bool nodeIsPlain(const quicklistNode *n) { return n->kind == NODE_PLAIN || n->kind == NODE_PLAIN_LZF; }
static inline bool nodeIsCompressed(const quicklistNode *n) { return n->kind >= NODE_PACKED_LZF; }
static inline size_t nodeCount(const quicklistNode *n) { return nodeIsPlain(n) ? 1 : n->count; }
/* Returns the listpack of a packed node that is not compressed. */
static inline uint8_t *nodeListpack(const quicklistNode *n) { return n->block + n->gap; }
/* Returns the bytes of the listpack or element, as if it were not compressed. */
size_t nodeBytes(const quicklistNode *n);

const quicklistNode *quicklistEndNode(const quicklist *q, listEnd end); /* NULL if the list is empty */

/* Returns a packed node with one element. */
quicklistNode *nodeCreate(slice value);
/* Returns a plain node; NULL if there is no memory. */
quicklistNode *nodeCreatePlain(slice value) must_check;
/* Returns a packed node; takes ownership of the listpack. */
quicklistNode *nodeCreateTake(uint8_t *lp);
quicklistNode *nodeDup(const quicklistNode *n) must_check; /* NULL if there is no memory */
void nodeFree(quicklistNode *n);

/* Add and remove entries at an end of a packed node that is not compressed. `goal` is the size to which its block will
 * grow. */
void nodePush(quicklistNode *n, listEnd end, slice value, size_t goal);
void nodeDrop(quicklistNode *n, listEnd end, size_t entries);
/* Gives back unused capacity; call when the node becomes an inner one. */
void nodeClose(quicklistNode *n);
/* Returns the listpack in a block of its own, for listpack.h's functions; nodeSetListpack() puts it back. */
uint8_t *nodeTakeListpack(quicklistNode *n);
void nodeSetListpack(quicklistNode *n, uint8_t *lp);
/* Splits a node before the entry with that number, neither the first nor past the last. Returns the second part, which
 * is in no list yet. */
quicklistNode *nodeSplit(quicklistNode *n, size_t number);

void nodeCompress(quicklistNode *n);   /* compresses the block if that saves memory */
void nodeDecompress(quicklistNode *n); /* does nothing if it is not compressed */
/* Returns the bytes of the listpack or element, in the node or, if it is compressed, in *scratch, which grows as
 * needed. */
const uint8_t *nodeRead(const quicklistNode *n, uint8_t **scratch);
/* Returns the compressed bytes of a compressed node. */
slice nodePackedBytes(const quicklistNode *n);

#endif

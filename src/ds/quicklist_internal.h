/* quicklist_internal.h -- the nodes of a quicklist, for this folder only.
 *
 *   block   | gap | listpack             | room to grow |      packed
 *           | the element                               |      plain
 *           | packed bytes 4 | raw 4 | LZF              |      compressed
 *
 * The gap is what lets a listpack grow and shrink at its front without being moved.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_QUICKLIST_INTERNAL_H
#define DS_QUICKLIST_INTERNAL_H

#include "quicklist.h"

typedef enum { NODE_PACKED, NODE_PLAIN, NODE_PACKED_LZF, NODE_PLAIN_LZF } nodeKind;

#define NODE_ROOM_UNIT 16
#define NODE_ROOM_MAX 0xffffu
#define NODE_GAP_MAX 0xffffu
#define NODE_BYTES_MAX ((size_t)1 << 19) /* a listpack is never larger; room can say twice as much */

struct quicklistNode {
    quicklistNode *prev, *next; /* borrowed */
    uint8_t *block;             /* owns */
    union {
        struct {
            uint64_t kind : 2;
            uint64_t count : 30; /* entries of the listpack */
            uint64_t gap : 16;   /* bytes before it */
            uint64_t room : 16;  /* of the block, in units */
        };
        struct {
            uint64_t kind_ : 2;
            uint64_t len : 62; /* plain: of the element */
        };
    };
};
static_assert(sizeof(quicklistNode) == 32, "as small as the links and the address allow");

static inline bool nodeIsPlain(const quicklistNode *n) {
    return n->kind == NODE_PLAIN || n->kind == NODE_PLAIN_LZF;
}
static inline bool nodeIsCompressed(const quicklistNode *n) {
    return n->kind >= NODE_PACKED_LZF;
}
static inline size_t nodeCount(const quicklistNode *n) {
    return nodeIsPlain(n) ? 1 : n->count;
}
/* Of a packed one that is not compressed. */
static inline uint8_t *nodeListpack(const quicklistNode *n) {
    return n->block + n->gap;
}
/* Bytes of the listpack or element, compressed or not. */
size_t nodeBytes(const quicklistNode *n);

const quicklistNode *quicklistEndNode(const quicklist *q, listEnd end);

/* A node with one element in a listpack. */
quicklistNode *nodeCreate(slice value);
/* NULL: no memory. */
quicklistNode *nodeCreatePlain(slice value) must_check;
/* Takes the listpack. */
quicklistNode *nodeCreateTake(uint8_t *lp);
quicklistNode *nodeDup(const quicklistNode *n) must_check;
void nodeFree(quicklistNode *n);

/* A packed node that is not compressed: grow and shrink at an end. `goal`: bytes that its block is to have in the
 * end. */
void nodePush(quicklistNode *n, listEnd end, slice value, size_t goal);
void nodeDrop(quicklistNode *n, listEnd end, size_t entries);
/* It has become an inner node: give back room. */
void nodeClose(quicklistNode *n);
/* For listpack.h's functions: the listpack alone in its block. What becomes of it is said by nodeSetListpack(). */
uint8_t *nodeTakeListpack(quicklistNode *n);
void nodeSetListpack(quicklistNode *n, uint8_t *lp);
/* Cut before the entry of that number, which is neither the first nor behind the last: the rest, in no list yet. */
quicklistNode *nodeSplit(quicklistNode *n, size_t number);

void nodeCompress(quicklistNode *n);
void nodeDecompress(quicklistNode *n);
/* The listpack or element, in the node, or, of a compressed one, in *scratch, which grows. */
const uint8_t *nodeRead(const quicklistNode *n, uint8_t **scratch);
/* Of a compressed node: its packed bytes. */
slice nodePackedBytes(const quicklistNode *n);

#endif

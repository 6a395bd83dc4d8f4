/* adlist.h -- doubly linked list with nodes of its own.
 *
 * Threads     one owner at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_ADLIST_H
#define DS_ADLIST_H

#include "platform.h"

typedef struct listNode {
    struct listNode *prev, *next;
    void *value;
} listNode;

typedef struct list {
    listNode *head, *tail;
    void (*free)(void *value); /* called for the value of each removed node; may be NULL */
    size_t len;
} list;

typedef struct listIter {
    listNode *next;
    bool backward;
} listIter;

/* Returns an empty list without a free callback; release it with listRelease(). */
list *listCreate(void);
/* Frees the list and its nodes, and their values with l->free. */
void listRelease(list *l);
/* Frees the nodes, and their values with l->free; the list stays usable. */
void listEmpty(list *l);
/* Adds a node with `value` at the head, or at the tail, and returns the list. */
list *listAddNodeHead(list *l, void *value);
list *listAddNodeTail(list *l, void *value);
void listDelNode(list *l, listNode *n);    /* frees the node and, with l->free, the value */
void listUnlinkNode(list *l, listNode *n); /* the node stays with the caller */
/* Appends a node that is in no list, such as one that listUnlinkNode() has left with the caller. */
void listLinkNodeTail(list *l, listNode *n);
/* Begins a walk from the head, or from the tail if `backward`. listNext() returns the next node, NULL at the end; that
 * node may be deleted during the walk, others may not. */
listIter listBegin(list *l, bool backward);
listNode *listNext(listIter *it);
listNode *listSearchValue(list *l, const void *value); /* by pointer; NULL if absent */

static inline size_t listLength(const list *l) { return l->len; }
static inline listNode *listFirst(const list *l) { return l->head; }
static inline listNode *listLast(const list *l) { return l->tail; }
static inline void *listNodeValue(const listNode *n) { return n->value; }

#endif

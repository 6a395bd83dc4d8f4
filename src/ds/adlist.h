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

list *listCreate(void);
void listRelease(list *l);
void listEmpty(list *l);
list *listAddNodeHead(list *l, void *value);
list *listAddNodeTail(list *l, void *value);
list *listInsertNode(list *l, listNode *at, void *value, bool after);
void listDelNode(list *l, listNode *n);    /* frees node and, with l->free, value */
void listUnlinkNode(list *l, listNode *n); /* node stays with the caller */
void listLinkNodeTail(list *l, listNode *n);
/* The node returned by listNext() may be deleted while iterating; others may not. */
listIter listBegin(list *l, bool backward);
listNode *listNext(listIter *it);
listNode *listSearchValue(list *l, const void *value); /* by pointer */
listNode *listIndex(list *l, long index);              /* negative from the end; NULL out of range */
void listRotateTailToHead(list *l);
void listRotateHeadToTail(list *l);
void listJoin(list *l, list *other); /* move all of other's nodes to l's end */

static inline size_t listLength(const list *l) {
    return l->len;
}
static inline listNode *listFirst(const list *l) {
    return l->head;
}
static inline listNode *listLast(const list *l) {
    return l->tail;
}
static inline void *listNodeValue(const listNode *n) {
    return n->value;
}

#endif

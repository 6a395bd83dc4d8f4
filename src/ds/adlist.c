/* adlist.c -- doubly linked list with nodes of its own.
 *
 * For lists that are short or walked rarely, where a node's address must stay valid while others are added and removed.
 *
 * Owns        its nodes, and their values where `free` is set.
 * Invariants  1. head and tail are both NULL exactly when len is 0.
 *             2. Following next from head meets len nodes and ends at tail; prev likewise from tail.
 * Cost        O(1) but for search, index, empty and release.
 * Tests       tests/unit/ds/adlist_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "adlist.h"
#include "panic.h"
#include "zmalloc.h"

list *listCreate(void) { return zcalloc(1, sizeof(list)); }

void listEmpty(list *l) {
    for (listNode *n = l->head, *next; n; n = next) {
        next = n->next;
        if (l->free) l->free(n->value);
        zfree(n);
    }
    l->head = l->tail = NULL;
    l->len = 0;
}

void listRelease(list *l) {
    if (!l) return;
    listEmpty(l);
    zfree(l);
}

/* Links two nodes as neighbours. NULL stands for the list itself: its successor is the head, its predecessor the
 * tail. */
static void connect(list *l, listNode *left, listNode *right) {
    *(left ? &left->next : &l->head) = right;
    *(right ? &right->prev : &l->tail) = left;
}

static void linkBetween(list *l, listNode *n, listNode *prev, listNode *next) {
    connect(l, prev, n);
    connect(l, n, next);
    l->len++;
}

static listNode *newNode(void *value) {
    listNode *n = zmalloc(sizeof(*n));
    n->value = value;
    return n;
}

list *listAddNodeHead(list *l, void *value) {
    linkBetween(l, newNode(value), NULL, l->head);
    return l;
}

list *listAddNodeTail(list *l, void *value) {
    linkBetween(l, newNode(value), l->tail, NULL);
    return l;
}

void listUnlinkNode(list *l, listNode *n) {
    serverAssert(l->len > 0);
    connect(l, n->prev, n->next);
    n->prev = n->next = NULL;
    l->len--;
}

void listDelNode(list *l, listNode *n) {
    listUnlinkNode(l, n);
    if (l->free) l->free(n->value);
    zfree(n);
}

void listLinkNodeTail(list *l, listNode *n) { linkBetween(l, n, l->tail, NULL); }

listIter listBegin(list *l, bool backward) {
    return (listIter){.next = backward ? l->tail : l->head, .backward = backward};
}

listNode *listNext(listIter *it) {
    listNode *n = it->next;
    if (n) it->next = it->backward ? n->prev : n->next;
    return n;
}

listNode *listSearchValue(list *l, const void *value) {
    listNode *n = l->head;
    while (n && n->value != value) n = n->next;
    return n;
}

/* value_list.h -- the list type: a listpack while it is small, a quicklist beyond.
 *
 * An entry of a list stays where it is; its structure may become another by any function that changes it. What is added
 * must not lie in the list.
 *
 * Runs on: main, but for functions that take a const list and change nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_LIST_H
#define OBJECT_VALUE_LIST_H

#include "object.h"
#include "quicklist.h"

extern const objectTypeOps list_type_ops;

/* A list without elements, to be given some before anybody sees it. */
robj *valueListCreate(slice key);
size_t valueListCount(const robj *o);

/* Bytes that adding these values may take beyond small change, for commandMemoryReserve(). */
size_t valueListNeeds(const slice *values, size_t n);
/* One after the other: the last one ends up at the very end. */
void valueListPush(robj *o, listEnd end, const slice *values, size_t n);
/* The element at that end of a list that has one. An integer is printed into `digits`. Lives until the list changes. */
slice valueListEnd(const robj *o, listEnd end, char digits[LONG_STR_SIZE]);
/* Take `n` elements away at that end, or what there is. */
void valueListDrop(robj *o, listEnd end, size_t n);

/* --- Walking --- */

typedef struct valueListIter {
    bool is_listpack;
    listpackIter in_listpack;
    const uint8_t *last; /* the entry that was given last */
    size_t left;         /* entries of a listpack not yet given */
    quicklistIter in_quicklist;
} valueListIter;

/* From the element of that number on, negative from the end. */
void valueListIterBegin(valueListIter *it, const robj *o, long index, bool backward);
bool valueListIterNext(valueListIter *it, listpackValue *value);
/* Whether what was given last is text of a compressed node: it lives until the next is given. Other text lives as long
 * as the list does not change. */
bool valueListIterUnpacked(const valueListIter *it);
/* As quicklistIterRun(). */
size_t valueListIterRun(valueListIter *it, size_t max, const uint8_t **lp, const uint8_t **at, slice *plain);
void valueListIterEnd(valueListIter *it);

/* --- Changing --- */

/* A value is to be put somewhere: it becomes a quicklist if that might go beyond a listpack. Before an iterator that is
 * to say the place. */
void valueListGrow(robj *o, slice value);
/* Put it before or after what the iterator has given last, or in its place; ends the iterator. */
void valueListPut(robj *o, valueListIter *it, listpackWhere where, slice value);
/* Take out at most `max` elements equal to `value`, seen from that end. How many. */
size_t valueListDeleteEqual(robj *o, slice value, listEnd from, size_t max);
/* A change is over that may have made it small: it becomes a listpack again where that is worth it. */
void valueListShrink(robj *o);

#endif

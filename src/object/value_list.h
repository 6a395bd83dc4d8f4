/* value_list.h -- the list type: a listpack while it is small, a quicklist beyond.
 *
 * The entry of a list does not move; any function that changes the list may replace its structure. Values to add
 * must not be part of the list.
 *
 * Runs on: main, except functions that take a const list, which change nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_LIST_H
#define OBJECT_VALUE_LIST_H

#include "object.h"
#include "quicklist.h"

extern const objectTypeOps list_type_ops;

/* Returns an empty list; add elements before it becomes visible to clients. */
robj *valueListCreate(slice key);
size_t valueListCount(const robj *o);

/* Returns the bytes that adding these values may allocate, beyond small amounts, for commandMemoryReserve(). */
size_t valueListNeeds(const slice *values, size_t n);
/* Pushes values one after another: the last one ends up at the very end. */
void valueListPush(robj *o, listEnd end, const slice *values, size_t n);
/* Returns the element at that end of a list that is not empty. An integer is printed to `digits`. Valid until the list
 * changes. */
slice valueListEnd(const robj *o, listEnd end, char digits[LONG_STR_SIZE]);
/* Removes `n` elements at that end, fewer if there are not so many. */
void valueListDrop(robj *o, listEnd end, size_t n);

/* --- Walking --- */

typedef struct valueListIter {
    bool is_listpack;
    listpackIter in_listpack;
    const uint8_t *last; /* the last entry that was returned */
    size_t left;         /* entries of a listpack not yet returned */
    quicklistIter in_quicklist;
} valueListIter;

/* Begins a walk at the element with that index, negative from the end. */
void valueListIterBegin(valueListIter *it, const robj *o, long index, bool backward);
bool valueListIterNext(valueListIter *it, listpackValue *value); /* false at the end */
/* Returns whether the last element is text of a compressed node: it is valid until the next call. Other text is valid
 * until the list changes. */
bool valueListIterUnpacked(const valueListIter *it);
/* Like quicklistIterRun(). */
size_t valueListIterRun(valueListIter *it, size_t max, const uint8_t **lp, const uint8_t **at, slice *plain);
void valueListIterEnd(valueListIter *it);

/* --- Changing --- */

/* Call before a value is added, and before an iterator is begun for that: converts to a quicklist if the value might
 * exceed the limits of a listpack. */
void valueListGrow(robj *o, slice value);
/* Inserts the value before or after the element that the iterator returned last, or replaces that; ends the
 * iterator. */
void valueListPut(robj *o, valueListIter *it, listpackWhere where, slice value);
/* Removes at most `max` elements equal to `value`, counted from that end. Returns their number. */
size_t valueListDeleteEqual(robj *o, slice value, listEnd from, size_t max);
/* Call after removing elements: converts a quicklist back to a listpack if it is small enough. */
void valueListShrink(robj *o);

#endif

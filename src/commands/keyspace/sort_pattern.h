/* sort_pattern.h -- what the patterns of SORT's BY and GET stand for: values of other keys, found by groups.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_SORT_PATTERN_H
#define COMMANDS_SORT_PATTERN_H

#include "client.h"
#include "object.h"

/* A pattern: an element stands for its first '*'. Behind "->", when more follows, is the field of a hash. */
typedef struct sortPattern {
    slice before, after, field; /* borrowed; without a field: field.ptr is NULL */
    bool is_element;            /* "#": the element itself */
    bool has_star;              /* without one it finds nothing */
} sortPattern;
sortPattern sortPatternOf(slice text);

typedef struct sortValue {
    robj *string; /* borrowed: the value of a key; NULL: a field, or nothing */
    slice text;   /* borrowed from the value, or from this struct; ptr NULL: nothing */
    char digits[LONG_STR_SIZE];
} sortValue;

/* Lookups that are made together. */
typedef struct sortLookups sortLookups;
/* Room for lookups by `patterns` of elements up to `longest` bytes. NULL: no memory. */
sortLookups *sortLookupsCreate(const sortPattern *patterns, size_t count, size_t longest);
void sortLookupsFree(sortLookups *l); /* NULL is allowed */
void sortLookupsBegin(sortLookups *l);
/* How many elements, looked up by all patterns, there is room for; at least 1 with one pattern at a time. */
bool sortLookupsAdd(sortLookups *l, const sortPattern *pattern, slice element) must_check;
/* The values, in the order in which they were added; until the next sortLookupsBegin() or change of the keyspace. */
const sortValue *sortLookupsRun(sortLookups *l, client *c);
/* Whether a field was not found in a hash that has some with a time: elsewhere it may be there, as its time is not
 * looked at. */
bool sortLookupsUnsure(const sortLookups *l);

#endif

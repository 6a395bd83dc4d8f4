/* sort_pattern.h -- looks up the values of other keys that the patterns of SORT's BY and GET name, in groups.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_SORT_PATTERN_H
#define COMMANDS_SORT_PATTERN_H

#include "client.h"
#include "object.h"

/* A pattern. Its first '*' is replaced by the element. The text after "->", if there is any, names a field of a
 * hash. */
typedef struct sortPattern {
    slice before, after, field; /* borrowed; field.ptr is NULL if the pattern names no field */
    bool is_element;            /* the pattern "#", which stands for the element itself */
    bool has_star;              /* a pattern without a star finds nothing */
} sortPattern;
/* Parses an argument of BY or GET; the pattern borrows its text. */
sortPattern sortPatternOf(slice text);
/* Returns the hash slot that all keys named by the pattern have; -1 if that varies with the element. */
int sortPatternSlot(slice text);

typedef struct sortValue {
    robj *string; /* borrowed: the value of a key; NULL if a field was read, or nothing was found */
    slice text;   /* borrowed from the value, or from this struct; ptr is NULL if nothing was found */
    char digits[LONG_STR_SIZE];
} sortValue;

/* A group of lookups that are made together. */
typedef struct sortLookups sortLookups;
/* Creates a group for lookups of elements of at most `longest` bytes by the given patterns. Returns NULL if there is no
 * memory. */
sortLookups *sortLookupsCreate(const sortPattern *patterns, size_t count, size_t longest);
void sortLookupsFree(sortLookups *l);  /* NULL is allowed */
void sortLookupsBegin(sortLookups *l); /* empties the group */
/* Adds a lookup of `element` by `pattern`. Returns false if the group is full. The first one always fits. */
bool sortLookupsAdd(sortLookups *l, const sortPattern *pattern, slice element) must_check;
/* Makes the lookups and returns the values, in the order of sortLookupsAdd(). They are valid until the next
 * sortLookupsBegin() or change of the keyspace. */
const sortValue *sortLookupsRun(sortLookups *l, client *c);
/* Returns whether a lookup missed a field in a hash that has field TTLs. If that field is expired here, a replica may
 * still find it, because it does not check TTLs. */
bool sortLookupsMayDiffer(const sortLookups *l);

#endif

/* intset.h -- a sorted array of different integers, all as wide as the widest needs, of the published layout.
 *
 * Functions that change the set return its new address; the old one is invalid. Members are numbered from 0,
 * ascending.
 *
 * Threads     one owner at a time; functions that take a const set change nothing, for any number of readers.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_INTSET_H
#define DS_INTSET_H

#include "platform.h"

/* The bytes of a file; integers are little endian on every machine. */
typedef struct intset {
    uint32_t encoding; /* bytes of a member: 2, 4 or 8 */
    uint32_t length;   /* members */
    uint8_t members[];
} intset;

intset *intsetCreate(void);
void intsetFree(intset *set); /* NULL is allowed */
/* Returns a copy of a set, or of the valid bytes of a file at any address; NULL if there is no memory. */
intset *intsetDup(const void *bytes) must_check;

size_t intsetLength(const intset *set);
/* Returns the size of the set with its header, in bytes: as many as a file stores. */
size_t intsetBytes(const intset *set);

bool intsetFind(const intset *set, int64_t value);
/* Sets has[i] to whether values[i] is in the set. The values must ascend: each search begins where the last one ended,
 * so for sets of similar size it costs a step or two per value. */
void intsetFindMany(const intset *set, const int64_t *values, size_t n, bool *has);
int64_t intsetAt(const intset *set, size_t index); /* index < length */
/* Return the least and the greatest member of a set that is not empty. */
int64_t intsetMin(const intset *set);
int64_t intsetMax(const intset *set);

/* Adds the value; *added says whether it was new. Returns NULL if there is no memory: the set is unchanged. */
intset *intsetAdd(intset *set, int64_t value, bool *added) must_check;
/* Removes the value; *removed says whether it was a member. Members keep their width. Never fails. */
intset *intsetRemove(intset *set, int64_t value, bool *removed) must_check;

/* Returns whether these `size` bytes, from any source and at any address, are an intset with at least one member; if
 * `deep`, also whether members ascend without repeating. Never reads outside of them; after a shallow true, no other
 * function does either. */
bool intsetValidate(const void *bytes, size_t size, bool deep) must_check;

#endif

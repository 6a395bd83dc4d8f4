/* intset.h -- a sorted array of different integers, all as wide as the widest needs, of the published layout.
 *
 * Functions that change the set return where it is now; the old address is dead. Members are numbered from 0,
 * ascending.
 *
 * Threads     one owner at a time; functions that take a const set change nothing, for any number of readers.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_INTSET_H
#define DS_INTSET_H

#include "rng.h"

/* The bytes of a file; the fields are little endian whatever the machine. */
typedef struct intset {
    uint32_t encoding; /* bytes of a member: 2, 4 or 8 */
    uint32_t length;   /* members */
    uint8_t members[];
} intset;

intset *intsetCreate(void);
void intsetFree(intset *set); /* NULL is allowed */
/* A copy of a set, which may also be the valid bytes of a file, at any address. NULL: no memory. */
intset *intsetDup(const void *bytes) must_check;

size_t intsetLength(const intset *set);
/* Bytes with the header: the block begins with so many bytes that a file takes. */
size_t intsetBytes(const intset *set);

bool intsetFind(const intset *set, int64_t value);
/* Sets has[i] to whether values[i] is in the set. The values must ascend: each search begins where the last one ended,
 * so sets of similar size cost a step or two per value. */
void intsetFindMany(const intset *set, const int64_t *values, size_t n, bool *has);
int64_t intsetAt(const intset *set, size_t index); /* index < length */
/* Of a set that is not empty. */
int64_t intsetMin(const intset *set);
int64_t intsetMax(const intset *set);
int64_t intsetRandom(const intset *set, rng *r);

/* *added tells whether the value is new. NULL when there is no memory for it: the set is as it was. */
intset *intsetAdd(intset *set, int64_t value, bool *added) must_check;
/* *removed tells whether the value was there. The members stay as wide as they are. Never fails. */
intset *intsetRemove(intset *set, int64_t value, bool *removed) must_check;

/* Are these `size` bytes, from wherever they come and at any address, an intset with at least one member? Deep: they
 * ascend without repeating. Never reads outside of them; not even a shallow true leads others to do so. */
bool intsetValidate(const void *bytes, size_t size, bool deep) must_check;

#endif

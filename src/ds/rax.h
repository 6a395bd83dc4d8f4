/* rax.h -- an ordered map from byte strings to pointers: a radix tree with compressed paths.
 *
 * Keys are any bytes of any length, also none, in the order of sliceCmp(). Values are any pointers, also NULL.
 * The tree has its own copy of the keys. rax_iterator.h walks it in order.
 *
 * Memory      a call allocates at most 2.5 KiB at a time, which does not fail, except for the end of a key
 *             that is longer than RAX_SURE_KEY: such a key may be rejected, and then nothing has changed.
 * Threads     one owner at a time. Functions that take a const rax write nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_RAX_H
#define DS_RAX_H

#include "slice.h"

typedef struct rax rax;

/* Longest key that is never rejected. */
#define RAX_SURE_KEY 237

typedef enum {
    RAX_ADDED,
    RAX_PRESENT,   /* the key was present */
    RAX_NO_MEMORY, /* no memory for a key longer than RAX_SURE_KEY; nothing has changed */
} raxResult;

rax *raxCreate(void);
/* Frees the tree and calls `value_free` for every value; NULL: values are not freed. */
void raxRelease(rax *r, void (*value_free)(void *value));
/* Removes all keys, like raxRelease(); the tree stays usable. */
void raxEmpty(rax *r, void (*value_free)(void *value));

/* Sets the key's value. If the key was present, its old value is stored to *old, unless that is NULL. */
raxResult raxInsert(rax *r, slice key, void *value, void **old);
/* Adds the key unless it is present: then nothing changes, and the present value is stored to *there, unless that is
 * NULL. */
raxResult raxTryInsert(rax *r, slice key, void *value, void **there);
/* Removes the key and stores its value to *old, unless that is NULL. Returns false if it is absent. `key` may be that
 * of an iterator. */
bool raxRemove(rax *r, slice key, void **old);
/* Returns whether the key is present, and stores its value to *value, unless that is NULL. */
bool raxFind(const rax *r, slice key, void **value);
/* Returns the address of the key's value, so that it can be replaced by one store; NULL if the key is absent. Valid
 * until the next insertion or removal. */
void **raxFindRef(rax *r, slice key);

/* Calls `fn` with the value of each key that is a prefix of `text`, including the empty key and `text` itself, shortest
 * first. `fn` must not change the tree. */
void raxEachPrefix(const rax *r, slice text, void (*fn)(void *arg, void *value), void *arg);

size_t raxSize(const rax *r);     /* keys */
size_t raxMemUsage(const rax *r); /* bytes of all blocks, in the allocator's sizes; O(1) */
/* Returns roughly how many blocks raxRelease() has to free; O(1). */
size_t raxFreeEffort(const rax *r);

/* Asserts the numbered invariants at the top of rax.c. Visits every block. */
void raxCheck(const rax *r);

#endif

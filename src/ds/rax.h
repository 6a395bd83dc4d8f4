/* rax.h -- an ordered map from byte strings to pointers: a radix tree with compressed paths.
 *
 * Keys are any bytes of any length, the empty one too, in the order of sliceCmp(). Values are any pointers, NULL too.
 * The tree keeps the bytes of its keys itself. Walking it in order is rax_iterator.h.
 *
 * Memory      what a call allocates is small (at most 2.5 KiB at a time) and does not fail, but for the end of a key
 *             that is longer than RAX_SURE_KEY: such a key can be refused, and then nothing has changed.
 * Threads     one owner at a time. Functions that take a const rax write nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_RAX_H
#define DS_RAX_H

#include "slice.h"

typedef struct rax rax;

/* Keys up to this length are never refused. */
#define RAX_SURE_KEY 237

typedef enum {
    RAX_ADDED,
    RAX_PRESENT,   /* the key was there already */
    RAX_NO_MEMORY, /* no room for a key longer than RAX_SURE_KEY; nothing has changed */
} raxResult;

rax *raxCreate(void);
/* `value_free` is called for every value; NULL: values stay the caller's. */
void raxRelease(rax *r, void (*value_free)(void *value));
/* Take out everything. */
void raxEmpty(rax *r, void (*value_free)(void *value));

/* Set the key's value. When the key is there already, its old value is stored to `old` (may be NULL: not wanted). */
raxResult raxInsert(rax *r, slice key, void *value, void **old);
/* Add the key unless it is there: then nothing changes, and the value that is there is stored to `there` (may be
 * NULL). */
raxResult raxTryInsert(rax *r, slice key, void *value, void **there);
/* Take the key out. False if it is not there; else its value is stored to `old` (may be NULL). `key` may be that of an
 * iterator. */
bool raxRemove(rax *r, slice key, void **old);
/* False if the key is not there; else its value is stored to `value` (may be NULL). */
bool raxFind(const rax *r, slice key, void **value);
/* The place that holds the key's value, so that it can be exchanged by one store; NULL if the key is not there. Valid
 * until the next insertion or removal. */
void **raxFindRef(rax *r, slice key);

/* Call `fn` with the value of each key that `text` begins with, the empty one and `text` itself too, shortest first.
 * `fn` must not change the tree. */
void raxEachPrefix(const rax *r, slice text, void (*fn)(void *arg, void *value), void *arg);

size_t raxSize(const rax *r);     /* keys */
size_t raxMemUsage(const rax *r); /* bytes of all blocks, in the allocator's sizes; a load */
/* About how many blocks raxRelease() has to free; a load or two. */
size_t raxFreeEffort(const rax *r);

/* Assert the numbered invariants at the top of rax.c. Every block is visited. */
void raxCheck(const rax *r);

#endif

/* rax.h -- an ordered map from byte strings to pointers: a radix tree with compressed paths.
 *
 * Keys are any bytes of any length, also none, in the order of sliceCmp(). Values are any pointers, also NULL.
 * The tree has its own copy of the keys.
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

/* --- rax_iterator.c: walks in the order of the keys, in either direction ------------------------------------------
 *
 *     raxIterator it;
 *     raxIterBegin(&it, r);
 *     for (bool on = raxIterSeek(&it, RAX_SEEK_GE, from); on; on = raxIterNext(&it)) use(raxIterValue(&it));
 *     raxIterEnd(&it);
 *
 * An iterator has its own copy of the current key and survives every change of the tree, even the removal of
 * that key: the next step searches for the key again, and goes on from where it is or would be. A key added after it is
 * visited, one added before it is not. It holds keys of up to 64 bytes and paths of twelve nodes in itself; longer ones
 * are allocated, which can fail. A step that fails returns false, as at the end, and sets `failed`. An iterator writes
 * nothing but itself, so the threads are those of the tree. */

/* A node on the path to the current key, and the position at which the path leaves it. */
typedef struct raxFrame {
    const void *node; /* borrowed from the tree; NULL: the frame above the root */
    size_t key_len;   /* bytes of the key up to and including the node's prefix */
    unsigned pos;     /* 0: the value of the node itself; otherwise a child */
} raxFrame;

typedef struct raxIterator {
    const rax *tree; /* borrowed until raxIterEnd() */
    char *key;       /* owns, unless it is key_inline */
    raxFrame *path;  /* owned, unless it is path_inline; the first frame is above the root */
    void **value;    /* address of the value in the tree */
    size_t key_len, key_cap, depth, path_cap;
    uint32_t changes; /* of the tree, when this path was built */
    bool on_element;
    bool failed; /* the last seek or step failed for lack of memory */
    char key_inline[64];
    raxFrame path_inline[12];
} raxIterator;

typedef enum {
    RAX_SEEK_FIRST,
    RAX_SEEK_LAST,
    RAX_SEEK_EQ,
    RAX_SEEK_GE,
    RAX_SEEK_GT,
    RAX_SEEK_LE,
    RAX_SEEK_LT,
} raxSeekOp;

/* Begins a walk without a current key: seek first. */
void raxIterBegin(raxIterator *it, const rax *r);
void raxIterEnd(raxIterator *it);
/* Begins a walk at the first key. Returns false if there is none; `r` may be NULL. */
bool raxIterFirst(raxIterator *it, const rax *r);

/* Seeks the key that `op` and `key` define (FIRST and LAST ignore the key). Returns false if there is none; then there
 * is no current key. `key` may be the iterator's own. */
bool raxIterSeek(raxIterator *it, raxSeekOp op, slice key);
/* Move to the next or previous key, also if the current one has been removed. Return false if there is none, or no
 * current key; then there is no current key. */
bool raxIterNext(raxIterator *it);
bool raxIterPrev(raxIterator *it);

/* Returns the current key, in memory of the iterator: valid until the next seek or step, however the tree changes. */
slice raxIterKey(const raxIterator *it);
/* Returns the value. The tree must not have changed since the last step, except by raxIterSetValue(). */
void *raxIterValue(const raxIterator *it);
/* Replaces the value. `r` is the tree of the iterator. */
void raxIterSetValue(raxIterator *it, rax *r, void *value);

#endif

/* rax_iterator.h -- walks through a rax in the order of its keys, in either direction.
 *
 *     raxIterator it;
 *     raxIterBegin(&it, r);
 *     for (bool on = raxIterSeek(&it, RAX_SEEK_GE, from); on; on = raxIterNext(&it)) use(raxIterValue(&it));
 *     raxIterEnd(&it);
 *
 * An iterator has its own copy of the current key and survives every change of the tree, even the removal of
 * that key: the next step searches for the key again, and goes on from where it is or would be. A key added after it is
 * visited, one added before it is not.
 *
 * Memory      an iterator holds keys of up to 64 bytes and paths of twelve nodes in itself; longer ones are
 *             allocated, which can fail. A step that fails returns false, as at the end, and sets `failed`.
 * Threads     those of the tree: an iterator reads it and writes nothing but itself.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_RAX_ITERATOR_H
#define DS_RAX_ITERATOR_H

#include "rax.h"

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
    void **place;    /* address of the value in the tree */
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
/* Begins a walk at the first key. Returns false if there is none; `r` may be NULL. */
bool raxIterFirst(raxIterator *it, const rax *r);
void raxIterEnd(raxIterator *it);

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

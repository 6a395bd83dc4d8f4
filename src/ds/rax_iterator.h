/* rax_iterator.h -- walks through a rax in the order of its keys, either way.
 *
 *     raxIterator it;
 *     raxIterBegin(&it, r);
 *     for (bool on = raxIterSeek(&it, RAX_SEEK_GE, from); on; on = raxIterNext(&it)) use(raxIterValue(&it));
 *     raxIterEnd(&it);
 *
 * An iterator has its own copy of the key that it stands on, and survives every change of the tree, also the removal of
 * that key: the next step finds its way by the key again, from where that is or would be. A key added behind it is
 * met, one added before it is not.
 *
 * Memory      an iterator holds keys of up to 64 bytes and paths of twelve nodes in itself; longer ones are
 *             allocated, which can fail. A step that fails so is answered like the end, and `failed` is true.
 * Threads     those of the tree: an iterator reads it and writes nothing but itself.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_RAX_ITERATOR_H
#define DS_RAX_ITERATOR_H

#include "rax.h"

/* A node on the way to the element, and where the way leaves it. */
typedef struct raxFrame {
    const void *node; /* borrowed from the tree; NULL: the place above the root */
    size_t key_len;   /* bytes of the key up to and with the node's prefix */
    unsigned pos;     /* 0: the value of the node itself; else a child */
} raxFrame;

typedef struct raxIterator {
    const rax *tree; /* borrowed until raxIterEnd() */
    char *key;       /* owns, unless it is key_inline */
    raxFrame *path;  /* owns, unless it is path_inline; the first is above the root */
    void **place;    /* the element's value, in the tree */
    size_t key_len, key_cap, depth, path_cap;
    uint32_t changes; /* of the tree, when this path was walked */
    bool on_element;
    bool failed; /* the last seek or step ended because of memory */
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

/* The iterator stands on no element until it has been sought. */
void raxIterBegin(raxIterator *it, const rax *r);
void raxIterEnd(raxIterator *it);

/* Go to the element that `op` and `key` name (FIRST and LAST do not look at the key). False if there is none; then the
 * iterator stands nowhere. `key` may be the iterator's own. */
bool raxIterSeek(raxIterator *it, raxSeekOp op, slice key);
/* Go to the element behind, or before, the one it stands on, or stood on before that was removed. False if there is
 * none, or if it stands nowhere; it stands nowhere then. */
bool raxIterNext(raxIterator *it);
bool raxIterPrev(raxIterator *it);
/* Go to a random element; false if there is none. The choice is uniform at each node, not over the keys: one that
 * parts from the others early is met more often. */
bool raxIterSeekRandom(raxIterator *it);

/* The key it stands on, in the iterator's own memory: valid until the next seek or step, whatever happens to the
 * tree. */
slice raxIterKey(const raxIterator *it);
/* The value; not after a change of the tree other than by the function below. */
void *raxIterValue(const raxIterator *it);
/* Exchange the value for another. `r` is the tree the iterator was begun with. */
void raxIterSetValue(raxIterator *it, rax *r, void *value);

#endif

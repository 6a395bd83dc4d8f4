/* rax_iterator.c -- walks through a rax in the order of its keys, in either direction.
 *
 * The path from the root to the element is an array of frames, the first of which represents the slot of the root.
 * In every node, position 0 is the node's own value, whose key is less than all others below it; then come the
 * children. A seek descends as far as the key matches and ends at the element, or at a gap: in the last node that was
 * visited, all positions from the gap on are greater than the key, and all before it are less. From a gap, as from an
 * element, a step goes to the nearest position on that side, and down from there to its first or last element, or
 * up when there is none.
 *
 * Owns        key and path, if they do not fit into the iterator.
 * Threads     those of the tree; it is only read.
 * Invariants  1. On an element, `path` leads to it, if `changes` equals that of the tree, and `key` is its key.
 *             2. The first key_len bytes of `key`, of a frame, lead to that frame.
 * Cost        next and previous: O(1) as a rule; after a change of the tree, a seek.
 * Tests       tests/unit/ds/rax_test.c; tests/bench/micro/rax_bench.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rax.h"
#include "panic.h"
#include "rax_internal.h"
#include "zmalloc.h"

enum { PAST_ALL = 257 }; /* more than any position */

void raxIterBegin(raxIterator *it, const rax *r) {
    it->tree = r;
    it->key = it->key_inline;
    it->key_cap = sizeof(it->key_inline);
    it->path = it->path_inline;
    it->path_cap = array_len(it->path_inline);
    it->key_len = it->depth = 0;
    it->value = NULL;
    it->changes = r ? r->changes : 0;
    it->on_element = it->failed = false;
}

bool raxIterFirst(raxIterator *it, const rax *r) {
    raxIterBegin(it, r);
    return r && raxIterSeek(it, RAX_SEEK_FIRST, sliceOf(NULL, 0));
}

void raxIterEnd(raxIterator *it) {
    if (it->key != it->key_inline) zfree(it->key);
    if (it->path != it->path_inline) zfree(it->path);
    it->key = it->key_inline;
    it->path = it->path_inline;
    it->on_element = false;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static bool growBuffer(void **p, const void *first, size_t used_bytes, size_t new_bytes) {
    void *grown = *p == first ? ztrymalloc(new_bytes) : ztryrealloc(*p, new_bytes);
    if (!grown) return false;
    if (*p == first) memcpy(grown, first, used_bytes);
    *p = grown;
    return true;
}

static bool reserveKey(raxIterator *it, size_t len) {
    if (likely(len <= it->key_cap)) return true;
    size_t cap = len + len / 2;
    void *p = it->key;
    if (!growBuffer(&p, it->key_inline, sizeof(it->key_inline), cap)) {
        it->failed = true;
        return false;
    }
    it->key = p;
    it->key_cap = cap;
    return true;
}

static bool pushFrame(raxIterator *it, const node *n, size_t key_len) {
    if (unlikely(it->depth == it->path_cap)) {
        size_t cap = it->path_cap * 2;
        void *p = it->path;
        if (!growBuffer(&p, it->path_inline, sizeof(it->path_inline), cap * sizeof(raxFrame))) {
            it->failed = true;
            return false;
        }
        it->path = p;
        it->path_cap = cap;
    }
    it->path[it->depth++] = (raxFrame){n, key_len, 0};
    return true;
}

/* Appends the byte that leads down from a node (not from the frame above the root), and the segment after it. */
static bool addSegment(raxIterator *it, const raxFrame *f, const char *bytes, size_t len) {
    if (!reserveKey(it, it->key_len + 1 + len)) return false;
    if (f->node) it->key[it->key_len++] = (char)nodeChildByte(f->node, f->pos);
    copyBytes(it->key + it->key_len, bytes, len);
    it->key_len += len;
    return true;
}

/* ---- Positions --------------------------------------------------------------------------------------------------- */

static raxFrame *lastFrame(raxIterator *it) { return &it->path[it->depth - 1]; }

static slot frameSlot(const raxIterator *it, const raxFrame *f) {
    const rax *r = it->tree;
    return f->node ? nodeChild(f->node, f->pos) : (slot){r->root, r->root_kind};
}

static bool hasValue(const raxFrame *f) {
    const node *n = f->node;
    return n && n->has_value;
}

/* Finds the first position from `gap` on, or the last one before it. Returns false if there is none. */
static bool posFrom(const raxIterator *it, raxFrame *f, unsigned gap) {
    if (gap == 0 && hasValue(f)) {
        f->pos = 0;
        return true;
    }
    unsigned begin = gap ? gap : 1;
    if (f->node) f->pos = nodeChildFrom(f->node, begin);
    else f->pos = begin == 1 && it->tree->root_kind != KIND_NONE;
    return f->pos != 0;
}
static bool posBefore(const raxIterator *it, raxFrame *f, unsigned gap) {
    if (gap == 0) return false;
    if (f->node) f->pos = nodeChildBefore(f->node, gap);
    else f->pos = gap > 1 && it->tree->root_kind != KIND_NONE;
    return f->pos != 0 || hasValue(f);
}

static bool stopAt(raxIterator *it, void **value) {
    it->value = value;
    it->changes = it->tree->changes;
    it->on_element = true;
    return true;
}

static bool stopNowhere(raxIterator *it) {
    it->on_element = false;
    return false;
}

static void **valueOf(const raxIterator *it, const raxFrame *f) {
    if (f->pos == 0) return nodeValue(f->node);
    slot s = frameSlot(it, f);
    if (s.kind != KIND_LEAF) return &((leaf *)s.ptr)->value;
    return f->node ? &nodePointers(f->node)[f->pos - 1] : (void **)&it->tree->root;
}

/* Descends from the last frame's position: to an element, or to a node, which becomes the last frame. Returns false if
 * memory is short. */
static bool raxIteratorEnter(raxIterator *it) {
    raxFrame *f = lastFrame(it);
    it->key_len = f->key_len;
    if (f->pos == 0) return stopAt(it, nodeValue(f->node));
    slot s = frameSlot(it, f);
    if (s.kind == KIND_NODE) {
        const node *n = s.ptr;
        return addSegment(it, f, n->prefix, n->prefix_len) && pushFrame(it, n, it->key_len);
    }
    const leaf *l = s.ptr;
    size_t tail_len = s.kind - (size_t)KIND_LEAF;
    return addSegment(it, f, tail_len ? l->tail : NULL, tail_len) && stopAt(it, valueOf(it, f));
}

/* Moves to the nearest element on that side of the gap in the last frame. */
static bool raxIteratorWalk(raxIterator *it, unsigned gap, bool forward) {
    it->on_element = false;
    while (!it->on_element) {
        raxFrame *f = lastFrame(it);
        if (forward ? posFrom(it, f, gap) : posBefore(it, f, gap)) {
            if (!raxIteratorEnter(it)) return stopNowhere(it);
            gap = forward ? 0 : PAST_ALL;
        } else {
            if (--it->depth == 0) return stopNowhere(it);
            unsigned pos = lastFrame(it)->pos;
            gap = forward ? pos + 1 : pos;
        }
    }
    return true;
}

/* ---- Seeking ----------------------------------------------------------------------------------------------------- */

/* Compares a segment of the tree with the rest of the key. */
static int segmentCmp(const char *segment, size_t len, slice rest) { return sliceCmp(sliceOf(segment, len), rest); }

/* Descends as far as the key matches, without copying it. Returns true if the key is present: the last frame's position
 * is its value. Otherwise sets *gap. */
static bool raxIteratorDescend(raxIterator *it, slice key, unsigned *gap) {
    slice rest = key;
    raxFrame *f = lastFrame(it);
    f->pos = 1;
    for (;;) {
        slot s = frameSlot(it, f);
        if (s.kind != KIND_NODE) {
            int d = s.kind == KIND_NONE   ? 1
                    : s.kind == KIND_LEAF ? -(rest.len > 0)
                                          : segmentCmp(((leaf *)s.ptr)->tail, s.kind - (size_t)KIND_LEAF, rest);
            *gap = f->pos + (d < 0);
            return d == 0;
        }
        const node *n = s.ptr;
        size_t compared = rest.len < n->prefix_len ? rest.len : n->prefix_len;
        if (compared < n->prefix_len || !bytesEq(n->prefix, rest.ptr, compared)) {
            *gap = f->pos + (segmentCmp(n->prefix, n->prefix_len, rest) < 0);
            return false;
        }
        rest = sliceOf(rest.ptr + compared, rest.len - compared);
        if (!pushFrame(it, n, key.len - rest.len)) return false;
        f = lastFrame(it);
        if (rest.len == 0) {
            *gap = 1;
            return n->has_value;
        }
        slotRef child;
        unsigned pos;
        if (!nodeFindChild(n, (uint8_t)rest.ptr[0], &pos, &child)) {
            *gap = pos;
            return false;
        }
        f->pos = pos;
        rest = sliceOf(rest.ptr + 1, rest.len - 1);
    }
}

static bool copyKey(raxIterator *it, slice key, size_t len) {
    if (!reserveKey(it, len)) return false;
    if (len) memmove(it->key, key.ptr, len);
    it->key_len = len;
    return true;
}

bool raxIterSeek(raxIterator *it, raxSeekOp op, slice key) {
    it->depth = 0;
    it->failed = false;
    (void)pushFrame(it, NULL, 0); /* the first frame always fits */
    if (op == RAX_SEEK_FIRST) return raxIteratorWalk(it, 0, true);
    if (op == RAX_SEEK_LAST) return raxIteratorWalk(it, PAST_ALL, false);
    unsigned gap = 0;
    bool there = raxIteratorDescend(it, key, &gap);
    if (it->failed) return stopNowhere(it);
    if (there && (op == RAX_SEEK_EQ || op == RAX_SEEK_GE || op == RAX_SEEK_LE))
        return copyKey(it, key, key.len) ? stopAt(it, valueOf(it, lastFrame(it))) : stopNowhere(it);
    if (op == RAX_SEEK_EQ || !copyKey(it, key, lastFrame(it)->key_len)) return stopNowhere(it);
    bool forward = op == RAX_SEEK_GE || op == RAX_SEEK_GT;
    if (there) gap = lastFrame(it)->pos + forward;
    return raxIteratorWalk(it, gap, forward);
}

static bool raxIteratorStep(raxIterator *it, bool forward) {
    if (!it->on_element) return false;
    if (it->changes != it->tree->changes) return raxIterSeek(it, forward ? RAX_SEEK_GT : RAX_SEEK_LT, raxIterKey(it));
    it->failed = false;
    unsigned pos = lastFrame(it)->pos;
    return raxIteratorWalk(it, forward ? pos + 1 : pos, forward);
}

bool raxIterNext(raxIterator *it) { return raxIteratorStep(it, true); }
bool raxIterPrev(raxIterator *it) { return raxIteratorStep(it, false); }

/* ---- The element ------------------------------------------------------------------------------------------------- */

slice raxIterKey(const raxIterator *it) {
    serverAssert(it->on_element);
    return sliceOf(it->key, it->key_len);
}

void *raxIterValue(const raxIterator *it) {
    serverAssert(it->on_element && it->changes == it->tree->changes);
    return *it->value;
}

void raxIterSetValue(raxIterator *it, rax *r, void *value) {
    serverAssert(it->on_element && it->tree == r && it->changes == r->changes);
    *it->value = value;
}

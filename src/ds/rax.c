/* rax.c -- an ordered map from byte strings to pointers: a radix tree with compressed paths.
 *
 * Entries of streams, pending entries and consumers are found by key, walked in order and, most of them, added at
 * the end. Blocks are drawn in rax_internal.h. Bytes that keys share are stored once, in the prefix of a node; those
 * that only one key has are in its leaf, with the value; and a key that ends right after the byte in which it differs
 * from others has no leaf at all. Nodes grow and shrink by steps of about a third, each of a size that the allocator
 * has.
 *
 * A prefix or tail has SEGMENT_MAX bytes at most, so that no change moves more than one node's worth of bytes; a longer
 * one is a chain of nodes with one child. Only such chains have a size that clients choose: the end of a new key is
 * built first, apart from the tree, and if there is no memory for it, nothing has changed. Chains can be long,
 * so nothing here recurses.
 *
 * Not here    walks in order (rax_iterator.c).
 * Owns        nodes, leaves and the bytes of the keys; not the values.
 * Threads     one owner at a time.
 * Invariants  (raxCheck() asserts them)
 *             1. The bytes of a sorted node ascend, without empty slots; a direct node counts its children.
 *             2. A prefix or tail has at most SEGMENT_MAX bytes.
 *             3. A node without a value has two children; or one, where the two segments and the byte between them
 *                do not fit into one. A node with a value has a child.
 *             4. A node above the two smallest shapes holds more children than the shape two below could.
 *             5. `count` is the number of values, `bytes` the sizes of all blocks.
 * Cost        one node for each byte where keys differ, so a few in all: docs/design/rax.md has figures.
 * Tests       tests/unit/ds/rax_test.c; tests/bench/micro/rax_bench.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rax_internal.h"
#include "panic.h"
#include "zmalloc.h"

/* With a prefix of up to five bytes and no value these fill the allocator's sizes 32, 32, 48, 96, 128, 160, 192, 256,
 * 320 ... 1792. */
const uint16_t rax_shape_cap[RAX_SHAPES] = {1, 2, 4, 8, 12, 15, 18, 24, 30, 37, 50, 62, 75, 100, 125, 150, 175, 256};

static slotRef rootRef(rax *r) { return (slotRef){&r->root, &r->root_kind}; }
static slotRef childRef(const node *n, unsigned pos) {
    return (slotRef){&nodePointers(n)[pos - 1], &nodeKinds(n)[pos - 1]};
}
static void raxPut(slotRef ref, slot s) {
    *ref.ptr = s.ptr;
    *ref.kind = s.kind;
}

static bool isNode(slotRef ref) { return *ref.kind == KIND_NODE; }
static size_t tailLen(uint8_t kind) { return kind - (size_t)KIND_LEAF; }

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static size_t nodeBytes(unsigned shape, size_t prefix_len, bool has_value) {
    size_t cap = rax_shape_cap[shape], body = shape == SHAPE_DIRECT ? 256 : roundUp8(2 * cap);
    return nodeHeadBytes(prefix_len) + (has_value ? sizeof(void *) : 0) + body + cap * sizeof(void *);
}

static void *countBlock(rax *r, void *p, size_t size) {
    if (p) r->bytes += zmallocGoodSize(size);
    return p;
}

static void freeBlock(rax *r, void *p, size_t size) {
    r->bytes -= zmallocGoodSize(size);
    zfreeSized(p, size);
}

static void freeNode(rax *r, node *n) { freeBlock(r, n, nodeBytes(n->shape, n->prefix_len, n->has_value)); }

static node *nodeInit(node *n, unsigned shape, slice prefix, bool has_value) {
    n->count = 0;
    n->has_value = has_value;
    n->shape = shape & 63;
    n->prefix_len = prefix.len & 255;
    if (prefix.len) memcpy(n->prefix, prefix.ptr, prefix.len);
    if (shape == SHAPE_DIRECT) memset(nodeKinds(n), KIND_NONE, 256);
    return n;
}

static node *nodeNew(rax *r, unsigned shape, slice prefix, bool has_value) {
    size_t size = nodeBytes(shape, prefix.len, has_value);
    return nodeInit(countBlock(r, zmalloc(size), size), shape, prefix, has_value);
}

/* Returns the slot of a value whose key ends with these bytes, SEGMENT_MAX at most. */
static slot leafNew(rax *r, slice tail, void *value) {
    if (tail.len == 0) return (slot){value, KIND_LEAF};
    size_t size = sizeof(leaf) + tail.len;
    leaf *l = countBlock(r, zmalloc(size), size);
    l->value = value;
    copyBytes(l->tail, tail.ptr, tail.len);
    return (slot){l, (uint8_t)(KIND_LEAF + tail.len)};
}

static void freeLeaf(rax *r, slot s) {
    if (tailLen(s.kind)) freeBlock(r, s.ptr, sizeof(leaf) + tailLen(s.kind));
}

static void **leafValue(slotRef ref) { return *ref.kind == KIND_LEAF ? ref.ptr : &((leaf *)*ref.ptr)->value; }

static slice leafTail(slot s) {
    return s.kind == KIND_LEAF ? sliceOf("", 0) : sliceOf(((leaf *)s.ptr)->tail, tailLen(s.kind));
}

static slice nodePrefix(const node *n) { return sliceOf(n->prefix, n->prefix_len); }

/* Adds a child at the position that nodeFindChild() has returned; the node is not full. */
static void nodePutChild(node *n, unsigned pos, uint8_t b, slot child) {
    uint8_t *kinds = nodeKinds(n);
    void **pointers = nodePointers(n);
    unsigned at = pos - 1;
    if (n->shape != SHAPE_DIRECT) {
        uint8_t *bytes = nodeBody(n);
        size_t after = n->count - at;
        if (after) {
            memmove(bytes + at + 1, bytes + at, after);
            memmove(kinds + at + 1, kinds + at, after);
            memmove(pointers + at + 1, pointers + at, after * sizeof(void *));
        }
        bytes[at] = b;
    }
    kinds[at] = child.kind;
    pointers[at] = child.ptr;
    n->count = (n->count + 1) & 511;
}

static void nodeCutChild(node *n, unsigned pos) {
    uint8_t *kinds = nodeKinds(n);
    unsigned at = pos - 1;
    n->count = (n->count - 1u) & 511;
    if (n->shape == SHAPE_DIRECT) {
        kinds[at] = KIND_NONE;
        return;
    }
    uint8_t *bytes = nodeBody(n);
    void **pointers = nodePointers(n);
    size_t after = n->count - at;
    memmove(bytes + at, bytes + at + 1, after);
    memmove(kinds + at, kinds + at + 1, after);
    memmove(pointers + at, pointers + at + 1, after * sizeof(void *));
}

/* Copies all children of `from` to the empty node `to`, which has the capacity. */
static void copyChildren(node *to, const node *from) {
    const uint8_t *body = nodeBody(from), *from_kinds = nodeKinds(from);
    uint8_t *kinds = nodeKinds(to);
    void **pointers = nodePointers(to), **from_pointers = nodePointers(from);
    bool direct = to->shape == SHAPE_DIRECT, from_direct = from->shape == SHAPE_DIRECT;
    unsigned count = from->count;
    if (direct == from_direct) {
        unsigned slots = direct ? 256 : count;
        if (!direct) memcpy(nodeBody(to), body, slots);
        memcpy(kinds, from_kinds, slots);
        memcpy(pointers, from_pointers, slots * sizeof(void *));
    } else if (direct) {
        for (unsigned i = 0; i < count; i++) {
            kinds[body[i]] = from_kinds[i];
            pointers[body[i]] = from_pointers[i];
        }
    } else {
        uint8_t *bytes = nodeBody(to);
        for (unsigned b = 0, i = 0; b < 256; b++) {
            if (body[b] == KIND_NONE) continue;
            bytes[i] = (uint8_t)b;
            kinds[i] = body[b];
            pointers[i++] = from_pointers[b];
        }
    }
    to->count = count & 511;
}

/* Returns the node in another shape, with another prefix (which may be part of it), with or without a value (a new one
 * is not set). Frees the old block. */
static node *nodeRemake(rax *r, node *old, unsigned shape, slice prefix, bool has_value) {
    node *n = nodeNew(r, shape, prefix, has_value);
    copyChildren(n, old);
    if (has_value && old->has_value) *nodeValue(n) = *nodeValue(old);
    freeNode(r, old);
    return n;
}

/* ---- Freeing ----------------------------------------------------------------------------------------------------- */

/* The child to free next is taken from its slot, which then holds the way back up. */
static slot takeLastChild(node *n) {
    unsigned pos = nodeChildBefore(n, 257);
    return nodeChild(n, pos);
}

/* Frees all below the slot. Chains have any length, so the way back up is stored in the slots that lead down. */
static void freeSubtree(rax *r, slot s, void (*value_free)(void *value)) {
    node *above = NULL, *n = NULL;
    for (;;) {
        if (s.kind == KIND_NODE) {
            node *below = s.ptr;
            if (n) nodePointers(n)[nodeChildBefore(n, 257) - 1] = above;
            above = n;
            n = below;
        } else {
            if (value_free) value_free(*leafValue((slotRef){&s.ptr, &s.kind}));
            freeLeaf(r, s);
            if (n) nodeCutChild(n, nodeChildBefore(n, 257));
        }
        while (n && n->count == 0) {
            if (n->has_value && value_free) value_free(*nodeValue(n));
            freeNode(r, n);
            n = above;
            if (!n) return;
            unsigned pos = nodeChildBefore(n, 257);
            above = nodePointers(n)[pos - 1];
            nodeCutChild(n, pos);
        }
        if (!n) return;
        s = takeLastChild(n);
    }
}

rax *raxCreate(void) {
    rax *r = zcalloc(1, sizeof(*r));
    r->bytes = zmallocGoodSize(sizeof(*r));
    return r;
}

void raxEmpty(rax *r, void (*value_free)(void *value)) {
    if (r->root_kind != KIND_NONE) freeSubtree(r, (slot){r->root, r->root_kind}, value_free);
    r->root_kind = KIND_NONE;
    r->root = NULL;
    r->count = 0;
    r->changes++;
}

void raxRelease(rax *r, void (*value_free)(void *value)) {
    raxEmpty(r, value_free);
    zfree(r);
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static void **findValue(const rax *r, slice key) {
    slotRef at = {(void **)&r->root, (uint8_t *)&r->root_kind};
    while (isNode(at)) {
        const node *n = *at.ptr;
        if (key.len < n->prefix_len || !bytesEq(n->prefix, key.ptr, n->prefix_len)) return NULL;
        key = sliceOf(key.ptr + n->prefix_len, key.len - n->prefix_len);
        if (key.len == 0) return n->has_value ? nodeValue(n) : NULL;
        unsigned pos;
        if (!nodeFindChild(n, (uint8_t)key.ptr[0], &pos, &at)) return NULL;
        key = sliceOf(key.ptr + 1, key.len - 1);
    }
    if (*at.kind == KIND_NONE || !sliceEq(leafTail((slot){*at.ptr, *at.kind}), key)) return NULL;
    return leafValue(at);
}

bool raxFind(const rax *r, slice key, void **value) {
    void **slot_value = findValue(r, key);
    if (slot_value && value) *value = *slot_value;
    return slot_value != NULL;
}

void **raxFindRef(rax *r, slice key) { return findValue(r, key); }

void raxEachPrefix(const rax *r, slice text, void (*fn)(void *arg, void *value), void *arg) {
    slotRef at = {(void **)&r->root, (uint8_t *)&r->root_kind};
    while (isNode(at)) {
        const node *n = *at.ptr;
        if (text.len < n->prefix_len || !bytesEq(n->prefix, text.ptr, n->prefix_len)) return;
        text = sliceOf(text.ptr + n->prefix_len, text.len - n->prefix_len);
        if (n->has_value) fn(arg, *nodeValue(n));
        unsigned pos;
        if (text.len == 0 || !nodeFindChild(n, (uint8_t)text.ptr[0], &pos, &at)) return;
        text = sliceOf(text.ptr + 1, text.len - 1);
    }
    if (*at.kind == KIND_NONE) return;
    slice tail = leafTail((slot){*at.ptr, *at.kind});
    if (tail.len <= text.len && bytesEq(tail.ptr, text.ptr, tail.len)) fn(arg, *leafValue(at));
}

size_t raxSize(const rax *r) { return r->count; }
size_t raxMemUsage(const rax *r) { return r->bytes; }

/* A key has at most one leaf; there are fewer nodes than keys, except for long keys. */
size_t raxFreeEffort(const rax *r) { return 1 + r->count + r->bytes / 256; }

/* ---- Shrinking nodes --------------------------------------------------------------------------------------------- */

static bool isChain(const node *n) { return n->count == 1 && !n->has_value; }

/* Returns the bytes of the child's own segment. */
static slice segmentOf(slot s) { return s.kind == KIND_NODE ? nodePrefix(s.ptr) : leafTail(s); }

/* Merges a node without a value into its only child, if both segments fit into one. */
static void joinChain(rax *r, slotRef ref) {
    node *n = *ref.ptr;
    if (!isNode(ref) || !isChain(n)) return;
    unsigned pos = nodeChildFrom(n, 1);
    slot child = nodeChild(n, pos);
    slice below = segmentOf(child);
    size_t len = n->prefix_len + 1u + below.len;
    if (len > SEGMENT_MAX) return;
    char bytes[SEGMENT_MAX];
    memcpy(bytes, n->prefix, n->prefix_len);
    bytes[n->prefix_len] = (char)nodeChildByte(n, pos);
    memcpy(bytes + n->prefix_len + 1, below.ptr, below.len);
    slice segment = sliceOf(bytes, len);
    freeNode(r, n);
    if (child.kind == KIND_NODE) {
        node *c = child.ptr;
        raxPut(ref, (slot){nodeRemake(r, c, c->shape, segment, c->has_value), KIND_NODE});
    } else {
        raxPut(ref, leafNew(r, segment, *leafValue((slotRef){&child.ptr, &child.kind})));
        freeLeaf(r, child);
    }
}

/* Restores invariants 3 and 4 for a node that has lost a child or its value. */
static void restoreShape(rax *r, slotRef ref) {
    node *n = *ref.ptr;
    if (n->count == 0) {
        raxPut(ref, leafNew(r, nodePrefix(n), *nodeValue(n)));
        freeNode(r, n);
        return;
    }
    if (n->shape >= 2 && n->count <= rax_shape_cap[n->shape - 2])
        *ref.ptr = nodeRemake(r, n, n->shape - 1u, nodePrefix(n), n->has_value);
    joinChain(r, ref);
}

/* ---- Adding ------------------------------------------------------------------------------------------------------ */

/* Makes the slot of a value whose key ends with these bytes, however many. Returns false if there is no memory for it;
 * never for up to SEGMENT_MAX bytes. */
static bool makeEnd(rax *r, slice end, void *value, slot *made) {
    if (likely(end.len <= SEGMENT_MAX)) {
        *made = leafNew(r, end, value);
        return true;
    }
    slotRef ref = {&made->ptr, &made->kind};
    *made = (slot){NULL, KIND_NONE};
    slotRef top = ref;
    for (; end.len > SEGMENT_MAX; end = sliceOf(end.ptr + SEGMENT_MAX + 1, end.len - SEGMENT_MAX - 1)) {
        size_t size = nodeBytes(0, SEGMENT_MAX, false);
        node *n = countBlock(r, ztrymalloc(size), size);
        if (!n) {
            /* Ends the unfinished chain with a dummy value, so that it can be freed. */
            raxPut(ref, (slot){NULL, KIND_LEAF});
            freeSubtree(r, (slot){*top.ptr, *top.kind}, NULL);
            return false;
        }
        nodeInit(n, 0, sliceOf(end.ptr, SEGMENT_MAX), false);
        nodePutChild(n, 1, (uint8_t)end.ptr[SEGMENT_MAX], (slot){NULL, KIND_NONE});
        raxPut(ref, (slot){n, KIND_NODE});
        ref = childRef(n, 1);
    }
    raxPut(ref, leafNew(r, end, value));
    return true;
}

/* Adds a child and returns the node, which has moved if it had to grow. */
static node *addChild(rax *r, node *n, unsigned pos, uint8_t b, slot child) {
    if (n->shape != SHAPE_DIRECT && n->count == rax_shape_cap[n->shape]) {
        n = nodeRemake(r, n, n->shape + 1u, nodePrefix(n), n->has_value);
        if (n->shape == SHAPE_DIRECT) pos = b + 1u;
    }
    nodePutChild(n, pos, b, child);
    return n;
}

/* Inserts a node above the slot's target, after the first `common` bytes of its segment. The new key's value becomes
 * that of the node (if rest is empty) or the child of rest[0]. */
static bool raxSplit(rax *r, slotRef ref, slotRef above, size_t common, slice rest, void *value) {
    slot old = {*ref.ptr, *ref.kind}, end = {NULL, KIND_NONE};
    if (rest.len && !makeEnd(r, sliceOf(rest.ptr + 1, rest.len - 1), value, &end)) return false;
    slice segment = segmentOf(old);
    bool old_ends = common == segment.len; /* the leaf's key is a prefix of the new one */
    node *n = nodeNew(r, rest.len && !old_ends ? 1 : 0, sliceOf(segment.ptr, common), old_ends || !rest.len);
    if (old_ends) {
        *nodeValue(n) = *leafValue(ref);
        freeLeaf(r, old);
    } else {
        uint8_t b = (uint8_t)segment.ptr[common];
        slice left = sliceOf(segment.ptr + common + 1, segment.len - common - 1);
        slot shorter;
        if (old.kind == KIND_NODE) {
            node *o = old.ptr;
            shorter = (slot){nodeRemake(r, o, o->shape, left, o->has_value), KIND_NODE};
        } else {
            shorter = leafNew(r, left, *leafValue(ref));
            freeLeaf(r, old);
        }
        nodePutChild(n, 1, b, shorter);
        joinChain(r, childRef(n, 1));
    }
    if (rest.len) {
        slotRef none;
        unsigned pos;
        (void)nodeFindChild(n, (uint8_t)rest.ptr[0], &pos, &none);
        nodePutChild(n, pos, (uint8_t)rest.ptr[0], end);
    } else {
        *nodeValue(n) = value;
    }
    raxPut(ref, (slot){n, KIND_NODE});
    if (above.ptr) joinChain(r, above);
    return true;
}

static raxResult added(rax *r) {
    r->count++;
    r->changes++;
    return RAX_ADDED;
}

static raxResult present(void **slot_value, void *value, void **old, bool replace) {
    if (old) *old = *slot_value;
    if (replace) *slot_value = value;
    return RAX_PRESENT;
}

static raxResult insert(rax *r, slice key, void *value, void **old, bool replace) {
    slotRef at = rootRef(r), above = {NULL, NULL};
    slot end;
    while (isNode(at)) {
        node *n = *at.ptr;
        size_t common = commonBytes(n->prefix, key.ptr, key.len < n->prefix_len ? key.len : n->prefix_len);
        key = sliceOf(key.ptr + common, key.len - common);
        if (common < n->prefix_len) return raxSplit(r, at, above, common, key, value) ? added(r) : RAX_NO_MEMORY;
        if (key.len == 0) {
            if (n->has_value) return present(nodeValue(n), value, old, replace);
            n = *at.ptr = nodeRemake(r, n, n->shape, nodePrefix(n), true);
            *nodeValue(n) = value;
            return added(r);
        }
        slotRef child;
        uint8_t b = (uint8_t)key.ptr[0];
        unsigned pos;
        key = sliceOf(key.ptr + 1, key.len - 1);
        if (!nodeFindChild(n, b, &pos, &child)) {
            if (!makeEnd(r, key, value, &end)) return RAX_NO_MEMORY;
            *at.ptr = addChild(r, n, pos, b, end);
            return added(r);
        }
        above = at;
        at = child;
    }
    if (*at.kind == KIND_NONE) {
        if (!makeEnd(r, key, value, &end)) return RAX_NO_MEMORY;
        raxPut(at, end);
        return added(r);
    }
    slice tail = leafTail((slot){*at.ptr, *at.kind});
    size_t common = commonBytes(tail.ptr, key.ptr, key.len < tail.len ? key.len : tail.len);
    if (common == tail.len && common == key.len) return present(leafValue(at), value, old, replace);
    key = sliceOf(key.ptr + common, key.len - common);
    return raxSplit(r, at, above, common, key, value) ? added(r) : RAX_NO_MEMORY;
}

raxResult raxInsert(rax *r, slice key, void *value, void **old) { return insert(r, key, value, old, true); }
raxResult raxTryInsert(rax *r, slice key, void *value, void **there) { return insert(r, key, value, there, false); }

/* ---- Removing ---------------------------------------------------------------------------------------------------- */

static void removed(rax *r, void *value, void **old) {
    r->count--;
    r->changes++;
    if (old) *old = value;
}

bool raxRemove(rax *r, slice key, void **old) {
    slotRef at = rootRef(r), keeps = {NULL, NULL};
    unsigned keeps_pos = 0; /* the child of `keeps`, the last node on the way that is more than a link of a chain */
    while (isNode(at)) {
        node *n = *at.ptr;
        if (key.len < n->prefix_len || !bytesEq(n->prefix, key.ptr, n->prefix_len)) return false;
        key = sliceOf(key.ptr + n->prefix_len, key.len - n->prefix_len);
        if (key.len == 0) {
            if (!n->has_value) return false;
            removed(r, *nodeValue(n), old);
            *at.ptr = nodeRemake(r, n, n->shape, nodePrefix(n), false);
            restoreShape(r, at);
            return true;
        }
        slotRef child;
        unsigned pos;
        if (!nodeFindChild(n, (uint8_t)key.ptr[0], &pos, &child)) return false;
        if (!isChain(n)) {
            keeps = at;
            keeps_pos = pos;
        }
        at = child;
        key = sliceOf(key.ptr + 1, key.len - 1);
    }
    if (*at.kind == KIND_NONE || !sliceEq(leafTail((slot){*at.ptr, *at.kind}), key)) return false;
    removed(r, *leafValue(at), old);
    slotRef dropped = keeps.ptr ? childRef(*keeps.ptr, keeps_pos) : rootRef(r);
    if (isNode(dropped)) freeSubtree(r, (slot){*dropped.ptr, *dropped.kind}, NULL);
    else freeLeaf(r, (slot){*dropped.ptr, *dropped.kind});
    if (keeps.ptr) {
        nodeCutChild(*keeps.ptr, keeps_pos);
        restoreShape(r, keeps);
    } else {
        raxPut(dropped, (slot){NULL, KIND_NONE});
    }
    return true;
}

/* ---- Checking ---------------------------------------------------------------------------------------------------- */

/* Slots still to be visited. */
typedef struct todoList {
    slot *items; /* owns */
    size_t count, cap;
} todoList;

static void todoAdd(todoList *todo, slot s) {
    todo->items = zgrowArray(todo->items, todo->count, &todo->cap, sizeof(*todo->items));
    todo->items[todo->count++] = s;
}

static void checkNode(const node *n, todoList *todo) {
    serverAssert(n->shape < RAX_SHAPES && n->prefix_len <= SEGMENT_MAX);
    serverAssert(n->count <= rax_shape_cap[n->shape] && n->count >= 1);
    serverAssert(n->shape < 2 || n->count > rax_shape_cap[n->shape - 2]);
    unsigned children = 0;
    for (unsigned pos = 0, last = 0; (pos = nodeChildFrom(n, pos + 1)) != 0; last = nodeChildByte(n, pos)) {
        slot child = nodeChild(n, pos);
        serverAssert(child.kind != KIND_NONE && (children == 0 || nodeChildByte(n, pos) > last));
        serverAssert(!isChain(n) || n->prefix_len + 1u + segmentOf(child).len > SEGMENT_MAX);
        todoAdd(todo, child);
        children++;
    }
    serverAssert(children == n->count);
}

void raxCheck(const rax *r) {
    todoList todo = {NULL, 0, 0};
    size_t values = 0, bytes = zmallocGoodSize(sizeof(*r));
    if (r->root_kind != KIND_NONE) todoAdd(&todo, (slot){r->root, r->root_kind});
    while (todo.count) {
        slot s = todo.items[--todo.count];
        if (s.kind == KIND_NODE) {
            const node *n = s.ptr;
            checkNode(n, &todo);
            values += n->has_value;
            bytes += zmallocGoodSize(nodeBytes(n->shape, n->prefix_len, n->has_value));
        } else {
            serverAssert(tailLen(s.kind) <= SEGMENT_MAX);
            values++;
            if (tailLen(s.kind)) bytes += zmallocGoodSize(sizeof(leaf) + tailLen(s.kind));
        }
    }
    zfree(todo.items);
    serverAssert(values == r->count && bytes == r->bytes);
}

/* rax_internal.h -- nodes and leaves of a rax, shared by rax.c and rax_iterator.c only.
 *
 * A slot is a pointer and a byte that defines what it points to:
 *
 *     kind  0          nothing
 *           1          a node
 *           2          a value: the key ends here, and the pointer is the value itself
 *           2 + n      a leaf: the value and the last n bytes of the key
 *
 * The root is a slot in the rax. A node is one block of one of 18 shapes, which define its capacity (c):
 *
 *             3            3 + p, rounded up to 8
 *     +-------+------------+---------+---------+----------+---------------+
 *     | head  | prefix (p) | value?  | bytes c | kinds c  | pointers 8 c  |    c from 1 to 175: sorted by byte
 *     +-------+------------+---------+---------+----------+---------------+
 *     | head  | prefix (p) | value?  | kinds 256          | pointers 2048 |    the last shape: indexed by byte
 *     +-------+------------+---------+--------------------+---------------+
 *
 * The prefix is the bytes that all keys below have in common from here on. A node has a `value` if a key ends after the
 * prefix. Bytes and kinds together are rounded up to 8.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_RAX_INTERNAL_H
#define DS_RAX_INTERNAL_H

#include "rax.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { KIND_NONE = 0, KIND_NODE = 1, KIND_LEAF = 2 };

/* Longest prefix of a node and longest tail of a leaf. A node with a full prefix and one child fills 256 bytes. */
#define SEGMENT_MAX RAX_SURE_KEY

#define RAX_SHAPES 18
#define SHAPE_DIRECT (RAX_SHAPES - 1)
extern const uint16_t rax_shape_cap[RAX_SHAPES];

typedef struct slot {
    void *ptr; /* owns the node or leaf; a value belongs to the caller */
    uint8_t kind;
} slot;

struct rax {
    void *root; /* owns */
    size_t count, bytes;
    uint32_t changes; /* incremented when a key is added or removed */
    uint8_t root_kind;
};

typedef struct node {
    uint32_t count : 9; /* children */
    uint32_t has_value : 1;
    uint32_t shape : 6;
    uint32_t prefix_len : 8;
    char prefix[]; /* followed by the rest of the node */
} node;

typedef struct leaf {
    void *value; /* belongs to the caller */
    char tail[];
} leaf;

static_assert(offsetof(node, prefix) == 3, "a prefix of five bytes ends with the first word");

static inline size_t roundUp8(size_t n) { return (n + 7) & ~(size_t)7; }

/* Returns the offset of the value, or of what follows if there is none. */
static inline size_t nodeHeadBytes(size_t prefix_len) { return roundUp8(offsetof(node, prefix) + prefix_len); }

static inline void **nodeValue(const node *n) { return (void **)((char *)n + nodeHeadBytes(n->prefix_len)); }

/* Returns the bytes of a sorted node, or the kinds of a direct one. */
static inline uint8_t *nodeBody(const node *n) {
    return (uint8_t *)n + nodeHeadBytes(n->prefix_len) + (n->has_value ? sizeof(void *) : 0);
}

static inline uint8_t *nodeKinds(const node *n) {
    return nodeBody(n) + (n->shape == SHAPE_DIRECT ? 0 : rax_shape_cap[n->shape]);
}

static inline void **nodePointers(const node *n) {
    size_t skip = n->shape == SHAPE_DIRECT ? 256 : roundUp8(2 * (size_t)rax_shape_cap[n->shape]);
    return (void **)(void *)(nodeBody(n) + skip);
}

/* Returns how many of the n ascending bytes are less than b. At least 16 bytes from `bytes` on are readable: kinds and
 * pointers follow. */
static inline unsigned bytesBelow(const uint8_t *bytes, unsigned n, uint8_t b) {
#ifdef __SSE2__
    __m128i want = _mm_set1_epi8((char)b);
    for (unsigned i = 0; i < n; i += 16) {
        __m128i have = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i));
        unsigned not_below = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(have, want), have));
        if (n - i < 16) not_below |= 1u << (n - i);
        if (not_below) return i + (unsigned)__builtin_ctz(not_below);
    }
    return n;
#else
    unsigned low = 0;
    while (low < n) {
        unsigned middle = (low + n) / 2;
        if (bytes[middle] < b) low = middle + 1;
        else n = middle;
    }
    return low;
#endif
}

/* A slot in a node, or the root. Changes of that node move it. */
typedef struct slotRef {
    void **ptr;
    uint8_t *kind;
} slotRef;

/* Finds the child of byte b: *pos becomes its position, or the one it would get; positions count from 1, in the order
 * of the bytes. Returns whether it is present, with its slot in *ref. Tests the greatest byte first, because growing
 * keys end there. */
static inline bool nodeFindChild(const node *n, uint8_t b, unsigned *pos, slotRef *ref) {
    uint8_t *body = nodeBody(n);
    if (n->shape == SHAPE_DIRECT) {
        *pos = b + 1u;
        *ref = (slotRef){(void **)(void *)(body + 256) + b, body + b};
        return body[b] != KIND_NONE;
    }
    unsigned count = n->count, at = count;
    bool found = false;
    if (likely(count && b <= body[count - 1])) {
        at = b == body[count - 1] ? count - 1 : bytesBelow(body, count, b);
        found = body[at] == b;
    }
    size_t cap = rax_shape_cap[n->shape];
    *pos = at + 1;
    *ref = (slotRef){(void **)(void *)(body + roundUp8(2 * cap)) + at, body + cap + at};
    return found;
}

static inline slot nodeChild(const node *n, unsigned pos) {
    return (slot){nodePointers(n)[pos - 1], nodeKinds(n)[pos - 1]};
}

/* Returns the byte that leads to the child at that position. */
static inline uint8_t nodeChildByte(const node *n, unsigned pos) {
    return n->shape == SHAPE_DIRECT ? (uint8_t)(pos - 1) : nodeBody(n)[pos - 1];
}

/* Returns the last position before `end` that has a child, 0 if none. `end` may be any number above 0. */
static inline unsigned nodeChildBefore(const node *n, unsigned end) {
    if (n->shape != SHAPE_DIRECT) return end - 1 < n->count ? end - 1 : n->count;
    const uint8_t *kinds = nodeBody(n);
    unsigned i = end - 1 < 256 ? end - 1 : 256;
    for (uint64_t eight; i >= 8 && (memcpy(&eight, kinds + i - 8, 8), eight == 0);) i -= 8;
    while (i && kinds[i - 1] == KIND_NONE) i--;
    return i;
}

/* Returns the first position from `begin` (not 0) on that has a child, 0 if none. */
static inline unsigned nodeChildFrom(const node *n, unsigned begin) {
    if (n->shape != SHAPE_DIRECT) return begin <= n->count ? begin : 0;
    const uint8_t *kinds = nodeBody(n);
    unsigned i = begin - 1;
    for (uint64_t eight; i + 8 <= 256 && (memcpy(&eight, kinds + i, 8), eight == 0);) i += 8;
    while (i < 256 && kinds[i] == KIND_NONE) i++;
    return i < 256 ? i + 1 : 0;
}

/* Returns the length of the common prefix of two byte strings. Most often it is all of them. */
static inline size_t commonBytes(const char *a, const char *b, size_t n) {
    if (bytesEq(a, b, n)) return n;
    size_t i = 0;
    while (i < n && a[i] == b[i]) i++;
    return i;
}

/* Like memcpy(), for sizes that are usually small. */
static inline void copyBytes(char *to, const char *from, size_t n) {
    uint64_t first, last;
    if (n >= 8 && n <= 16) {
        memcpy(&first, from, 8), memcpy(&last, from + n - 8, 8);
        memcpy(to, &first, 8), memcpy(to + n - 8, &last, 8);
    } else if (n < 8) {
        for (size_t i = 0; i < n; i++) to[i] = from[i];
    } else {
        memcpy(to, from, n);
    }
}

#endif

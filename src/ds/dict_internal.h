/* dict_internal.h -- the bucket and the tables of a dict, shared by dict.c and memory_prefetch.c only.
 *
 *   byte  0        8        16             48       56  57  58  59  60  61  62  63
 *         +--------+--------+--- ... ------+--------+---+---+---+---+---+---+---+-------+
 *         | slot 0 | slot 1 |              | slot 6 |t0 |t1 |t2 |t3 |t4 |t5 |t6 | flags |
 *         +--------+--------+--- ... ------+--------+---+---+---+---+---+---+---+-------+
 *           entry    entry                   entry, or with BUCKET_CHAINED in flags the next bucket
 *
 * A tag is 0 for an empty slot, else the top byte of the entry's hash (1 if that byte is 0). All seven
 * are compared at once, so a miss touches one line and a hit one more, that of the entry. A chained bucket
 * keeps tag 6 at 0, so a search for a tag never meets the pointer to the next bucket.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_DICT_INTERNAL_H
#define DS_DICT_INTERNAL_H

#include "dict.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BUCKET_SLOTS 7
#define BUCKET_CHAINED 1u

typedef struct dictBucket {
    void *slot[BUCKET_SLOTS]; /* borrowed entries; slot 6 of a chained bucket owns the next bucket */
    uint8_t tag[BUCKET_SLOTS];
    uint8_t flags;
} dictBucket;

static_assert(sizeof(dictBucket) == CACHE_LINE, "a bucket is one cache line");
static_assert(offsetof(dictBucket, tag) == 56, "tags and flags are the last word");

typedef struct dictTable {
    dictBucket *buckets; /* owns; NULL: no table */
    size_t mask;         /* number of buckets - 1; also 0 without a table */
    size_t used;         /* entries */
    size_t chained;      /* overflow buckets */
} dictTable;

typedef struct comingTable comingTable;

/* A dict that is not rehashing needs its first line only. */
struct dict {
    const dictType *type;  /* borrowed for the dict's life */
    comingTable *coming;   /* shared with a background job (see dict.c); NULL: none */
    size_t rehash_idx;     /* buckets of t[0] below it are empty; 0 without a rehash */
    uint32_t pause_rehash; /* nesting depth */
    bool rehashing;
    dictTable t[2]; /* t[1] exists during a rehash only */
#ifdef DEBUG_ASSERTIONS
    uint64_t changes;
#endif
};

static_assert(offsetof(dict, t) + sizeof(dictTable) == CACHE_LINE, "all but the second table is one line");
static_assert(sizeof(dict) <= DICT_BYTES, "a dict fits into the memory of dictInit()");

#define TAG_SHIFT 56 /* selects the top byte of a hash */

static inline uint8_t bucketTag(uint64_t hash) {
    uint8_t tag = (uint8_t)(hash >> TAG_SHIFT);
    return tag ? tag : 1;
}

/* Returns a mask with bit i (0..6) set if slot i has the tag. */
static inline unsigned bucketMatch(const dictBucket *b, uint8_t tag) {
#ifdef __SSE2__
    __m128i tags = _mm_loadl_epi64((const __m128i *)(const void *)b->tag);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag))) & 0x7f;
#else
    /* A byte of x is 0 where the tag matches. Adding 0x7f to its low seven bits carries into the top bit unless they
     * are all 0, and never into the next byte, so each byte is tested by itself. */
    const uint64_t low7 = 0x7f7f7f7f7f7f7f7fULL;
    uint64_t word = 0, zero;
    for (int i = 0; i < BUCKET_SLOTS; i++) word |= (uint64_t)b->tag[i] << (8 * i);
    uint64_t x = word ^ (0x0101010101010101ULL * tag);
    zero = ~(((x & low7) + low7) | x | low7);
    /* Gathers the top bits: 0x80 in byte i becomes bit i. */
    return (unsigned)(((zero >> 7) * 0x0102040810204080ULL) >> 56) & 0x7f;
#endif
}

static inline bool bucketIsChained(const dictBucket *b) { return b->flags & BUCKET_CHAINED; }
static inline dictBucket *bucketNext(const dictBucket *b) {
    return bucketIsChained(b) ? b->slot[BUCKET_SLOTS - 1] : NULL;
}

/* Returns the first table that can hold `hash`: 0, or 1 if its bucket of table 0 has been moved. */
static inline int dictFirstTable(const dict *d, uint64_t hash) {
    return d->rehashing && (hash & d->t[0].mask) < d->rehash_idx;
}

static inline bool dictKeyMatches(const dictType *type, const void *entry, slice key) {
    slice k = type->entryKey(entry);
    return type->keyEqual ? type->keyEqual(k, key) : sliceEq(k, key);
}

#endif

/* object_internal.h -- where the parts of an entry lie, and what was registered for a type, for this folder only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_OBJECT_INTERNAL_H
#define OBJECT_OBJECT_INTERNAL_H

#include "object.h"
#include "panic.h"

/* LeakSanitizer looks for addresses in whole words: for it, structures have theirs in a place of its own as well. */
#if defined(__SANITIZE_ADDRESS__)
#define STRUCTURES_SHOWN true
#elif defined(__has_feature)
#define STRUCTURES_SHOWN __has_feature(address_sanitizer)
#else
#define STRUCTURES_SHOWN false
#endif

/* RAW has a block's address, INT its number, between expire and key; a structure's address lies in word 1. */
static_assert(OBJ_ENC_RAW < OBJ_ENC_EMBSTR && OBJ_ENC_INT < OBJ_ENC_EMBSTR && OBJ_ENC_HASHTABLE > OBJ_ENC_EMBSTR,
              "one comparison tells the three");
static inline bool encodingHasPlace(unsigned encoding) {
    return encoding < OBJ_ENC_EMBSTR || (STRUCTURES_SHOWN && encoding > OBJ_ENC_EMBSTR);
}

static inline char *entryExpirePlace(const robj *o) {
    return (char *)(uintptr_t)o + sizeof(robj);
}

static inline char *entryPlace(const robj *o) {
    return (char *)(uintptr_t)o + sizeof(robj) + (o->has_expire_slot ? sizeof(int64_t) : 0);
}

static inline size_t entryHeaderSize(unsigned encoding, bool expire_slot, bool long_key) {
    return sizeof(robj) + (expire_slot ? sizeof(int64_t) : 0) + (encodingHasPlace(encoding) ? sizeof(void *) : 0) +
           (long_key ? sizeof(size_t) : 0);
}

/* First byte of the key; *len its length. */
static inline char *entryKey(const robj *o, size_t *len) {
    bool long_key = o->key_len == OBJ_KEY_LONG;
    char *key = (char *)(uintptr_t)o + entryHeaderSize(o->encoding, o->has_expire_slot, long_key);
    if (likely(!long_key)) *len = o->key_len;
    else memcpy(len, key - sizeof(size_t), sizeof(size_t));
    return key;
}

static inline char *entryEmbedded(const robj *o) {
    size_t key_len;
    char *key = entryKey(o, &key_len);
    return key + key_len;
}

#define STRUCTURE_BITS 48
#define STRUCTURE_MASK ((1ull << STRUCTURE_BITS) - 1)

/* Other types. An address of user space has at most 47 bits; the key's length is what lies above. */
static inline void *entryStructure(const robj *o) {
    uint64_t word;
    debugAssert(o->type != OBJ_STRING);
    memcpy(&word, (const char *)o + 8, sizeof(word));
    return (void *)(uintptr_t)(word & STRUCTURE_MASK);
}

static inline void entrySetStructure(robj *o, const void *structure) {
    uint64_t word;
    memcpy(&word, (char *)o + 8, sizeof(word));
    word = (word & ~STRUCTURE_MASK) | (uintptr_t)structure;
    memcpy((char *)o + 8, &word, sizeof(word));
    if (STRUCTURES_SHOWN) memcpy(entryPlace(o), &structure, sizeof(structure));
}

/* RAW's block. */
static inline void *entryPointer(const robj *o) {
    void *p;
    debugAssert(o->type == OBJ_STRING && encodingHasPlace(o->encoding));
    memcpy(&p, entryPlace(o), sizeof(p));
    return p;
}

static inline void entrySetPointer(robj *o, void *p) {
    memcpy(entryPlace(o), &p, sizeof(p));
}

/* For objectTypeOps.defrag: offer a table's entries to `fn`, which has *ref exchanged for what has moved, from
 * cursor->at on, some `budget` of them. True: that were all, and cursor->at is 0. */
bool objectDefragTable(struct dict *d, defragCursor *cursor, size_t budget, void (*fn)(void *arg, void **ref),
                       void *arg, blockMover *move);

/* What was registered for the type; NULL: nothing. */
const objectTypeOps *objectOps(objectTypeId type);

/* Bytes that were asked for when the entry was made. */
size_t entrySize(const robj *o);
/* A new entry, refcount 1, LRU 0, key copied, expire -1 where there is a slot; value and its length are for the
 * caller to fill in. `embedded` bytes are reserved behind the key. RAW has the expire slot. `owner` is that of a
 * string. */
robj *entryCreate(slice key, objectTypeId type, int encoding, bool expire_slot, size_t embedded, unsigned owner);
/* Free the entry only; its value has been taken or freed. */
void entryFree(robj *o);
/* Give the new entry the old one's LRU bits, and its expire where both have a slot. */
void entryInherit(robj *to, const robj *from);
/* Copy of a string entry under `key` with `expire_slot` where it is EMBSTR or INT; embedded or not is decided anew for
 * an EMBSTR, RAW stays RAW. Inherits LRU and expire. */
robj *stringCopy(const robj *o, slice key, bool expire_slot);

#endif

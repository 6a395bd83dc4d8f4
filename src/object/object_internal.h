/* object_internal.h -- the offsets of an entry's parts, and the registered types, for this folder only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_OBJECT_INTERNAL_H
#define OBJECT_OBJECT_INTERNAL_H

#include "object.h"
#include "panic.h"

/* LeakSanitizer searches for addresses in whole words: for it, the address of a structure is stored in a word of its
 * own as well. */
#if defined(__SANITIZE_ADDRESS__)
#define STRUCTURES_SHOWN true
#elif defined(__has_feature)
#define STRUCTURES_SHOWN __has_feature(address_sanitizer)
#else
#define STRUCTURES_SHOWN false
#endif

/* RAW has a block's address, INT its number, between expire and key; a structure's address is in word 1. */
static_assert(OBJ_ENC_RAW < OBJ_ENC_EMBSTR && OBJ_ENC_INT < OBJ_ENC_EMBSTR && OBJ_ENC_HASHTABLE > OBJ_ENC_EMBSTR,
              "one comparison tells the three");
static inline bool encodingHasValueSlot(unsigned encoding) {
    return encoding < OBJ_ENC_EMBSTR || (STRUCTURES_SHOWN && encoding > OBJ_ENC_EMBSTR);
}

static inline char *entryExpireSlot(const robj *o) { return (char *)(uintptr_t)o + sizeof(robj); }

/* Returns the word with RAW's address or INT's number. */
static inline char *entryValueSlot(const robj *o) {
    return (char *)(uintptr_t)o + sizeof(robj) + (o->has_expire_slot ? sizeof(int64_t) : 0);
}

static inline size_t entryHeaderSize(unsigned encoding, bool expire_slot, bool long_key) {
    return sizeof(robj) + (expire_slot ? sizeof(int64_t) : 0) + (encodingHasValueSlot(encoding) ? sizeof(void *) : 0) +
           (long_key ? sizeof(size_t) : 0);
}

/* Returns the first byte of the key; *len is its length. */
static inline char *entryKey(const robj *o, size_t *len) {
    bool long_key = o->key_len == OBJ_KEY_LONG;
    char *key = (char *)(uintptr_t)o + entryHeaderSize(o->encoding, o->has_expire_slot, long_key);
    if (likely(!long_key)) *len = o->key_len;
    else memcpy(len, key - sizeof(size_t), sizeof(size_t));
    return key;
}

/* Returns the bytes of an EMBSTR. */
static inline char *entryEmbedded(const robj *o) {
    size_t key_len;
    char *key = entryKey(o, &key_len);
    return key + key_len;
}

#define STRUCTURE_BITS 48
#define STRUCTURE_MASK ((1ull << STRUCTURE_BITS) - 1)

/* For types other than strings. An address of user space has at most 47 bits; the key's length is stored above. */
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
    if (STRUCTURES_SHOWN) memcpy(entryValueSlot(o), &structure, sizeof(structure));
}

/* Returns RAW's block. */
static inline void *entryPointer(const robj *o) {
    void *p;
    debugAssert(o->type == OBJ_STRING && encodingHasValueSlot(o->encoding));
    memcpy(&p, entryValueSlot(o), sizeof(p));
    return p;
}

static inline void entrySetPointer(robj *o, void *p) { memcpy(entryValueSlot(o), &p, sizeof(p)); }

/* For objectTypeOps.defrag: offers the entries of a dict to `fn`, which replaces *ref if the entry has moved, from
 * cursor->at on, about `budget` of them. Returns true if these were the last ones; cursor->at is then 0. */
bool objectDefragTable(struct dict *d, defragCursor *cursor, size_t budget, void (*fn)(void *arg, void **ref),
                       void *arg, blockMover *move);

/* Returns the last byte of a part of an entry if it is in another line than `start`, so that it is worth a prefetch of
 * its own; NULL otherwise. */
static inline const void *lastByteBeyond(const void *start, slice part) {
    const char *last = part.ptr + (part.len ? part.len - 1 : 0);
    return (uintptr_t)start / CACHE_LINE == (uintptr_t)last / CACHE_LINE ? NULL : last;
}

/* For objectTypeOps.memUsage: returns the bytes of a dict and its entries, estimated from at most `samples` of these
 * (0: all). */
size_t objectDictMemUsage(const struct dict *d, size_t samples, size_t (*bytes_of)(const void *entry));

/* Returns the operations registered for the type; NULL: none. */
const objectTypeOps *objectOps(objectTypeId type);

/* Returns the bytes requested when the entry was allocated. */
size_t entrySize(const robj *o);
/* Returns a new entry with refcount 1, LRU 0, a copy of the key, and expire -1 if it has the slot, which RAW always
 * has. The caller sets value and length; `embedded` bytes for the value are reserved after the key. `owner` is, for a
 * string, the number of the thread that creates it. */
robj *entryCreate(slice key, objectTypeId type, int encoding, bool expire_slot, size_t embedded, unsigned owner);
/* Frees the entry only; its value has been taken or freed. */
void entryFree(robj *o);
/* Copies the LRU bits of the old entry to the new one, and the expire if both have a slot. */
void entryInherit(robj *to, const robj *from);
/* Returns a copy of a string entry under `key`; `expire_slot` applies to EMBSTR and INT. An EMBSTR may become RAW or
 * stay embedded, RAW stays RAW. LRU bits and expire are copied. */
robj *stringCopy(const robj *o, slice key, bool expire_slot);

#endif

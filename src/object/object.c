/* object.c -- robj: the entry that holds a key, its expire, and the value or its address.
 *
 * One allocation for key and header is one cache miss for a lookup that must compare the key, and no second header.
 * Optional parts have no stored offsets: two flags and the encoding determine where everything is.
 *
 * Not here    how strings choose and change their encoding (value_string.c); the meaning of LRU bits (store/lru.c);
 *             which thread frees an object after its last reference (store/lazyfree.c).
 * Owns        the table of type operations, filled at boot.
 * Threads     main changes objects and counts; a thread may create an object and use it until it hands it over;
 *             objectFree() runs on any thread for an object that no other thread knows.
 * Invariants  1. Every RAW entry has an expire slot, so that setting an expire does not move bytes that replies refer
 *                to.
 *             2. RAW, and types with a structure, have a non-NULL pointer.
 *             3. With refcount > 1 the bytes of the value do not change; expire and LRU may.
 * Tests       tests/unit/object/object_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "object_internal.h"

#include "dict.h"
#include "intset.h"
#include "listpack.h"
#include "long_loop.h"
#include "panic.h"
#include "zmalloc.h"

unsigned object_main_owner;
int64_t object_expire_cutoff_ms;

#define DEFRAG_ENTRIES_PER_BUCKET 5

static const objectTypeOps *type_ops[OBJ_TYPES];     /* borrowed: const after boot */
static void (*drop_element)(robj *o) = decrRefCount; /* const after boot */

/* ---- Types ---- */

void objectRegisterType(objectTypeId type, const objectTypeOps *ops) {
    serverAssert(type < OBJ_TYPES);
    type_ops[type] = ops;
}

const char *objectTypeName(const robj *o) {
    static const char *const names[OBJ_TYPES] = {"string", "list", "set", "zset", "hash", "module", "stream"};
    return names[o->type];
}

const char *objectEncodingName(const robj *o) {
    static const char *const names[] = {"raw",    "int",      "embstr",    "hashtable", "listpack",
                                        "intset", "skiplist", "quicklist", "stream"};
    return o->encoding < array_len(names) ? names[o->encoding] : "unknown";
}

/* Returns whether the structure is a single block. */
static bool isBlock(const robj *o) { return o->encoding == OBJ_ENC_LISTPACK || o->encoding == OBJ_ENC_INTSET; }

/* ---- The entry ---- */

size_t entrySize(const robj *o) {
    size_t key_len;
    char *key = entryKey(o, &key_len);
    return (size_t)(key - (char *)(uintptr_t)o) + key_len + (o->encoding == OBJ_ENC_EMBSTR ? o->value_len : 0);
}

robj *entryCreate(slice key, objectTypeId type, int encoding, bool expire_slot, size_t embedded, unsigned owner) {
    bool long_key = key.len >= OBJ_KEY_LONG;
    size_t header = entryHeaderSize((unsigned)encoding, expire_slot, long_key);
    robj *o = zmalloc(header + key.len + embedded);
    *o = (robj){.type = type,
                .encoding = (uint32_t)encoding & 0xf,
                .refcount = 1,
                .owner = owner & 0xff,
                .has_expire_slot = expire_slot,
                .has_key = key.ptr != NULL,
                .value_len = embedded & OBJ_STRING_MAX,
                .key_len = long_key ? OBJ_KEY_LONG : key.len & 0xffff};
    if (expire_slot) memcpy(entryExpireSlot(o), &(int64_t){-1}, sizeof(int64_t));
    char *at = (char *)o + header;
    if (long_key) memcpy(at - sizeof(size_t), &key.len, sizeof(size_t));
    if (key.len) memcpy(at, key.ptr, key.len);
    return o;
}

void entryFree(robj *o) { zfreeSized(o, entrySize(o)); }

void entryInherit(robj *to, const robj *from) {
    to->lru = from->lru;
    if (to->has_expire_slot && from->has_expire_slot)
        memcpy(entryExpireSlot(to), entryExpireSlot(from), sizeof(int64_t));
}

/* ---- Creating ---- */

robj *objectCreateTake(slice key, objectTypeId type, int encoding, void *structure) {
    serverAssert(type != OBJ_STRING && structure);
    robj *o = entryCreate(key, type, encoding, false, 0, 0);
    entrySetStructure(o, structure);
    return o;
}

/* Returns an entry for another structure, or the same one, with the expire and LRU bits of `o`. */
static robj *structureEntry(const robj *o, slice key, int encoding, bool expire_slot, void *structure) {
    robj *entry = entryCreate(key, o->type, encoding, expire_slot, 0, 0);
    entrySetStructure(entry, structure);
    entryInherit(entry, o);
    return entry;
}

robj *objectDup(const robj *o, slice new_key) {
    if (o->type == OBJ_STRING) return stringCopy(o, new_key, o->has_expire_slot);
    void *from = entryStructure(o), *copy;
    if (o->encoding == OBJ_ENC_LISTPACK) copy = listpackDup(from);
    else if (o->encoding == OBJ_ENC_INTSET) copy = intsetDup(from);
    else copy = type_ops[o->type]->dup(from);
    serverAssert(copy); /* the copying command has reserved memory */
    return structureEntry(o, new_key, o->encoding, o->has_expire_slot, copy);
}

/* The block or structure moves to an entry of the new key. An embedded value is copied anyway, and a shared one must
 * not move. */
robj *objectRenameTake(robj *o, slice new_key) {
    robj *renamed;
    if (o->refcount > 1 || o->encoding == OBJ_ENC_EMBSTR) {
        renamed = objectDup(o, new_key);
        decrRefCount(o);
        return renamed;
    }
    if (o->type != OBJ_STRING) {
        renamed = structureEntry(o, new_key, o->encoding, o->has_expire_slot, entryStructure(o));
    } else {
        renamed = entryCreate(new_key, o->type, o->encoding, o->has_expire_slot, 0, o->owner);
        renamed->value_len = o->value_len;
        renamed->block_exact = o->block_exact;
        memcpy(entryValueSlot(renamed), entryValueSlot(o), sizeof(void *));
        entryInherit(renamed, o);
    }
    entryFree(o);
    return renamed;
}

/* ---- Reading ---- */

slice objectKey(const robj *o) {
    size_t len;
    const char *key = entryKey(o, &len);
    return sliceOf(key, len);
}

void *objectStructure(const robj *o) { return entryStructure(o); }

void objectSetStructure(robj *o, int encoding, void *structure) {
    debugAssert(o->type != OBJ_STRING && structure);
    o->encoding = (uint32_t)encoding & 0xf;
    entrySetStructure(o, structure);
}

const struct dict *objectElements(const robj *o) {
    const objectTypeOps *ops = type_ops[o->type];
    return ops && ops->elements && !isBlock(o) ? ops->elements(entryStructure(o)) : NULL;
}

bool objectHasTtls(const robj *o) {
    const objectTypeOps *ops = type_ops[o->type];
    return ops && ops->hasTtls && !isBlock(o) && ops->hasTtls(entryStructure(o));
}

int64_t objectTtlBound(const robj *o, int64_t **noted) { return type_ops[o->type]->ttlBound(entryStructure(o), noted); }

size_t objectExpireElements(robj *o, int64_t before_ms, size_t max, bool *empty, elementExpiredFn *expired, void *arg) {
    if (isBlock(o)) return 0;
    return type_ops[o->type]->expireElements(entryStructure(o), before_ms, max, empty, expired, arg);
}

const objectTypeOps *objectOps(objectTypeId type) { return type_ops[type]; }

size_t objectMemUsage(const robj *o, size_t samples) {
    size_t bytes = zmallocSize(o);
    if (o->type == OBJ_STRING) return bytes + (o->encoding == OBJ_ENC_RAW ? zmallocSize(entryPointer(o)) : 0);
    if (isBlock(o)) return bytes + zmallocSize(entryStructure(o));
    const objectTypeOps *ops = type_ops[o->type];
    return bytes + (ops && ops->memUsage ? ops->memUsage(entryStructure(o), samples) : 0);
}

size_t objectDictMemUsage(const dict *d, size_t samples, size_t (*bytes_of)(const void *entry)) {
    size_t bytes = 0, seen = 0;
    dictIterator it;
    const void *entry;
    dictIterBegin(&it, (dict *)(uintptr_t)d, false);
    for (; (samples == 0 || seen < samples) && (entry = dictIterNext(&it)); seen++) {
        bytes += bytes_of(entry);
        longLoopStep();
    }
    dictIterEnd(&it);
    if (seen) bytes = (size_t)((double)bytes / (double)seen * (double)dictSize(d));
    return dictMemUsage(d) + bytes;
}

/* ---- Defragmentation ---- */

bool objectDefragTable(dict *d, defragCursor *cursor, size_t budget, void (*fn)(void *arg, void **ref), void *arg,
                       blockMover *move) {
    size_t buckets = budget / DEFRAG_ENTRIES_PER_BUCKET + 1;
    do cursor->at = dictScanDefrag(d, cursor->at, fn, arg, move);
    while (cursor->at && --buckets);
    return cursor->at == 0;
}

bool objectDefragValue(robj *o, defragCursor *cursor, size_t budget, blockMover *move) {
    debugAssert(objectMayMove(o));
    if (o->type == OBJ_STRING) {
        void *block = o->encoding == OBJ_ENC_RAW ? move(entryPointer(o)) : NULL;
        if (block) entrySetPointer(o, block);
        return true;
    }
    const objectTypeOps *ops = type_ops[o->type];
    void *structure = entryStructure(o);
    bool done = true;
    if (isBlock(o)) {
        void *moved = move(structure);
        if (moved) structure = moved;
    } else if (ops && ops->defrag) {
        done = ops->defrag(&structure, cursor, budget, move);
    }
    entrySetStructure(o, structure);
    return done;
}

/* ---- Expire ---- */

/* Returns an entry with an expire slot and the same value, in place of `o`. */
static robj *addExpireSlot(robj *o) {
    robj *with_slot;
    if (o->type == OBJ_STRING) {
        with_slot = stringCopy(o, objectKey(o), true);
        decrRefCount(o);
    } else {
        debugAssert(o->refcount == 1);
        with_slot = structureEntry(o, objectKey(o), o->encoding, true, entryStructure(o));
        entryFree(o);
    }
    return with_slot;
}

robj *objectSetExpireTake(robj *o, int64_t when_ms) {
    if (!o->has_expire_slot) {
        if (when_ms == -1) return o;
        o = addExpireSlot(o);
    }
    memcpy(entryExpireSlot(o), &when_ms, sizeof(when_ms));
    return o;
}

/* ---- Life ---- */

size_t object_orphan_bytes;

#define ORPHANED (OBJ_REFCOUNT_MAX + 1) /* the bit of `orphaned` in objectRefs() */

void objectDropShared(robj *o) {
    objectRefWord *refs = objectRefs(o);
    if (o->type != OBJ_STRING) { /* replies refer to strings; a command that runs in slices keeps its value as well */
        objectDropBorrowed(o);
        return;
    }
    if (!o->orphaned) object_orphan_bytes += objectMemUsage(o, 1);
    __atomic_store_n(refs, (*refs - 1) | ORPHANED, __ATOMIC_RELEASE);
}

void objectOrphanEnds(robj *o) {
    objectRefWord *refs = objectRefs(o);
    size_t bytes = objectMemUsage(o, 1);
    debugAssert(bytes <= object_orphan_bytes);
    object_orphan_bytes -= bytes < object_orphan_bytes ? bytes : object_orphan_bytes;
    __atomic_store_n(refs, *refs & ~ORPHANED, __ATOMIC_RELEASE);
}

void decrRefCount(robj *o) {
    if (unlikely(objectIsKept(o))) {
        if (o->refcount > 1) {
            objectDropShared(o);
            return;
        }
        objectOrphanEnds(o);
    }
    objectFree(o);
}

void objectSetElementDrop(void (*drop)(robj *o)) { drop_element = drop; }

void objectDropElement(robj *o) { drop_element(o); }

#define REUSE_PREFETCH_BYTES 1024

/* The allocator gives the block that was freed last to the next value of its size, which is soon: prefetches the lines
 * that will be written then. Without this a SET of 512 B takes a fifth longer (docs/design/data_path.md). */
static void prefetchForReuse(const robj *o) {
    char *block = entryPointer(o);
    size_t len = o->value_len < REUSE_PREFETCH_BYTES ? o->value_len : REUSE_PREFETCH_BYTES;
    for (size_t at = 0; at < len; at += CACHE_LINE) prefetchWrite(block + at);
}

void objectFree(robj *o) {
    debugAssert(o->refcount <= 1 && !o->orphaned);
    if (o->type != OBJ_STRING) {
        if (isBlock(o)) zfree(entryStructure(o));
        else type_ops[o->type]->free(entryStructure(o));
    } else if (o->encoding == OBJ_ENC_RAW) {
        prefetchForReuse(o);
        if (o->block_exact) zfreeSized(entryPointer(o), o->value_len ? o->value_len : 1);
        else zfree(entryPointer(o));
    }
    entryFree(o);
}

size_t objectFreeEffort(const robj *o) {
    const objectTypeOps *ops = type_ops[o->type];
    return ops && ops->freeEffort && !isBlock(o) ? ops->freeEffort(entryStructure(o)) : 1;
}

/* ---- As a dict's entry ---- */

slice objectEntryKey(const void *entry) { return objectKey(entry); }

/* A key of more than two lines is left to the processor's own prefetcher. */
const void *objectPrefetchKey(const void *entry) { return lastByteBeyond(entry, objectKey(entry)); }

/* Lines after these need no prefetch: the processor detects the sequence. */
#define VALUE_PREFETCH_BYTES 1024

void objectPrefetchValue(const void *entry) {
    const robj *o = entry;
    if (o->type != OBJ_STRING) {
        const objectTypeOps *ops = type_ops[o->type];
        void *structure = entryStructure(o);
        if (ops && ops->prefetch) ops->prefetch(structure);
        else prefetchRead(structure);
    } else if (o->encoding == OBJ_ENC_EMBSTR) {
        const char *value = entryEmbedded(o);
        const void *last = lastByteBeyond(value, sliceOf(value, o->value_len));
        prefetchRead(value);
        if (last) prefetchRead(last);
    } else if (o->encoding == OBJ_ENC_RAW) {
        const char *value = entryPointer(o);
        const char *end = value + (o->value_len < VALUE_PREFETCH_BYTES ? o->value_len : VALUE_PREFETCH_BYTES);
        for (; end - value >= 4 * CACHE_LINE; value += 4 * CACHE_LINE) {
            prefetchRead(value);
            prefetchRead(value + CACHE_LINE);
            prefetchRead(value + 2 * CACHE_LINE);
            prefetchRead(value + 3 * CACHE_LINE);
        }
        for (; value < end; value += CACHE_LINE) prefetchRead(value);
    }
}

/* hash_field.c -- a field of a hashtable-encoded hash.
 *
 * There may be millions of fields, so the header is two bytes, and a short value is next to its name, which is read
 * first. A new value overwrites the old one if both need an allocation of the same size class: counters
 * and values of equal length are overwritten in place, and the size needed always has the class of the block
 * (zfreeSized).
 *
 * A value that replies refer to is not overwritten: a large one is a string with a reference count, and another large
 * value replaces that string in the field.
 *
 * Not here    tables of fields, the index by time (value_hash.c); freeing a string that replies still refer to
 *             (objectDropElement()).
 * Threads     see hash_field.h.
 * Invariants  1. The allocation's size class is that of fieldBytes(), a block's that of its value's length.
 *             2. A value is a string exactly from HASH_VALUE_OBJECT bytes on: RAW, without a key.
 * Tests       tests/unit/object/value_hash_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash_field.h"

#include "panic.h"
#include "zmalloc.h"

static size_t bytesFor(size_t name_len, size_t value_len, size_t time_bytes) {
    size_t header = 2 + (size_t)(name_len >= HASH_FIELD_LONG ? 8 : 0) + time_bytes;
    return header + name_len + (value_len >= HASH_VALUE_BLOCK ? 16 : value_len);
}

/* Returns its value's length without reading a string object. */
static size_t valueLen(const hashField *f) {
    uint64_t len = f[1];
    if (f[1] & 0x80) memcpy(&len, f - 8, sizeof(len));
    return len;
}

static size_t fieldBytes(const hashField *f) {
    return bytesFor(hashFieldName(f).len, valueLen(f), hashFieldTimeBytes(f));
}

static hashField *allocationOf(const hashField *f) { return (hashField *)(uintptr_t)f - (f[1] & 0x80 ? 16 : 0); }

static bool isShort(int64_t when_ms) { return when_ms == HASH_NO_TIME || (uint64_t)when_ms < HASH_TIME_NONE; }

/* Returns whether the space for a time has the right size. */
static bool timeFits(const hashField *f, int64_t when_ms) {
    size_t bytes = hashFieldTimeBytes(f);
    return bytes == 0 ? when_ms == HASH_NO_TIME : bytes == 6 ? isShort(when_ms) : true;
}

static void putShortTime(hashField *at, uint64_t time) {
    uint32_t low = (uint32_t)time;
    uint16_t high = (uint16_t)(time >> 32);
    memcpy(at, &low, sizeof(low));
    memcpy(at + sizeof(low), &high, sizeof(high));
}

/* Writes the time to the space for it, which has the right size. */
static void setTime(hashField *f, int64_t when_ms) {
    hashField *at = f + 2 + ((f[0] & 0x7f) == HASH_FIELD_LONG ? 8 : 0);
    size_t bytes = hashFieldTimeBytes(f);
    if (bytes == 6) putShortTime(at, when_ms == HASH_NO_TIME ? HASH_TIME_NONE : (uint64_t)when_ms);
    else if (bytes) memcpy(at + 6, &when_ms, sizeof(when_ms));
}

/* Creates a field with header and name; the caller writes the value. */
static hashField *createBare(slice name, size_t value_len, int64_t when_ms) {
    bool has_time = when_ms != HASH_NO_TIME, in_block = value_len >= HASH_VALUE_BLOCK;
    size_t time_bytes = !has_time ? 0 : isShort(when_ms) ? 6 : 14;
    hashField *f = zmalloc(bytesFor(name.len, value_len, time_bytes));
    if (in_block) f += 16;
    hashField *at = f + 2;
    f[0] = (hashField)((name.len < HASH_FIELD_LONG ? name.len : HASH_FIELD_LONG) | (has_time ? 0x80 : 0));
    f[1] = (hashField)(!in_block ? value_len : value_len < HASH_VALUE_OBJECT ? 0x80 : 0x80 | HASH_IN_OBJECT);
    if (unlikely(name.len >= HASH_FIELD_LONG)) {
        uint64_t len = name.len;
        memcpy(at, &len, sizeof(len));
        at += sizeof(len);
    }
    if (has_time) {
        putShortTime(at, time_bytes == 6 ? (uint64_t)when_ms : HASH_TIME_LONG);
        setTime(f, when_ms);
        at += time_bytes;
    }
    if (name.len) memcpy(at, name.ptr, name.len);
    return f;
}

static char *nameBytes(const hashField *f) { return (char *)(uintptr_t)hashFieldName(f).ptr; }

/* Sets a block, or a string object, of that length as the value. */
static void setBlock(hashField *f, void *block, uint64_t len) {
    memcpy(f - 16, &block, sizeof(block));
    memcpy(f - 8, &len, sizeof(len));
}

static robj *createObject(slice value) { return objectCreateRawString(sliceOf(NULL, 0), value, object_main_owner); }

static void putValue(hashField *f, slice value) {
    if (unlikely(value.len >= HASH_VALUE_OBJECT)) {
        setBlock(f, createObject(value), value.len);
    } else if (value.len >= HASH_VALUE_BLOCK) {
        char *block = zmalloc(value.len);
        memcpy(block, value.ptr, value.len);
        setBlock(f, block, value.len);
    } else if (value.len) {
        memcpy(nameBytes(f) + hashFieldName(f).len, value.ptr, value.len);
    }
}

hashField *hashFieldCreate(slice name, slice value, int64_t when_ms) {
    hashField *f = createBare(name, value.len, when_ms);
    putValue(f, value);
    return f;
}

hashField *hashFieldCreateOfObject(slice name, robj *value, int64_t when_ms) {
    size_t len = objectStringLen(value);
    debugAssert(value->encoding == OBJ_ENC_RAW && len >= HASH_VALUE_OBJECT);
    hashField *f = createBare(name, len, when_ms);
    setBlock(f, value, len);
    return f;
}

static void freeBlock(const hashField *f) {
    if (likely(!(f[1] & 0x80))) return;
    robj *object = hashFieldObject(f);
    if (unlikely(object)) {
        objectDropElement(object);
        return;
    }
    slice value = hashFieldValue(f);
    zfreeSized((char *)(uintptr_t)value.ptr, value.len);
}

void hashFieldFree(hashField *f) {
    size_t bytes = fieldBytes(f);
    freeBlock(f);
    zfreeSized(allocationOf(f), bytes);
}

static bool sameClass(size_t a, size_t b) { return a == b || zmallocGoodSize(a) == zmallocGoodSize(b); }

static void exchangeObject(hashField *f, robj *value) {
    robj *old = hashFieldObject(f);
    setBlock(f, value, objectStringLen(value));
    objectDropElement(old);
}

/* Overwrites the value in place. Returns false if the new one does not fit. */
static bool overwrite(hashField *f, slice value) {
    slice old = hashFieldValue(f), name = hashFieldName(f);
    size_t time_bytes = hashFieldTimeBytes(f);
    if ((old.len >= HASH_VALUE_BLOCK) != (value.len >= HASH_VALUE_BLOCK)) return false;
    if ((old.len >= HASH_VALUE_OBJECT) != (value.len >= HASH_VALUE_OBJECT)) return false;
    if (unlikely(value.len >= HASH_VALUE_OBJECT)) {
        exchangeObject(f, createObject(value));
        return true;
    }
    if (value.len < HASH_VALUE_BLOCK) {
        if (!sameClass(bytesFor(name.len, old.len, time_bytes), bytesFor(name.len, value.len, time_bytes)))
            return false;
        f[1] = (hashField)value.len;
        if (value.len) memcpy(nameBytes(f) + name.len, value.ptr, value.len);
        return true;
    }
    char *block = (char *)(uintptr_t)old.ptr;
    if (!sameClass(old.len, value.len)) {
        char *fresh = zmalloc(value.len);
        zfreeSized(block, old.len);
        block = fresh;
    }
    memcpy(block, value.ptr, value.len);
    setBlock(f, block, value.len);
    return true;
}

hashField *hashFieldSetTake(hashField *f, slice value, int64_t when_ms) {
    if (likely(timeFits(f, when_ms)) && likely(overwrite(f, value))) {
        setTime(f, when_ms);
        return f;
    }
    hashField *fresh = hashFieldCreate(hashFieldName(f), value, when_ms);
    hashFieldFree(f);
    return fresh;
}

hashField *hashFieldSetObjectTake(hashField *f, robj *value, int64_t when_ms) {
    if (hashFieldObject(f) && timeFits(f, when_ms)) {
        exchangeObject(f, value);
        setTime(f, when_ms);
        return f;
    }
    hashField *fresh = hashFieldCreateOfObject(hashFieldName(f), value, when_ms);
    hashFieldFree(f);
    return fresh;
}

/* A block or string moves to the new field. */
hashField *hashFieldSetTimeTake(hashField *f, int64_t when_ms) {
    if (timeFits(f, when_ms)) {
        setTime(f, when_ms);
        return f;
    }
    slice name = hashFieldName(f);
    size_t len = valueLen(f);
    hashField *fresh = createBare(name, len, when_ms);
    if (f[1] & 0x80) memcpy(fresh - 16, f - 16, 16);
    else putValue(fresh, hashFieldValue(f));
    zfreeSized(allocationOf(f), bytesFor(name.len, len, hashFieldTimeBytes(f)));
    return fresh;
}

/* A string that replies refer to does not move, nor does its block. */
static void defragObject(hashField *f, robj *o, blockMover *move) {
    defragCursor cursor = {0};
    if (!objectMayMove(o)) return;
    robj *moved = move(o);
    if (moved) setBlock(f, o = moved, valueLen(f));
    serverAssert(objectDefragValue(o, &cursor, 1, move)); /* a string is one block */
}

static void defragValue(hashField *f, blockMover *move) {
    robj *object = hashFieldObject(f);
    if (object) {
        defragObject(f, object, move);
    } else if (f[1] & 0x80) {
        slice value = hashFieldValue(f);
        void *block = move((char *)(uintptr_t)value.ptr);
        if (block) setBlock(f, block, value.len);
    }
}

hashField *hashFieldDefrag(hashField *f, blockMover *move) {
    bool in_block = f[1] & 0x80;
    defragValue(f, move);
    hashField *allocation = move(allocationOf(f));
    return allocation ? allocation + (in_block ? 16 : 0) : f;
}

size_t hashFieldMemUsage(const hashField *f) {
    size_t bytes = zmallocSize(allocationOf(f));
    const robj *object = hashFieldObject(f);
    if (unlikely(object)) return bytes + objectMemUsage(object, 0);
    return bytes + (f[1] & 0x80 ? zmallocSize(hashFieldValue(f).ptr) : 0);
}

void hashFieldCheck(const hashField *f) {
    const robj *object = hashFieldObject(f);
    serverAssert(!!object == (hashFieldValue(f).len >= HASH_VALUE_OBJECT));
    if (!object) return;
    serverAssert(object->type == OBJ_STRING && object->encoding == OBJ_ENC_RAW && !object->has_key);
    serverAssert(object->refcount > 0 && objectStringLen(object) == valueLen(f));
}

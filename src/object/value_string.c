/* value_string.c -- the string type: where its bytes are, and how they are changed.
 *
 * EMBSTR: after the key, in the entry; it cannot grow. RAW: a block of its own without header or NUL; its capacity is
 * reported by the allocator. INT: the number instead of the pointer. A RAW, and an INT with an expire slot, differ in
 * no other part of the entry, so that converting one to the other keeps the entry.
 *
 *            MakeWritable                     SetInteger
 *   EMBSTR ---------------> RAW <---------------------------- (any)
 *   INT    ---------------> RAW            (any) -----------> INT
 *   EMBSTR --SetExpire that no longer fits--> RAW
 *
 * Not here    the commands (commands/string/t_string.c).
 * Threads     as object.c.
 * Invariants  1. A value is INT or EMBSTR exactly if OBJECT ENCODING of the reference server reports that.
 *             2. RAW does not become EMBSTR again, whatever its length.
 *             3. block_exact implies that the block was allocated with value_len bytes (1 when that is 0).
 * Tests       tests/unit/object/value_string_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "object_internal.h"

#include "panic.h"
#include "zmalloc.h"

#define EMBED_BYTES_MAX 128 /* size of an entry in the reference server up to which a value is embedded */
#define INTEGER_DIGITS_MAX 20
#define GROW_STEP (1024 * 1024)

/* Computes the size of the entry in the reference server: object header 8, expire 8, key with a byte for its header's
 * size, header and NUL, value with 3 bytes of header and NUL. Only the comparison matters, as our entries have another
 * layout. */
static bool stringFitsEntry(size_t key_len, size_t value_len, bool expire_slot) {
    if (key_len > EMBED_BYTES_MAX || value_len > EMBED_BYTES_MAX) return false;
    size_t key_header = key_len < 32 ? 1 : 3;
    size_t bytes = 8 + (expire_slot ? 8 : 0) + (1 + key_header + key_len + 1) + (value_len + 4);
    return bytes <= EMBED_BYTES_MAX;
}

static robj *createEmbedded(slice key, slice value, bool with_expire, unsigned owner) {
    robj *o = entryCreate(key, OBJ_STRING, OBJ_ENC_EMBSTR, with_expire, value.len, owner);
    if (value.len) memcpy(entryEmbedded(o), value.ptr, value.len);
    return o;
}

/* Returns the bytes of a RAW or EMBSTR. */
static slice textOf(const robj *o) {
    debugAssert(o->encoding != OBJ_ENC_INT);
    return sliceOf(o->encoding == OBJ_ENC_RAW ? entryPointer(o) : entryEmbedded(o), o->value_len);
}

/* ---- Creating ---- */

robj *objectCreateString(slice key, slice value, bool with_expire, unsigned owner) {
    long long number;
    if (value.len <= INTEGER_DIGITS_MAX && string2ll(value.ptr, value.len, &number))
        return objectCreateInteger(key, number, with_expire, owner);
    return objectCreateTextString(key, value, with_expire, owner);
}

#define TRY_BYTES_MIN (1024 * 1024) /* shorter ones are allocated without a check */

robj *objectTryCreateString(slice key, slice value, bool with_expire, unsigned owner) {
    if (likely(key.len + value.len < TRY_BYTES_MIN)) return objectCreateString(key, value, with_expire, owner);
    size_t before = zmallocReserved();
    if (!zmallocReserve(key.len + value.len)) return NULL;
    robj *o = objectCreateString(key, value, with_expire, owner);
    zmallocUnreserve(before);
    return o;
}

robj *objectCreateTextString(slice key, slice value, bool with_expire, unsigned owner) {
    if (stringFitsEntry(key.len, value.len, with_expire)) return createEmbedded(key, value, with_expire, owner);
    return objectCreateRawString(key, value, owner);
}

robj *objectCreateRawString(slice key, slice value, unsigned owner) {
    char *block = zmalloc(value.len ? value.len : 1); /* never NULL */
    if (value.len) memcpy(block, value.ptr, value.len);
    return objectCreateFromExactTake(key, block, value.len, owner);
}

robj *objectCreateFromBlockTake(slice key, char *block, size_t len, unsigned owner) {
    debugAssert(block && len <= OBJ_STRING_MAX);
    robj *o = entryCreate(key, OBJ_STRING, OBJ_ENC_RAW, true, 0, owner);
    o->value_len = len & OBJ_STRING_MAX;
    entrySetPointer(o, block);
    return o;
}

robj *objectCreateFromExactTake(slice key, char *block, size_t len, unsigned owner) {
    robj *o = objectCreateFromBlockTake(key, block, len, owner);
    o->block_exact = true;
    return o;
}

robj *objectTryCreateFromExactTake(slice key, char *block, size_t len, unsigned owner) {
    if (likely(key.len < TRY_BYTES_MIN)) return objectCreateFromExactTake(key, block, len, owner);
    size_t before = zmallocReserved();
    if (!zmallocReserve(key.len)) return NULL;
    robj *o = objectCreateFromExactTake(key, block, len, owner);
    zmallocUnreserve(before);
    return o;
}

robj *objectCreateInteger(slice key, long long value, bool with_expire, unsigned owner) {
    robj *o = entryCreate(key, OBJ_STRING, OBJ_ENC_INT, with_expire, 0, owner);
    memcpy(entryValueSlot(o), &value, sizeof(value));
    return o;
}

robj *stringCopy(const robj *o, slice key, bool expire_slot) {
    robj *copy;
    if (o->encoding == OBJ_ENC_INT) {
        copy = objectCreateInteger(key, objectInteger(o), expire_slot, object_main_owner);
    } else if (o->encoding == OBJ_ENC_EMBSTR) {
        copy = objectCreateTextString(key, textOf(o), expire_slot, object_main_owner);
    } else {
        copy = objectCreateRawString(key, textOf(o), object_main_owner);
    }
    entryInherit(copy, o);
    return copy;
}

/* ---- Reading ---- */

slice objectString(const robj *o, char *buf) {
    debugAssert(o->type == OBJ_STRING);
    if (o->encoding == OBJ_ENC_INT) return sliceOf(buf, ll2string(buf, objectInteger(o)));
    return textOf(o);
}

size_t objectStringLen(const robj *o) {
    debugAssert(o->type == OBJ_STRING);
    return o->encoding == OBJ_ENC_INT ? sdigits10(objectInteger(o)) : o->value_len;
}

long long objectInteger(const robj *o) {
    debugAssert(o->encoding == OBJ_ENC_INT);
    long long value;
    memcpy(&value, entryValueSlot(o), sizeof(value));
    return value;
}

bool objectGetLongLong(const robj *o, long long *out) {
    debugAssert(o->type == OBJ_STRING);
    if (o->encoding == OBJ_ENC_INT) {
        *out = objectInteger(o);
        return true;
    }
    slice text = textOf(o);
    return string2ll(text.ptr, text.len, out);
}

bool objectGetLongDouble(const robj *o, long double *out) {
    debugAssert(o->type == OBJ_STRING);
    if (o->encoding == OBJ_ENC_INT) {
        *out = (long double)objectInteger(o);
        return true;
    }
    slice text = textOf(o);
    return string2ld(text.ptr, text.len, out);
}

/* ---- Changing ---- */

/* Returns the capacity to request if `needed` bytes are needed: twice that up to 1 MiB, 1 MiB more above. A value that
 * does not grow gets no spare capacity. */
static size_t growTo(size_t needed, size_t len) {
    if (needed <= len) return len ? len : 1;
    return needed < GROW_STEP ? needed * 2 : needed + GROW_STEP;
}

static void growBlock(robj *o, size_t capacity) {
    char *block = entryPointer(o);
    o->block_exact = false;
    if (capacity <= zmallocSize(block)) return;
    entrySetPointer(o, zrealloc(block, growTo(capacity, o->value_len)));
}

size_t objectWritableNeeds(const robj *o, size_t capacity) {
    bool in_place = o->refcount == 1 && o->encoding == OBJ_ENC_RAW;
    if (in_place && capacity <= zmallocSize(entryPointer(o))) return 0;
    return growTo(capacity, objectStringLen(o)) + (in_place ? 0 : entrySize(o));
}

robj *objectMakeWritableTake(robj *o, size_t capacity) {
    debugAssert(o->type == OBJ_STRING);
    bool unshared = o->refcount == 1;
    if (unshared && o->encoding == OBJ_ENC_RAW) {
        growBlock(o, capacity);
        return o;
    }
    char digits[LONG_STR_SIZE];
    slice value = objectString(o, digits);
    char *block = zmalloc(growTo(capacity, value.len));
    if (value.len) memcpy(block, value.ptr, value.len);
    if (unshared && o->encoding == OBJ_ENC_INT && o->has_expire_slot) {
        o->encoding = OBJ_ENC_RAW;
        o->value_len = value.len & OBJ_STRING_MAX;
        entrySetPointer(o, block);
        return o;
    }
    robj *writable = objectCreateFromBlockTake(objectKey(o), block, value.len, object_main_owner);
    entryInherit(writable, o);
    decrRefCount(o);
    return writable;
}

char *objectWritableBytes(robj *o) {
    debugAssert(o->encoding == OBJ_ENC_RAW && o->refcount == 1 && !o->block_exact);
    return entryPointer(o);
}

void objectSetStringLen(robj *o, size_t len) {
    debugAssert(o->encoding == OBJ_ENC_RAW && o->refcount == 1 && len <= zmallocSize(entryPointer(o)));
    o->block_exact = false;
    o->value_len = len & OBJ_STRING_MAX;
}

robj *objectSetIntegerTake(robj *o, long long value) {
    debugAssert(o->type == OBJ_STRING);
    if (o->refcount == 1 && o->encoding != OBJ_ENC_EMBSTR) {
        if (o->encoding == OBJ_ENC_RAW) {
            zfree(entryPointer(o));
            o->encoding = OBJ_ENC_INT;
            o->block_exact = false;
            o->value_len = 0;
        }
        memcpy(entryValueSlot(o), &value, sizeof(value));
        return o;
    }
    robj *number = objectCreateInteger(objectKey(o), value, o->has_expire_slot, object_main_owner);
    entryInherit(number, o);
    decrRefCount(o);
    return number;
}

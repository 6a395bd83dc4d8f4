/* restore_fuzz.c -- feeds payloads of RESTORE without their footer: they are rejected, or give a value on which all
 * functions of its type work.
 *
 * The first byte of the input selects the settings of encodings, and the allocation that fails when it is read for the
 * first time; the rest is RDB's type byte and value. An accepted value is checked, copied, digested, measured, written
 * and read back: each copy must be valid and have the same digest.
 *
 * Corpus      tests/fuzz/corpus/restore, made from tests/type/vectors.txt by make_restore_corpus.py.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "digest.h"
#include "object_internal.h"
#include "panic.h"
#include "rdb_value.h"
#include "usual_objects.h"
#include "zmalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const slice key = {"key", 3};

/* Selects the defaults, no or few compact encodings, or nodes as small or large as possible. */
static void chooseSettings(unsigned choice) {
    object_settings = usual_objects;
    if (choice % 4 == 0) return;
    bool none = choice % 4 == 1;
    long long entries = none ? 0 : choice % 4 == 2 ? 2 : 1 << 30;
    long long value = none ? 0 : choice % 4 == 2 ? 8 : 1 << 30;
    object_settings.hash_max_listpack_entries = object_settings.set_max_listpack_entries = entries;
    object_settings.zset_max_listpack_entries = object_settings.set_max_intset_entries = entries;
    object_settings.hash_max_listpack_value = object_settings.set_max_listpack_value = value;
    object_settings.zset_max_listpack_value = value;
    object_settings.list_max_listpack_size = choice % 4 == 3 ? -5 : 1;
    object_settings.list_compress_depth = choice % 8 >= 4;
    object_settings.stream_node_max_entries = none ? 1 : 0;
}

static void mustBeWhole(const robj *o) {
    const objectTypeOps *ops = o->type == OBJ_STRING ? NULL : objectOps((objectTypeId)o->type);
    if (ops && ops->check) ops->check(objectStructure(o), o->encoding);
    serverAssert(sliceEq(objectKey(o), key));
    objectPrefetchValue(o);
    (void)objectElements(o);
    serverAssert(objectFreeEffort(o) >= 1);
    serverAssert(objectMemUsage(o, 0) >= sizeof(robj) && objectMemUsage(o, 5) >= sizeof(robj));
}

static digest digestOf(const robj *o) {
    digest d = {{0}};
    digestMixValue(&d, o);
    return d;
}

static void mustBeSame(const robj *a, const robj *b) {
    digest da = digestOf(a), db = digestOf(b);
    serverAssert(a->type == b->type && memcmp(da.bytes, db.bytes, sizeof(da.bytes)) == 0);
}

/* Writes the value and reads it again: all bytes are read, and the value is the same. */
static void writeAndRead(const robj *o, bool compress) {
    sds out = rdbValueBytes(o, compress);
    rdbReader r = {out, out + sdsLen(out)};
    robj *again = rdbReadValue(&r, key, false);
    serverAssert(again && r.p == r.end);
    mustBeWhole(again);
    mustBeSame(o, again);
    objectFree(again);
    sdsFree(out);
}

/* Reads the value with one allocation failing: the result is nothing or a valid value. */
static void readWithoutMemory(const char *bytes, size_t size, long which) {
    rdbReader r = {bytes, bytes + size};
    if (which == 0) return;
    zmallocFailAfter(which);
    robj *o = rdbReadValue(&r, key, false);
    zmallocFailAfter(0);
    if (!o) return;
    mustBeWhole(o);
    objectFree(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool ready = false;
    if (!ready) objectTypesRegister();
    ready = true;
    if (size == 0) return 0;
    chooseSettings(data[0]);
    /* Separately allocated, so that an access outside is detected at both ends. */
    char *bytes = zmalloc(size);
    memcpy(bytes, data + 1, size - 1);
    readWithoutMemory(bytes, size - 1, data[0] >> 3 & 15);
    rdbReader r = {bytes, bytes + size - 1};
    robj *o = rdbReadValue(&r, key, data[0] & 0x80);
    zfree(bytes);
    if (!o) return 0;
    mustBeWhole(o);
    robj *copy = objectDup(o, key);
    mustBeWhole(copy);
    mustBeSame(o, copy);
    writeAndRead(o, false);
    writeAndRead(copy, true);
    objectFree(o);
    mustBeWhole(copy);
    objectFree(copy);
    return 0;
}

/* rdb_load_fuzz.c -- feeds any bytes as the snapshot of a server: they are rejected, or give valid keys.
 *
 * The first byte selects a version; the rest follows its magic, without a checksum. It is scanned and decoded as by the
 * loading threads, and every operation of the keyspace must work on the result. Then it is checked as by
 * valkey-check-rdb, which must not accept a file that loading rejects.
 *
 * Corpus      tests/fuzz/corpus/rdb_load, made by make_rdb_corpus.py.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check_rdb_report.h"
#include "lru.h"
#include "object_internal.h"
#include "panic.h"
#include "rdb_decode.h"
#include "rdb_value.h"
#include "usual_objects.h"
#include "zmalloc.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void prepare(void) {
    static bool ready = false;
    if (ready) return;
    ready = true;
    objectTypesRegister();
    object_settings = usual_objects;
}

/* Returns an open file with the bytes after a magic. */
static int makeFile(const uint8_t *data, size_t size) {
    static const char *const magics[] = {"VALKEY080", "REDIS0011", "REDIS0004", "VALKEY200", "REDIS0013"};
    int fd = memfd_create("rdb", MFD_CLOEXEC);
    serverAssert(write(fd, magics[data[0] % array_len(magics)], 9) == 9);
    serverAssert(write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static void lookAt(const rdbDecoded *d) {
    for (size_t i = 0; i < d->count; i++) {
        const loadedKey *k = &d->keys[i];
        const robj *o = k->entry;
        slice key = objectKey(o);
        serverAssert(k->hash == hashBytes(key.ptr, key.len) && o->lru != 0 && o->refcount == 1);
        serverAssert(k->has_expire == (objectExpire(o) != -1) || k->has_expire);
        const objectTypeOps *ops = o->type == OBJ_STRING ? NULL : objectOps((objectTypeId)o->type);
        serverAssert(k->has_ttls == (ops && objectHasTtls(o)));
        if (ops && ops->check) ops->check(objectStructure(o), o->encoding);
    }
}

static void putIntoWords(const rdbFault *f, unsigned version) {
    sdsFree(rdbFaultText(f, version));
    sdsFree(rdbFaultLocation(f, false));
}

/* Returns whether valkey-check-rdb accepts the file. Statistics are slow here. */
static bool isCheckedGood(int fd, bool with_figures) {
    static FILE *nowhere;
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    checkRdbStats *stats = checkRdbStatsCreate();
    checkRdbBiggest biggest = {.capacity = 5};
    const checkRdbPassOptions options = {.lines = nowhere, .stats = with_figures ? stats : NULL, .biggest = &biggest};
    checkRdbFound found;
    lseek(fd, 0, SEEK_SET);
    checkRdbPass(fd, "fuzz", &options, &found);
    checkRdbBiggestSort(&biggest);
    checkRdbPutStats(nowhere, CHECK_RDB_CSV, stats);
    checkRdbPutObject(nowhere, "fuzz", &found, stats, &biggest);
    bool good = found.is_good;
    serverAssert(good == (found.fault == NULL));
    checkRdbFoundFree(&found);
    checkRdbBiggestFree(&biggest);
    checkRdbStatsFree(stats);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    prepare();
    if (size == 0) return 0;
    int fd = makeFile(data, size);
    const rdbScanOptions scan = {.relaxed = true, .checksum = data[0] & 4};
    const rdbDecodeOptions decode = {.drop_before_ms = data[0] & 8 ? 1000000 : INT64_MIN};
    rdbScanner *s = rdbScanCreate(fd, &scan);
    rdbPiece piece = {0};
    rdbDecoded decoded = {0};
    bool more = true, bad = false;
    while (more) {
        more = rdbScanNext(s, &piece);
        rdbDecode(&piece, &decode, 1, &decoded);
        lookAt(&decoded);
        bad |= decoded.fault.kind != RDB_FAULT_NONE && decoded.fault.kind != RDB_FAULT_MODULE;
        putIntoWords(&decoded.fault, rdbScanVersion(s));
        if (piece.count && piece.items[piece.count - 1].kind == RDB_ITEM_END) more = false;
    }
    putIntoWords(rdbScanFault(s), rdbScanVersion(s));
    bad |= rdbScanFault(s)->kind != RDB_FAULT_NONE;
    serverAssert(!isCheckedGood(fd, data[0] & 16) || !bad);
    rdbDecodedFree(&decoded);
    rdbPieceFree(&piece);
    rdbScanFree(s);
    close(fd);
    return 0;
}

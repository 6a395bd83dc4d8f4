/* rdb_test_file.c -- see rdb_test_file.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_test_file.h"

#include "bio.h"
#include "clock.h"
#include "hash.h"
#include "db.h"
#include "endian.h"
#include "lru.h"
#include "panic.h"
#include "persist_settings.h"
#include "rdb_format.h"
#include "unit.h"
#include "usual_objects.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define DATABASES 16

void rdbTestReset(void) {
    static bool made;
    if (!made) {
        clockInit();
        panicSetMainThread();
        bioInit(NULL);
        if (!dbGet(0)) { /* other tests of the layer may have created them */
            objectTypesRegister();
            dbInit(DATABASES);
        }
        made = true;
    }
    object_settings = usual_objects;
    persist_settings.rdbchecksum = true;
    persist_settings.loading_process_events_interval_bytes = 1 << 21;
    storeSetNowMs(clockWallMs());
    lruClockRefresh(storeNowMs());
    dbEmpty(-1, false);
}

/* ---- Files ---- */

sds rdbTestBegin(void) { return sdsNew(RDB_MAGIC "080"); }

/* Ends `w` and appends what it has written. */
static sds catWritten(sds out, rdbWriter *w) {
    sds bytes = rdbWriterTake(w);
    out = sdsCatLen(out, bytes, sdsLen(bytes));
    sdsFree(bytes);
    return out;
}

#define CAT(name, write, type, compress)   \
    static sds name(sds out, type value) { \
        rdbWriter w;                       \
        rdbWriterBegin(&w, compress, 64);  \
        write(&w, value);                  \
        return catWritten(out, &w);        \
    }
CAT(catLength, rdbWriteLength, uint64_t, false)
CAT(catDouble, rdbWriteDouble, double, false)
CAT(catMs, rdbWriteMs, int64_t, false)
CAT(catString, rdbWriteString, slice, false)
CAT(catPacked, rdbWriteString, slice, true)

static sds catByte(sds f, unsigned byte) {
    char c = (char)byte;
    return sdsCatLen(f, &c, 1);
}

sds rdbTestCatDb(sds f, int db, size_t keys, size_t expires) {
    f = catLength(catByte(f, RDB_OP_SELECTDB), (uint64_t)db);
    return catLength(catLength(catByte(f, RDB_OP_RESIZEDB), keys), expires);
}

sds rdbTestCatKey(sds f, slice key, const robj *value, int64_t expire_ms) {
    if (expire_ms != -1) f = catMs(catByte(f, RDB_OP_EXPIRE_MS), expire_ms);
    sds bytes = rdbValueBytes(value, object_settings.compression);
    f = catString(catByte(f, (unsigned char)bytes[0]), key);
    f = sdsCatLen(f, bytes + 1, sdsLen(bytes) - 1);
    sdsFree(bytes);
    return f;
}

sds rdbTestEnd(sds f) {
    char sum[RDB_CHECKSUM_BYTES];
    f = catByte(f, RDB_OP_EOF);
    storeLe64(sum, crc64(0, f, sdsLen(f)));
    return sdsCatLen(f, sum, sizeof(sum));
}

int rdbTestOpen(slice bytes) {
    int fd = memfd_create("rdb", MFD_CLOEXEC);
    for (size_t done = 0; done < bytes.len;) {
        ssize_t n = write(fd, bytes.ptr + done, bytes.len - done);
        serverAssert(n > 0);
        done += (size_t)n;
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

const char *rdbTestPath(slice bytes) {
    static int fd = -1;
    static char path[64];
    if (fd >= 0) close(fd);
    fd = rdbTestOpen(bytes);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}

/* ---- Values ---- */

/* Writes bytes of RDB, which rdbReadValueOf() makes a value of: so a test gets any value that a file may have. */
static sds catText(sds out, uint64_t *random, size_t len) {
    char text[256];
    if (len > sizeof(text)) len = sizeof(text);
    for (size_t i = 0; i < len; i++) text[i] = (char)('a' + unitRandom(random) % 26);
    return catString(out, sliceOf(text, len));
}

static sds catNumber(sds out, size_t n) {
    char digits[LONG_STR_SIZE];
    return catString(out, sliceOf(digits, ll2string(digits, (long long)n)));
}

/* Appends an empty new stream with a group. */
static sds catStream(sds out) {
    for (int i = 0; i < 9; i++) out = catLength(out, 0);
    out = catLength(out, 1);
    out = catString(out, sliceStr("group"));
    for (int i = 0; i < 5; i++) out = catLength(out, 0);
    return out;
}

robj *rdbTestValue(uint64_t *random, slice key, size_t size) {
    static const unsigned types[] = {RDB_TYPE_STRING, RDB_TYPE_LIST,   RDB_TYPE_SET,     RDB_TYPE_HASH,
                                     RDB_TYPE_ZSET_2, RDB_TYPE_HASH_2, RDB_TYPE_STREAM_3};
    unsigned type = types[unitRandom(random) % array_len(types)];
    sds bytes = sdsEmpty();
    size_t n = 1 + unitRandom(random) % (size + 1);
    if (type == RDB_TYPE_STRING) {
        sds text = sdsGrowZero(sdsNew("text"), n);
        bytes = (n % 2 ? catPacked : catString)(bytes, sdsSlice(text));
        sdsFree(text);
    } else if (type == RDB_TYPE_STREAM_3) {
        bytes = catStream(bytes);
    } else {
        bytes = catLength(bytes, n);
    }
    for (size_t i = 0; i < n && type != RDB_TYPE_STRING && type != RDB_TYPE_STREAM_3; i++) {
        bytes = catNumber(bytes, i);
        if (type == RDB_TYPE_HASH || type == RDB_TYPE_HASH_2) bytes = catText(bytes, random, unitRandom(random) % 80);
        if (type == RDB_TYPE_ZSET_2) bytes = catDouble(bytes, (double)(unitRandom(random) % 1000) / 4);
        if (type == RDB_TYPE_HASH_2) bytes = catMs(bytes, i % 2 ? -1 : 4102444800000);
    }
    rdbReader r = {bytes, bytes + sdsLen(bytes)};
    robj *o = rdbReadValueOf(&r, type, key, false);
    serverAssert(o && r.p == r.end);
    sdsFree(bytes);
    return o;
}

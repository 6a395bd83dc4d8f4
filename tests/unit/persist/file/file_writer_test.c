/* file_writer_test.c -- bytes, checksum and early write-out of a file that is written in pieces.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"
#include "failing_calls.h"
#include "file_writer.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define FILE_BYTES (30 * MIB + 12345)

static void fill(uint8_t *bytes, size_t n) {
    uint64_t seed = unitRandomSeed();
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(unitRandom(&seed) >> 7);
}

/* Writes a file in pieces of all sizes. Stores the checksum; errno is the first cause of a failure. */
static bool writeFile(const uint8_t *bytes, size_t n, fileWriterOptions options, uint64_t *crc) {
    fileWriter f;
    uint64_t seed = 1;
    if (!fileWriterBegin(&f, "temporary", options)) return false;
    for (size_t at = 0, piece; at < n; at += piece) {
        piece = unitRandom(&seed) % (unitRandom(&seed) % 9 ? 3000 : MIB);
        if (piece > n - at) piece = n - at;
        rdbWriteBytes(&f.out, sliceOf(bytes + at, piece));
    }
    bool flushed = fileWriterFlush(&f);
    CHECK(flushed == !f.out.failed);
    *crc = f.crc;
    return fileWriterReplace(&f, "file");
}

static bool fileIs(const uint8_t *bytes, size_t n) {
    uint8_t *got = zmalloc(n + 1);
    int fd = open("file", O_RDONLY);
    size_t have = 0;
    for (ssize_t r; fd >= 0 && (r = read(fd, got + have, n + 1 - have)) > 0;) have += (size_t)r;
    if (fd >= 0) close(fd);
    bool same = have == n && memcmp(got, bytes, n) == 0;
    zfree(got);
    return same;
}

TEST(file_writer_writes_and_sums) {
    static const size_t sizes[] = {0, 1, 131071, 131072, 131073, 5 * MIB, FILE_BYTES};
    uint8_t *bytes = zmalloc(FILE_BYTES);
    fill(bytes, FILE_BYTES);
    enterEmptyFolder();
    for (size_t i = 0; i < array_len(sizes); i++) {
        for (int sum = 0; sum < 2; sum++) {
            uint64_t crc;
            CHECK(writeFile(bytes, sizes[i], (fileWriterOptions){.checksum = sum, .incremental_sync = i % 2}, &crc));
            CHECK(fileIs(bytes, sizes[i]));
            CHECK(crc == (sum ? crc64(0, bytes, sizes[i]) : 0));
        }
    }
    CHECK_EQ_INT(filesInFolder(), 1);
    zfree(bytes);
}

TEST(file_writer_gives_the_disk_work_in_time) {
    uint8_t *bytes = zcalloc(1, FILE_BYTES);
    uint64_t crc;
    enterEmptyFolder();
    CHECK(writeFile(bytes, FILE_BYTES, (fileWriterOptions){.incremental_sync = false}, &crc));
    CHECK_EQ_INT(callCount(CALL_SYNC_RANGE), 0);
    callsWork();
    CHECK(writeFile(bytes, FILE_BYTES, (fileWriterOptions){.incremental_sync = true}, &crc));
    CHECK_EQ_INT(callCount(CALL_SYNC_RANGE), 7 + 5); /* seven write-outs begun, all but two of them waited for */
    CHECK_EQ_INT(callCount(CALL_FDATASYNC), 0);
    CHECK_EQ_INT(callCount(CALL_FSYNC), 2);
    callsWork();
    callFails(CALL_SYNC_RANGE, 1, ENOSYS);
    CHECK(writeFile(bytes, FILE_BYTES, (fileWriterOptions){.incremental_sync = true}, &crc));
    CHECK_EQ_INT(callCount(CALL_FDATASYNC), 7 + 5);
    zfree(bytes);
}

TEST(file_writer_fails_as_a_whole) {
    static const struct {
        failingCall call;
        int error;
        const char *step;
    } faults[] = {{CALL_WRITE, ENOSPC, "write"}, {CALL_SYNC_RANGE, EIO, "sync"}, {CALL_FSYNC, EIO, "sync"}};
    uint8_t *bytes = zcalloc(1, FILE_BYTES);
    uint64_t crc;
    enterEmptyFolder();
    CHECK(writeFile(bytes, 5, (fileWriterOptions){0}, &crc));
    for (size_t i = 0; i < array_len(faults); i++) {
        for (long n = 1; n < (faults[i].call == CALL_FSYNC ? 2 : 10); n += 4) {
            callsWork();
            callFails(faults[i].call, n, faults[i].error);
            CHECK(!writeFile(bytes, FILE_BYTES, (fileWriterOptions){.incremental_sync = true}, &crc));
            CHECK_EQ_INT(errno, faults[i].error);
            CHECK_EQ_INT(callCount(faults[i].call), n); /* not retried */
            callsWork();
            CHECK(fileIs(bytes, 5));
            CHECK_EQ_INT(filesInFolder(), 1);
        }
    }
    zfree(bytes);
}

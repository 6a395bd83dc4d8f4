/* rdb_writer_test.c -- a writer's output is what was written to it, however it is divided into pieces.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_value.h"
#include "unit.h"
#include "zmalloc.h"

typedef struct taker {
    sds got;
    size_t pieces, largest, fail_after; /* 0: does not fail */
} taker;

static bool take(void *arg, slice bytes) {
    taker *t = arg;
    CHECK(bytes.len > 0);
    if (t->fail_after && t->pieces + 1 >= t->fail_after) return false;
    t->got = sdsCatSlice(t->got, bytes);
    t->pieces++;
    if (bytes.len > t->largest) t->largest = bytes.len;
    return true;
}

/* Writes a random item to the writer and to the model. */
static void writeOne(uint64_t *seed, rdbWriter *w, sds *model) {
    char bytes[20000];
    size_t len = unitRandom(seed) % 8 ? unitRandom(seed) % 64 : unitRandom(seed) % sizeof(bytes);
    for (size_t i = 0; i < len; i++) bytes[i] = (char)unitRandom(seed);
    uint8_t byte = (uint8_t)unitRandom(seed);
    if (unitRandom(seed) % 4 == 0) {
        rdbWriteByte(w, byte);
        *model = sdsCatLen(*model, &byte, 1);
        return;
    }
    rdbWriteBytes(w, sliceOf(bytes, len));
    *model = sdsCatLen(*model, bytes, len);
}

TEST(rdb_writer_gives_what_it_got) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 60; round++) {
        rdbWriter grows, flushes;
        taker t = {.got = sdsEmpty()};
        sds model = sdsEmpty(), model2 = sdsEmpty();
        rdbWriterBegin(&grows, false, unitRandom(&seed) % 100);
        rdbWriterBeginFlushing(&flushes, false, RDB_WRITER_SIZE_MIN + unitRandom(&seed) % 5000, take, &t);
        for (int i = 0; i < 200; i++) {
            uint64_t same = seed;
            writeOne(&seed, &grows, &model);
            writeOne(&same, &flushes, &model2);
            CHECK_EQ_INT(rdbWriterBytes(&grows), sdsLen(model));
            CHECK_EQ_INT(rdbWriterBytes(&flushes), sdsLen(model));
        }
        CHECK(rdbWriterFlush(&flushes));
        CHECK(rdbWriterFlush(&flushes));
        CHECK(t.pieces > 1);
        rdbWriterEnd(&flushes);
        sds out = rdbWriterTake(&grows);
        CHECK(sliceEq(sdsSlice(out), sdsSlice(model)));
        CHECK(sliceEq(sdsSlice(t.got), sdsSlice(model)));
        sdsFree(out);
        sdsFree(t.got);
        sdsFree(model);
        sdsFree(model2);
    }
}

TEST(rdb_writer_remembers_that_it_failed) {
    for (size_t piece = 1; piece < 6; piece++) {
        rdbWriter w;
        taker t = {.got = sdsEmpty(), .fail_after = piece};
        rdbWriterBeginFlushing(&w, true, RDB_WRITER_SIZE_MIN, take, &t);
        char bytes[10000] = "much";
        for (int i = 0; i < 3000; i++) {
            rdbWriteBytes(&w, sliceOf(bytes, i % 100 ? 17 : sizeof(bytes)));
            rdbWriteString(&w, sliceOf(bytes, i % 700 ? 30 : sizeof(bytes)));
            rdbWriteLength(&w, (uint64_t)i << 20);
        }
        CHECK(w.failed && !rdbWriterFlush(&w));
        CHECK_EQ_INT(t.pieces, piece - 1);
        rdbWriterEnd(&w);
        sdsFree(t.got);
    }
}

/* Strings of all sizes around that of the buffer give the same bytes as a writer that grows. */
TEST(rdb_writer_flushes_strings_of_any_size) {
    static const size_t sizes[] = {0, 1, 20, 21, 1024, 1025, 4084, 4085, 4086, 4096, 4097, 70000, 3000000};
    char *text = zmalloc(sizes[array_len(sizes) - 1]);
    uint64_t seed = unitRandomSeed();
    for (unsigned letters = 1; letters <= 256; letters *= 16) {
        for (size_t i = 0; i < sizes[array_len(sizes) - 1]; i++) text[i] = (char)(unitRandom(&seed) % letters);
        for (int compress = 0; compress < 2; compress++) {
            rdbWriter w, grows;
            taker t = {.got = sdsEmpty()};
            rdbWriterBegin(&grows, compress, 0);
            rdbWriterBeginFlushing(&w, compress, RDB_WRITER_SIZE_MIN, take, &t);
            for (size_t i = 0; i < array_len(sizes); i++) {
                rdbWriteString(&w, sliceOf(text, sizes[i]));
                rdbWriteString(&grows, sliceOf(text, sizes[i]));
            }
            CHECK(rdbWriterFlush(&w));
            CHECK(letters == 1 || compress || t.largest > 2900000); /* passed on without a copy */
            sds out = rdbWriterTake(&grows);
            CHECK(sliceEq(sdsSlice(out), sdsSlice(t.got)));
            rdbReader r = {t.got, t.got + sdsLen(t.got)};
            for (size_t i = 0; i < array_len(sizes); i++) {
                rdbText read;
                if (!CHECK(rdbReadText(&r, &read))) break;
                CHECK(sliceEq(read.text, sliceOf(text, sizes[i])));
                rdbTextFree(&read);
            }
            sdsFree(out);
            sdsFree(t.got);
            rdbWriterEnd(&w);
        }
    }
    zfree(text);
}

/* Without memory for compressing it, a large string is written uncompressed. */
TEST(rdb_writer_compresses_only_with_memory) {
    size_t size = 3000000;
    char *text = zcalloc(1, size);
    for (int fail = 0; fail < 2; fail++) {
        rdbWriter w;
        taker t = {.got = sdsEmpty()};
        rdbWriterBeginFlushing(&w, true, RDB_WRITER_SIZE_MIN, take, &t);
        if (fail) zmallocFailAfter(1);
        rdbWriteString(&w, sliceOf(text, size));
        zmallocFailAfter(0);
        CHECK(rdbWriterFlush(&w));
        CHECK(fail ? sdsLen(t.got) > size : sdsLen(t.got) < size / 10);
        rdbWriterEnd(&w);
        sdsFree(t.got);
    }
    zfree(text);
}

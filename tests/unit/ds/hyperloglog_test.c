/* hyperloglog_test.c -- compares registers in both encodings with an array; the bytes of known sets, and invalid bytes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hyperloglog.h"
#include "unit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = HLL_HEADER_BYTES + 2 * HLL_REGISTERS + HLL_GROWTH };

typedef struct sketch {
    char bytes[ROOM];
    size_t len;
} sketch;

static slice bytesOf(const sketch *s) { return sliceOf(s->bytes, s->len); }

static sketch *newSketch(void) {
    sketch *s = malloc(sizeof(*s));
    hllWriteEmpty(s->bytes);
    s->len = HLL_EMPTY_BYTES;
    return s;
}

static void makeDense(sketch *s) {
    uint8_t registers[HLL_REGISTERS];
    memset(registers, 0x2a, sizeof(registers)); /* the earlier contents do not matter */
    CHECK(hllUnpack(registers, bytesOf(s)));
    hllWriteDense(s->bytes, registers);
    s->len = HLL_DENSE_BYTES;
}

static bool raise(sketch *s, hllElement e, size_t sparse_max, hllPosition *position) {
    hllVerdict answer = hllProbe(bytesOf(s), e, sparse_max, position);
    CHECK(answer != HLL_CORRUPT);
    if (answer == HLL_PRESENT) return false;
    if (answer == HLL_RAISES_DENSE) makeDense(s);
    s->len = hllRaise(s->bytes, s->len, e, position);
    return true;
}

static bool add(sketch *s, const char *text) {
    hllPosition position = {0};
    return raise(s, hllElementOf(sliceStr(text)), 3000, &position);
}

/* The bytes that other servers make from the same elements. */
TEST(hll_bytes_are_the_published_ones) {
    sketch *s = newSketch();
    CHECK_MEM(s->bytes, "HYLL\1\0\0\0\0\0\0\0\0\0\0\x80\x7f\xff", 18);
    CHECK(add(s, "a") && add(s, "b") && add(s, "c") && !add(s, "a"));
    CHECK_EQ_INT(s->len, 27);
    CHECK_MEM(s->bytes + 16, "\x60\xf3\x80\x50\xb1\x84\x4b\xfb\x80\x42\x5a", 11);
    CHECK(add(s, "d"));
    CHECK_MEM(s->bytes + 16, "\x5c\x7b\x80\x44\x76\x80\x50\xb1\x84\x4b\xfb\x80\x42\x5a", 14);
    free(s);
    s = newSketch();
    CHECK(add(s, ""));
    CHECK_MEM(s->bytes + 16, "\x57\x31\x84\x68\xcc", 5);
    free(s);
}

TEST(hll_stored_count) {
    sketch *s = newSketch();
    uint64_t count;
    CHECK(!hllStoredCount(bytesOf(s), &count));
    memcpy(s->bytes + 8, "\x05\1\0\0\0\0\0\0", 8);
    CHECK(hllStoredCount(bytesOf(s), &count));
    CHECK_EQ_INT(count, 261);
    hllForgetCount(s->bytes);
    CHECK(!hllStoredCount(bytesOf(s), &count));
    hllStoreCount(s->bytes, 517);
    CHECK(hllStoredCount(bytesOf(s), &count));
    CHECK_EQ_INT(count, 517);
    CHECK_MEM(s->bytes + 8, "\x05\2\0\0\0\0\0\0", 8);
    free(s);
}

/* Registers raised at random, to values that join runs, compared with an array; the runs of the sparse encoding stay
 * valid. */
TEST(hll_against_an_array) {
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 60; round++) {
        uint8_t model[HLL_REGISTERS] = {0}, got[HLL_REGISTERS];
        size_t sparse_max = round % 3 ? 20 + unitRandom(&rng) % 4000 : ROOM;
        unsigned spread = round % 2 ? HLL_REGISTERS : 200, ranks = round % 5 ? 4 : 33;
        sketch *s = newSketch();
        for (int i = 0; i < 1500; i++) {
            hllPosition position = {0};
            hllElement e = {(unsigned)(unitRandom(&rng) % spread), 1 + (unsigned)(unitRandom(&rng) % ranks)};
            CHECK(raise(s, e, sparse_max, &position) == (model[e.index] < e.rank));
            if (model[e.index] < e.rank) model[e.index] = (uint8_t)e.rank;
            if (i % 100 != 99) continue;
            memset(got, 0, sizeof(got));
            CHECK(hllHasHeader(bytesOf(s)) && hllIsSound(bytesOf(s)) && hllMerge(got, bytesOf(s)));
            CHECK_MEM(got, model, HLL_REGISTERS);
            uint64_t count;
            CHECK(hllEstimate(bytesOf(s), &count));
            CHECK_EQ_INT(count, hllEstimateRegisters(model));
        }
        free(s);
    }
}

/* A search that continues where the last one ended gives the same bytes as searches from the start. */
TEST(hll_ascending_elements_make_the_same_bytes) {
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 60; round++) {
        sketch *a = newSketch(), *b = newSketch();
        hllPosition going_on = {0};
        for (int i = 0; i < 300; i++) {
            hllPosition position = {0};
            hllElement e = {(unsigned)(unitRandom(&rng) % 600), 1 + (unsigned)(unitRandom(&rng) % 3)};
            raise(a, e, ROOM, &position);
        }
        memcpy(b, a, sizeof(*a));
        for (unsigned index = 0; index < 700; index++) {
            hllPosition position = {0};
            hllElement e = {index, 1 + (unsigned)(unitRandom(&rng) % 3)};
            if (unitRandom(&rng) % 2) continue;
            raise(a, e, ROOM, &position);
            raise(b, e, ROOM, &going_on);
        }
        CHECK_EQ_INT(b->len, a->len);
        CHECK_MEM(b->bytes, a->bytes, a->len);
        free(a);
        free(b);
    }
}

TEST(hll_estimates_are_near) {
    uint64_t rng = unitRandomSeed(), next = 1;
    sketch *s = newSketch();
    for (uint64_t i = 1; i <= 300000; i++) {
        char text[8];
        uint64_t element = unitRandom(&rng), count;
        memcpy(text, &element, 8);
        hllPosition position = {0};
        raise(s, hllElementOf(sliceOf(text, 8)), 3000, &position);
        if (i != next) continue;
        next = next * 3 + 1;
        CHECK(hllEstimate(bytesOf(s), &count));
        CHECK(fabs((double)count - (double)i) <= ceil(6 * 0.0081 * (double)i));
    }
    free(s);
}

TEST(hll_every_register_value_survives_packing) {
    uint64_t rng = unitRandomSeed();
    uint8_t registers[HLL_REGISTERS], got[HLL_REGISTERS], other[HLL_REGISTERS];
    char *dense = calloc(1, HLL_DENSE_BYTES);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < HLL_REGISTERS; i++) registers[i] = unitRandom(&rng) & 63;
        hllWriteDense(dense, registers);
        memset(got, 0, sizeof(got));
        CHECK(hllMerge(got, sliceOf(dense, HLL_DENSE_BYTES)));
        CHECK_MEM(got, registers, HLL_REGISTERS);
        memset(got, 0x55, sizeof(got));
        CHECK(hllUnpack(got, sliceOf(dense, HLL_DENSE_BYTES)));
        CHECK_MEM(got, registers, HLL_REGISTERS);
        /* After a merge, each register is the larger of both. */
        for (int i = 0; i < HLL_REGISTERS; i++) got[i] = other[i] = unitRandom(&rng) & 63;
        CHECK(hllMerge(got, sliceOf(dense, HLL_DENSE_BYTES)));
        for (int i = 0; i < HLL_REGISTERS; i++) other[i] = other[i] > registers[i] ? other[i] : registers[i];
        CHECK_MEM(got, other, HLL_REGISTERS);
        hllEstimateRegisters(registers);
    }
    free(dense);
}

TEST(hll_what_is_none) {
    uint64_t rng = unitRandomSeed(), count;
    uint8_t registers[HLL_REGISTERS];
    CHECK(!hllHasHeader(sliceOf("", 0)) && !hllHasHeader(sliceStr("HYLL\1")));
    for (int round = 0; round < 20000; round++) {
        size_t len = 16 + unitRandom(&rng) % 40;
        char *p = malloc(len);
        for (size_t i = 0; i < len; i++) p[i] = (char)unitRandom(&rng);
        memcpy(p, "HYLL\1\0\0\0\0\0\0\0\0\0\0\x80", 16);
        slice hll = sliceOf(p, len);
        hllElement e = {(unsigned)(unitRandom(&rng) % HLL_REGISTERS), 1 + (unsigned)(unitRandom(&rng) % 51)};
        hllPosition position = {0};
        CHECK(hllHasHeader(hll));
        bool sound = hllIsSound(hll);
        CHECK(hllEstimate(hll, &count) == sound);
        memset(registers, 0, sizeof(registers));
        CHECK(hllMerge(registers, hll) == sound);
        hllVerdict answer = hllProbe(hll, e, 3000, &position);
        CHECK(!sound || answer != HLL_CORRUPT);
        if (answer == HLL_RAISES) {
            p = realloc(p, len + HLL_GROWTH);
            size_t grown = hllRaise(p, len, e, &position);
            CHECK(grown <= len + HLL_GROWTH && hllIsSound(sliceOf(p, grown)) == sound);
        }
        free(p);
    }
}

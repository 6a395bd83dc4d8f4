/* lzf_encode_test.c -- compressed data decompresses to the original, is not larger than liblzf's, and stays within its
 * buffer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lzf_encode.h"
#include "unit.h"
#include "zmalloc.h"

#include <lzf.h>
#include <stdio.h>
#include <string.h>

/* Compresses into a block of exactly `room` bytes and checks the result. Returns its size, -1 if it does not fit. */
static long packedSize(const uint8_t *text, size_t len, size_t room) {
    uint8_t *packed = zmalloc(room ? room : 1), *in = zmalloc(len ? len : 1), *back = zmalloc(len ? len : 1);
    memcpy(in, text, len);
    size_t n = lzfEncode(in, len, packed, room);
    CHECK(n <= room);
    if (n) {
        CHECK_EQ_INT(lzf_decompress(packed, (unsigned)n, back, (unsigned)len), len);
        CHECK(memcmp(back, text, len) == 0);
    }
    zfree(packed);
    zfree(in);
    zfree(back);
    return n ? (long)n : -1;
}

/* Fills a text with more or less repetition. */
static void fill(uint64_t *seed, uint8_t *text, size_t len, int kind) {
    size_t period = 1 + unitRandom(seed) % (kind == 2 ? 10000 : 300);
    for (size_t i = 0; i < len; i++) {
        uint8_t fresh = (uint8_t)(unitRandom(seed) % (kind == 0 ? 256 : 4));
        text[i] = kind && i >= period && unitRandom(seed) % 50 ? text[i - period] : fresh;
    }
}

TEST(lzf_encode_comes_back) {
    static uint8_t text[30000];
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 2000; round++) {
        size_t len = unitRandom(&seed) % (round % 10 ? 600 : sizeof(text));
        fill(&seed, text, len, round % 3);
        long n = packedSize(text, len, len + len / 32 + 1);
        CHECK(len == 0 ? n == -1 : n > 0);
        if (n <= 0) continue;
        CHECK_EQ_INT(packedSize(text, len, (size_t)n), n);
        CHECK_EQ_INT(packedSize(text, len, (size_t)n - 1), -1);
        for (int i = 0; i < 3; i++) (void)packedSize(text, len, unitRandom(&seed) % (size_t)n);
    }
}

TEST(lzf_encode_of_one_byte_over_and_over) {
    static uint8_t text[2000];
    for (size_t len = 1; len < sizeof(text); len++) {
        long n = packedSize(text, len, len + 1 + len / 32);
        CHECK(n > 0 && (size_t)n <= (len < 5 ? len + 1 : 6 + 3 * (len / 264)));
    }
}

/* Longer than the range of the positions in the table, which wrap around. */
TEST(lzf_encode_goes_on_when_its_numbers_wrap) {
    size_t len = (size_t)64 << 20;
    uint8_t *text = zcalloc(1, len), *packed = zmalloc(len);
    for (size_t i = 0; i < len; i += 4096) text[i] = (uint8_t)(i >> 12);
    for (int round = 0; round < 66; round++) CHECK(lzfEncode(text, len, packed, len) > 0);
    size_t n = lzfEncode(text, len, packed, len);
    uint8_t *back = zmalloc(len);
    CHECK_EQ_INT(lzf_decompress(packed, (unsigned)n, back, (unsigned)len), len);
    CHECK(memcmp(text, back, len) == 0);
    zfree(text);
    zfree(packed);
    zfree(back);
}

/* Makes a text of lines of this format, `size` bytes or slightly more. */
static size_t lines(uint64_t *seed, const char *form, char *text, size_t room, size_t size) {
    size_t len = 0;
    while (len < size) {
        unsigned a = (unsigned)(unitRandom(seed) % 256), b = (unsigned)(unitRandom(seed) % 256);
        len += (size_t)snprintf(text + len, room - len, form, a, b, a, b);
    }
    return len;
}

/* Lines as they occur in values are at most a few percent larger than with liblzf. A hundred texts are compared
 * together, as either encoder may by chance be a tenth better on one text of 300 bytes. */
TEST(lzf_encode_finds_what_liblzf_finds) {
    static const char *const forms[] = {
        "{\"id\":%u,\"name\":\"user-%u\",\"mail\":\"user%u@example.org\",\"active\":true,\"score\":%u}\n",
        "%u.%u.%u.%u GET /index.html HTTP/1.1 200\n", "field:%u value:%u member:%u %u "};
    uint64_t seed = unitRandomSeed();
    for (size_t form = 0; form < array_len(forms); form++) {
        for (size_t size = 300; size <= 30000; size *= 10) {
            char text[30200], packed[30200];
            size_t ours = 0, theirs = 0;
            for (int round = 0; round < 100; round++) {
                size_t len = lines(&seed, forms[form], text, sizeof(text), size);
                theirs += lzf_compress(text, (unsigned)len, packed, sizeof(packed));
                long n = packedSize((const uint8_t *)text, len, sizeof(packed));
                CHECK(n > 0);
                ours += (size_t)n;
            }
            if (!CHECK((double)ours <= 1.1 * (double)theirs))
                printf("    form %zu, %zu bytes: %zu, by liblzf %zu\n", form, size, ours, theirs);
        }
    }
}

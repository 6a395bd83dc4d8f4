/* ziplist_test.c -- ziplists and zipmaps are converted to listpacks of the same elements; malformed ones are rejected.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "endian.h"
#include "listpack.h"
#include "unit.h"
#include "zmalloc.h"

typedef uint8_t *convertFn(const uint8_t *bytes, size_t size);

/* Converts a block of exactly the right size, so that a sanitizer detects each access outside. */
static uint8_t *convert(convertFn *fn, const void *bytes, size_t size) {
    uint8_t *block = zmalloc(size + 1); /* at an odd address */
    memcpy(block + 1, bytes, size);
    uint8_t *lp = fn(block + 1, size);
    zfree(block);
    if (lp) CHECK(listpackValidate(lp, listpackBytes(lp), true, NULL, NULL));
    return lp;
}

static bool isRefused(convertFn *fn, const void *bytes, size_t size) {
    uint8_t *lp = convert(fn, bytes, size);
    listpackFree(lp);
    return !lp;
}

static void checkElements(const uint8_t *lp, const char *const *want, size_t n) {
    if (!CHECK(lp != NULL) || !CHECK_EQ_INT(listpackCount(lp), n)) return;
    const uint8_t *at = listpackFirst(lp);
    for (size_t i = 0; i < n; i++, at = listpackNext(at)) {
        char buf[LONG_STR_SIZE];
        slice text = listpackText(at, buf);
        if (CHECK_EQ_INT(text.len, strlen(want[i]))) CHECK_MEM(text.ptr, want[i], text.len);
    }
}

/* Cut or changed bytes must be rejected or give a valid listpack, which convert() checks. */
static void breakBytes(convertFn *fn, const uint8_t *good, size_t size) {
    for (size_t cut = 0; cut < size; cut++) CHECK(isRefused(fn, good, cut));
    uint8_t *bytes = zmalloc(size);
    for (size_t i = 0; i < size; i++) {
        for (unsigned b = 0; b < 256; b++) {
            memcpy(bytes, good, size);
            bytes[i] = (uint8_t)b;
            (void)isRefused(fn, bytes, size);
        }
    }
    zfree(bytes);
}

/* ---- Ziplist ---- */

typedef struct builder {
    uint8_t bytes[70000];
    size_t size, before, last, count;
} builder;

static void begin(builder *b) { *b = (builder){.size = 10, .last = 10}; }

/* Adds an entry of header and data. `wide`: the size of the previous entry takes five bytes although one would do. */
static void add(builder *b, const void *data, size_t len, bool wide) {
    uint8_t *at = b->bytes + b->size;
    b->last = b->size;
    if (b->before < 254 && !wide) {
        *at++ = (uint8_t)b->before;
    } else {
        *at = 254;
        storeLe32(at + 1, (uint32_t)b->before);
        at += 5;
    }
    memcpy(at, data, len);
    b->size = (size_t)(at + len - b->bytes);
    b->before = b->size - b->last;
    b->count++;
}

static void finish(builder *b) {
    b->bytes[b->size++] = 0xff;
    storeLe32(b->bytes, (uint32_t)b->size);
    storeLe32(b->bytes + 4, (uint32_t)b->last);
    storeLe16(b->bytes + 8, (uint16_t)(b->count < 65535 ? b->count : 65535));
}

/* Adds a text with the shortest header that fits, or a longer one. */
static void addText(builder *b, char fill, size_t len, int head) {
    static uint8_t data[20000];
    if (len < 64 && head <= 1) data[0] = (uint8_t)len, head = 1;
    else if (len < 16384 && head <= 2) data[0] = (uint8_t)(0x40 | len >> 8), data[1] = (uint8_t)len, head = 2;
    else data[0] = 0x80, storeLe32(data + 1, __builtin_bswap32(LE32((uint32_t)len))), head = 5;
    memset(data + head, fill, len);
    add(b, data, (size_t)head + len, false);
}

TEST(ziplist_of_each_kind_of_entry) {
    static builder b;
    begin(&b);
    add(&b, "\xf1", 1, false);
    add(&b, "\xfd", 1, true);
    add(&b, "\xfe\x80", 2, false);
    add(&b, "\xc0\x00\x80", 3, false);
    add(&b, "\xf0\x00\x00\x80", 4, false);
    add(&b, "\xf0\xff\xff\x7f", 4, false);
    add(&b, "\xd0\x00\x00\x00\x80", 5, false);
    add(&b, "\xe0\x00\x00\x00\x00\x00\x00\x00\x80", 9, false);
    add(&b, "\x00", 1, false);
    add(&b, "\x02-7", 3, false);
    add(&b, "\x40\x02ok", 4, false);
    add(&b, "\x80\x00\x00\x00\x03yes", 8, false);
    finish(&b);
    static const char *const want[] = {"0",        "12",      "-128",        "-32768",
                                       "-8388608", "8388607", "-2147483648", "-9223372036854775808",
                                       "",         "-7",      "ok",          "yes"};
    uint8_t *lp = convert(ziplistToListpack, b.bytes, b.size);
    checkElements(lp, want, array_len(want));
    int64_t num;
    CHECK(lp && listpackGet(listpackIndex(lp, 9)).str == NULL); /* a text that is a number */
    CHECK(lp && listpackInteger(listpackIndex(lp, 1), &num) && num == 12);
    listpackFree(lp);
    breakBytes(ziplistToListpack, b.bytes, b.size);
}

TEST(ziplist_of_the_published_example) {
    static const char *const want[] = {"2", "5"};
    uint8_t *lp = convert(ziplistToListpack, "\x0f\0\0\0\x0c\0\0\0\2\0\0\xf3\2\xf6\xff", 15);
    checkElements(lp, want, 2);
    listpackFree(lp);
    lp = convert(ziplistToListpack, "\x0b\0\0\0\x0a\0\0\0\0\0\xff", 11);
    checkElements(lp, NULL, 0);
    listpackFree(lp);
}

TEST(ziplist_at_the_edges_of_lengths) {
    static const size_t lens[] = {0, 62, 63, 64, 251, 252, 253, 254, 255, 256, 4095, 4096, 16382, 16383, 16384};
    static builder b;
    for (int head = 1; head <= 5; head++) {
        for (size_t i = 0; i < array_len(lens); i++) {
            begin(&b);
            addText(&b, 'x', lens[i], head);
            addText(&b, 'y', lens[i], head);
            addText(&b, 'z', 1, head);
            finish(&b);
            uint8_t *lp = convert(ziplistToListpack, b.bytes, b.size);
            if (!CHECK(lp != NULL)) continue;
            CHECK_EQ_INT(listpackGet(listpackIndex(lp, 0)).len, lens[i]);
            CHECK_EQ_INT(listpackGet(listpackIndex(lp, 1)).len, lens[i]);
            CHECK(listpackEquals(listpackLast(lp), sliceStr("z")));
            listpackFree(lp);
        }
    }
}

TEST(ziplist_of_more_than_its_count_holds) {
    static builder b;
    begin(&b);
    for (int i = 0; i < 30000; i++) add(&b, "\xf2", 1, false);
    finish(&b);
    storeLe16(b.bytes + 8, 65535);
    uint8_t *lp = convert(ziplistToListpack, b.bytes, b.size);
    CHECK(lp && listpackCount(lp) == 30000);
    listpackFree(lp);
    storeLe16(b.bytes + 8, 29999);
    CHECK(isRefused(ziplistToListpack, b.bytes, b.size));
}

TEST(ziplist_without_memory) {
    static builder b;
    begin(&b);
    addText(&b, 'x', 16000, 2);
    finish(&b);
    zmallocFailAfter(1);
    uint8_t *lp = ziplistToListpack(b.bytes, b.size);
    zmallocFailAfter(0);
    CHECK(lp == NULL);
    listpackFree(lp);
}

/* ---- Zipmap ---- */

TEST(zipmap_of_the_published_example) {
    static const uint8_t good[] = "\2\1f\3\0bar\1g\1\2wxx\xff";
    static const char *const want[] = {"f", "bar", "g", "w"};
    uint8_t *lp = convert(zipmapToListpack, good, sizeof(good) - 1);
    checkElements(lp, want, 4);
    listpackFree(lp);
    breakBytes(zipmapToListpack, good, sizeof(good) - 1);
    CHECK(isRefused(zipmapToListpack, "\0\xff", 2));           /* no pairs */
    CHECK(isRefused(zipmapToListpack, "\2\1f\1\0v\xff", 7));   /* one pair fewer than counted */
    CHECK(isRefused(zipmapToListpack, "\1\1f\1\0v\0", 7));     /* no end mark */
    CHECK(isRefused(zipmapToListpack, "\1\1f\xff\0v\xff", 7)); /* not a length */
    CHECK(isRefused(zipmapToListpack, "\xff\1f\1\0v\xff", 7)); /* not a count */
    CHECK(!isRefused(zipmapToListpack, "\xfe\1f\1\0v\xff", 7));
    CHECK(isRefused(zipmapToListpack, "\1\xfe\1\0\0\0f\1\0v\xff", 11)); /* longer than necessary */
}

TEST(zipmap_with_long_values_and_many_pairs) {
    static uint8_t bytes[4000];
    size_t n = 0;
    bytes[n++] = 254;
    for (int i = 0; i < 300; i++) {
        memcpy(bytes + n, "\1f\2\0-9", 6);
        n += 6;
    }
    memcpy(bytes + n, "\xfe\x2c\1\0\0", 5); /* 300 bytes */
    memset(bytes + n + 5, 'F', 300);
    n += 305;
    memcpy(bytes + n, "\xfe\x04\1\0\0\3", 6); /* 260 bytes, 3 of them unused */
    memset(bytes + n + 6, 'V', 263);
    n += 269;
    bytes[n++] = 0xff;
    uint8_t *lp = convert(zipmapToListpack, bytes, n);
    if (!CHECK(lp != NULL)) return;
    CHECK_EQ_INT(listpackCount(lp), 602);
    CHECK_EQ_INT(listpackGet(listpackIndex(lp, 1)).num, -9);
    CHECK_EQ_INT(listpackGet(listpackIndex(lp, -2)).len, 300);
    CHECK_EQ_INT(listpackGet(listpackIndex(lp, -1)).len, 260);
    listpackFree(lp);
}

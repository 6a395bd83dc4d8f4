/* snapshot_check_test.c -- complete, damaged and cut snapshots, in pieces of every size.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot_check.h"

#include "hash.h"
#include "endian.h"
#include "unit.h"

#include <stdio.h>

/* Checks bytes in two pieces and returns the error. */
static const char *look(const char *bytes, size_t len, size_t cut) {
    snapshotCheck c = {0};
    snapshotCheckAdd(&c, bytes, cut);
    snapshotCheckAdd(&c, bytes + cut, len - cut);
    return snapshotCheckEnd(&c);
}

/* Writes `text` followed by its checksum. */
static size_t make(char *out, const char *text) {
    size_t len = strlen(text);
    memcpy(out, text, len);
    storeLe64(out + len, crc64(0, text, len));
    return len + 8;
}

TEST(snapshot_check_at_every_split) {
    static const char *const texts[] = {"REDIS0011", "VALKEY080\xff", "REDIS0010 and a few bytes \xff"};
    for (size_t i = 0; i < array_len(texts); i++) {
        char bytes[64];
        size_t len = make(bytes, texts[i]);
        for (size_t cut = 0; cut <= len; cut++) {
            CHECK(look(bytes, len, cut) == NULL);
            for (size_t at = 0; at < len; at++) {
                bytes[at] ^= 4;
                CHECK(look(bytes, len, cut) != NULL);
                bytes[at] ^= 4;
            }
        }
        for (size_t shorter = 0; shorter < len; shorter++) CHECK(look(bytes, shorter, shorter / 2) != NULL);
    }
}

TEST(snapshot_check_in_random_pieces) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 500; round++) {
        char text[400], bytes[410];
        size_t n = unitRandom(&seed) % 300;
        int head = snprintf(text, sizeof(text), "VALKEY080");
        for (size_t i = 0; i < n; i++) text[(size_t)head + i] = (char)('a' + unitRandom(&seed) % 26);
        text[(size_t)head + n] = '\0';
        size_t len = make(bytes, text);
        snapshotCheck c = {0};
        for (size_t at = 0; at < len;) {
            size_t piece = 1 + unitRandom(&seed) % (round % 2 ? 12 : 80);
            if (piece > len - at) piece = len - at;
            snapshotCheckAdd(&c, bytes + at, piece);
            at += piece;
        }
        CHECK(snapshotCheckEnd(&c) == NULL);
    }
}

TEST(snapshot_check_without_a_checksum) {
    char bytes[64];
    size_t len = make(bytes, "REDIS0011 bytes");
    memset(bytes + len - 8, 0, 8);
    CHECK(look(bytes, len, 3) == NULL);
    CHECK(look("REDIS0004 has none\xff", 19, 12) == NULL);
    CHECK(look("REDIS0005 has one\xff", 18, 12) != NULL);
}

TEST(snapshot_check_of_what_is_no_snapshot) {
    static const char *const heads[] = {"REDIS00x1 bytes", "VALKEY08", "redis0011 bytes", "VALKE0080 bytes",
                                        "HTTP/1.1 200 OK"};
    for (size_t i = 0; i < array_len(heads); i++) {
        char bytes[64];
        size_t len = make(bytes, heads[i]);
        CHECK_EQ_STR(look(bytes, len, 0), "it does not begin like an RDB file");
    }
    CHECK(look("", 0, 0) != NULL);
}

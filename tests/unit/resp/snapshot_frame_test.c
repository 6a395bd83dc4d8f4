/* snapshot_frame_test.c -- the headers of a snapshot, and its end, in any division into reads.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot_frame.h"
#include "unit.h"

#include <stdio.h>

#define MARK "0123456789abcdef0123456789abcdef01234567"
#define MARK_TOO_LONG "$EOF:" MARK "8"
#define MARK_WRONG_CASE "$eof:" MARK
#define ROOM 512

TEST(snapshot_frame_headers) {
    snapshotFrame f;
    CHECK(snapshotFrameParse(&f, sliceStr("$182")));
    CHECK(f.has_length);
    CHECK_EQ_INT(f.length, 182);
    CHECK(snapshotFrameParse(&f, sliceStr("$0")) && f.has_length && f.length == 0);
    CHECK(snapshotFrameParse(&f, sliceStr("$9223372036854775807")) && f.length == INT64_MAX);
    CHECK(snapshotFrameParse(&f, sliceStr("$EOF:" MARK)));
    CHECK(!f.has_length);
    CHECK_EQ_INT(f.length, 0);
    CHECK_MEM(f.mark, MARK, SNAPSHOT_MARK_BYTES);
    static const char *const bad[] = {"",
                                      "$",
                                      "$-1",
                                      "$x",
                                      "$1x",
                                      "$ 1",
                                      "$01",
                                      "182",
                                      "+182",
                                      "$9223372036854775808",
                                      "$EOF:",
                                      MARK_TOO_LONG,
                                      "$EOF:0123456789abcdef0123456789abcdef0123456",
                                      MARK_WRONG_CASE};
    for (size_t i = 0; i < array_len(bad); i++) CHECK(!snapshotFrameParse(&f, sliceStr(bad[i])));
}

/* Feeds `text` in pieces that end at `cuts`, and as small as the scan requests. Returns the bytes of the snapshot. */
static size_t feed(snapshotFrameScan *s, const char *text, size_t len, const size_t *cuts, size_t cut_count,
                   size_t room, char *out, size_t *used) {
    char buf[ROOM];
    size_t got = 0, at = 0;
    for (size_t cut = 0; at < len && !s->ended;) {
        while (cut < cut_count && cuts[cut] <= at) cut++;
        size_t n = (cut < cut_count && cuts[cut] < len ? cuts[cut] : len) - at, most = snapshotFrameMost(s, room);
        if (n > most) n = most;
        CHECK(n > 0 && n <= room);
        memcpy(buf, text + at, n);
        at += n;
        n = snapshotFrameTake(s, buf, n);
        CHECK(n <= room);
        memcpy(out + got, buf, n);
        got += n;
    }
    *used = at;
    return got;
}

/* Returns true if a piece that ends at `cut` could be the last. */
static bool looksEnded(const char *text, size_t body, size_t cut) {
    return cut >= SNAPSHOT_MARK_BYTES && cut < body + SNAPSHOT_MARK_BYTES &&
           memcmp(text + cut - SNAPSHOT_MARK_BYTES, MARK, SNAPSHOT_MARK_BYTES) == 0;
}

/* Bodies that resemble the mark, cut at every two positions. */
TEST(snapshot_frame_mark_at_every_split) {
    static const char *const bodies[] = {
        "", "x", "0", "0123456789abcdef0123456789abcdef0123456", "x" MARK "x", "0123456789abcdef"};
    snapshotFrame f;
    CHECK(snapshotFrameParse(&f, sliceStr("$EOF:" MARK)));
    for (size_t b = 0; b < array_len(bodies); b++) {
        char text[200], out[200];
        size_t body = strlen(bodies[b]), len = body + SNAPSHOT_MARK_BYTES;
        snprintf(text, sizeof(text), "%s" MARK, bodies[b]);
        for (size_t first = 1; first <= len; first++) {
            for (size_t second = first; second <= len; second++) {
                snapshotFrameScan s;
                size_t cuts[2] = {first, second}, used;
                if (looksEnded(text, body, first) || looksEnded(text, body, second)) continue;
                snapshotFrameBegin(&s, &f);
                CHECK_EQ_INT(feed(&s, text, len, cuts, 2, ROOM, out, &used), body);
                CHECK(s.ended);
                CHECK_EQ_INT(used, len);
                CHECK_MEM(out, text, body);
            }
        }
    }
}

TEST(snapshot_frame_mark_in_random_pieces) {
    uint64_t seed = unitRandomSeed();
    static char text[5000], out[5000];
    snapshotFrame f;
    CHECK(snapshotFrameParse(&f, sliceStr("$EOF:" MARK)));
    for (int round = 0; round < 2000; round++) {
        size_t body = unitRandom(&seed) % (round % 2 ? 200 : 4000), len = body + SNAPSHOT_MARK_BYTES;
        for (size_t i = 0; i < body; i++) text[i] = MARK[unitRandom(&seed) % 40];
        memcpy(text + body, MARK, SNAPSHOT_MARK_BYTES);
        size_t cuts[64], used, at = 0;
        for (size_t i = 0; i < array_len(cuts); i++) cuts[i] = at += 1 + unitRandom(&seed) % (round % 3 ? 60 : 300);
        size_t room = SNAPSHOT_MARK_BYTES + 1 + unitRandom(&seed) % (ROOM - SNAPSHOT_MARK_BYTES);
        snapshotFrameScan s;
        snapshotFrameBegin(&s, &f);
        CHECK_EQ_INT(feed(&s, text, len, cuts, array_len(cuts), room, out, &used), body);
        CHECK(s.ended);
        CHECK_MEM(out, text, body);
    }
}

TEST(snapshot_frame_that_is_cut_short_does_not_end) {
    static const char *const headers[] = {"$EOF:" MARK, "$45"};
    for (size_t i = 0; i < array_len(headers); i++) {
        for (size_t len = 0; len < 45; len++) {
            char out[64];
            size_t used;
            snapshotFrame f;
            snapshotFrameScan s;
            CHECK(snapshotFrameParse(&f, sliceStr(headers[i])));
            snapshotFrameBegin(&s, &f);
            feed(&s, "REDIS" MARK, len, NULL, 0, ROOM, out, &used);
            CHECK(!s.ended);
            CHECK_EQ_INT(used, len);
        }
    }
}

TEST(snapshot_frame_of_known_length_takes_no_more) {
    char out[64];
    for (size_t length = 0; length <= 20; length++) {
        for (size_t room = 1; room <= 30; room++) {
            snapshotFrame f = {.has_length = true, .length = length};
            snapshotFrameScan s;
            size_t used;
            snapshotFrameBegin(&s, &f);
            CHECK_EQ_INT(feed(&s, "0123456789abcdefghijklmn", 24, NULL, 0, room, out, &used), length);
            CHECK(s.ended);
            CHECK_EQ_INT(used, length);
            CHECK_MEM(out, "0123456789abcdefghijklmn", length);
        }
    }
}

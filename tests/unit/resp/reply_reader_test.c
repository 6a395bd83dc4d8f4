/* reply_reader_test.c -- replies of each type at each split, malformed replies, and random trees.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_reader.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#define STREAM_MAX 65536

/* Feeds a stream in pieces of `step` bytes, as a program with a buffer does. Returns the number of complete replies. */
static int countReplies(const char *in, size_t len, size_t step, bool *bad, bool *idle) {
    replyScanner s;
    size_t at = 0, end = 0;
    int count = 0;

    replyScannerReset(&s);
    while (end < len && !s.bad) {
        end = len - end > step ? end + step : len;
        char *exact = malloc(end - at ? end - at : 1);
        size_t used = 0;
        bool whole = true;
        memcpy(exact, in + at, end - at);
        while (whole && at + used < end) {
            used += replyScan(&s, exact + used, end - at - used, &whole);
            if (!whole) break;
            count++;
            replyScannerReset(&s);
        }
        at += used;
        free(exact);
    }
    *bad = s.bad;
    *idle = at == len && s.pending == 1 && s.skip == 0 && s.first_type == '\0';
    return count;
}

static const struct {
    const char *in;
    int replies;
} good[] = {
    {"+OK\r\n", 1},
    {"-ERR no\r\n:1\r\n", 2},
    {"$3\r\nfoo\r\n$0\r\n\r\n$-1\r\n", 3},
    {"$7\r\n\r\n+OK\r\n\r\n", 1},
    {"*2\r\n$3\r\nfoo\r\n*2\r\n:1\r\n*0\r\n+OK\r\n", 2},
    {"*-1\r\n*0\r\n", 2},
    {"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n_\r\n,1.5\r\n#t\r\n", 3},
    {"~2\r\n:1\r\n:2\r\n(12345678901234567890\r\n", 2},
    {"=7\r\ntxt:foo\r\n!5\r\nERR x\r\n", 2},
    {"|1\r\n+ttl\r\n:5\r\n$1\r\na\r\n+OK\r\n", 2},
    {">2\r\n+message\r\n$2\r\n\r\n\r\n+OK\r\n", 2},
};

TEST(reply_reader_counts_replies_at_every_split) {
    for (size_t i = 0; i < array_len(good); i++) {
        size_t len = strlen(good[i].in);
        for (size_t step = 1; step <= len; step++) {
            bool bad, idle;
            CHECK_EQ_INT(countReplies(good[i].in, len, step, &bad, &idle), good[i].replies);
            CHECK(!bad);
            CHECK(idle);
        }
    }
}

TEST(reply_reader_refuses_what_is_no_reply) {
    static const char *const broken[] = {
        "x\r\n",
        "$\r\n",
        "$-2\r\n",
        "$1x\r\n",
        "*-2\r\n",
        "%-1\r\n",
        "*+1\r\n",
        "+OK\n",
        "\r\n",
        "=-1\r\n",
        "$99999999999999999999\r\n",
        "*1\r\n?\r\n",
        "*9223372036854775807\r\n",
        "$11111111111111111111111111111111111",
    };
    for (size_t i = 0; i < array_len(broken); i++) {
        bool bad, idle;
        CHECK_EQ_INT(countReplies(broken[i], strlen(broken[i]), 1, &bad, &idle), 0);
        CHECK(bad);
        CHECK_EQ_INT(countReplies(broken[i], strlen(broken[i]), 1000, &bad, &idle), 0);
        CHECK(bad);
    }
}

TEST(reply_reader_tells_the_first_type) {
    replyScanner s;
    bool whole;

    replyScannerReset(&s);
    CHECK_EQ_INT(replyScan(&s, "*1\r\n-ERR\r\n", 10, &whole), 10);
    CHECK(whole);
    CHECK_EQ_INT(s.first_type, '*');
    CHECK_EQ_INT(replyScan(&s, "+OK\r\n", 5, &whole), 0);
    CHECK(whole);
}

static size_t randomReply(uint64_t *rng, char *out, int depth) {
    static const char lines[] = "+-:,#(_", bodies[] = "$=!", aggregates[] = "*~%>";
    uint64_t kind = unitRandom(rng) % (depth > 3 ? 2 : 3);
    size_t len, n = unitRandom(rng) % 6;

    if (kind == 0) return (size_t)sprintf(out, "%c%.*s\r\n", lines[unitRandom(rng) % 7], (int)n, "12345");
    if (kind == 1) return (size_t)sprintf(out, "%c%zu\r\n%.*s\r\n", bodies[unitRandom(rng) % 3], n, (int)n, "\r\n$*\n");
    char type = aggregates[unitRandom(rng) % 4];
    len = (size_t)sprintf(out, "%c%zu\r\n", type, n);
    for (size_t i = type == '%' ? 2 * n : n; i > 0; i--) len += randomReply(rng, out + len, depth + 1);
    return len;
}

TEST(reply_reader_random_trees) {
    uint64_t rng = unitRandomSeed();
    char *in = malloc(STREAM_MAX * 4);

    for (int round = 0; round < 500; round++) {
        size_t len = 0;
        int replies = 0;
        bool bad, idle;
        for (; len < 400; replies++) len += randomReply(&rng, in + len, 0);
        CHECK_EQ_INT(countReplies(in, len, 1 + unitRandom(&rng) % len, &bad, &idle), replies);
        CHECK(!bad && idle);
    }
    free(in);
}

/* psync_reply_test.c -- reply lines of a primary: valid ones, and ones with a changed byte.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "psync_reply.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

#define ID "0123456789abcdefABCDEF0123456789abcdef01"

static psyncReply answerOf(const char *line) {
    replPosition position;
    return psyncReplyParse(line, &position);
}

TEST(primary_answers_to_psync) {
    replPosition position;
    CHECK_EQ_INT(psyncReplyParse("+CONTINUE", &position), PSYNC_CONTINUES);
    CHECK_EQ_STR(position.id, "");
    CHECK_EQ_INT(psyncReplyParse("+CONTINUE " ID, &position), PSYNC_CONTINUES);
    CHECK_EQ_STR(position.id, ID);
    CHECK_EQ_INT(psyncReplyParse("+FULLRESYNC " ID " 17", &position), PSYNC_FULL);
    CHECK_EQ_STR(position.id, ID);
    CHECK_EQ_INT(position.offset, 17);
    CHECK_EQ_INT(answerOf("+DUALCHANNELSYNC"), PSYNC_DUAL_CHANNEL);
    CHECK_EQ_INT(answerOf("-NOMASTERLINK Can't SYNC while not connected with my master"), PSYNC_NOT_NOW);
    CHECK_EQ_INT(answerOf("-LOADING"), PSYNC_NOT_NOW);
    CHECK_EQ_INT(answerOf("-ERR unknown command"), PSYNC_UNKNOWN);
    CHECK_EQ_INT(answerOf("+FULLRESYNC"), PSYNC_UNKNOWN);
    CHECK_EQ_INT(answerOf(""), PSYNC_UNKNOWN);
    static const char *const wrong[] = {"+CONTINUE ",
                                        "+CONTINUED",
                                        "+CONTINUE " ID "0",
                                        "+CONTINUE " ID " ",
                                        "+CONTINUE  " ID,
                                        "+FULLRESYNC ",
                                        "+FULLRESYNC " ID,
                                        "+FULLRESYNC " ID " ",
                                        "+FULLRESYNC " ID " -1",
                                        "+FULLRESYNC " ID " 1 ",
                                        "+FULLRESYNC " ID " 01",
                                        "+FULLRESYNC " ID "  1",
                                        "+FULLRESYNC " ID " 4611686018427387904",
                                        "+FULLRESYNC " ID " 9223372036854775808",
                                        "+FULLRESYNC g123456789abcdefABCDEF0123456789abcdef01 1"};
    for (size_t i = 0; i < array_len(wrong); i++) CHECK_EQ_INT(answerOf(wrong[i]), PSYNC_MALFORMED);
}

TEST(primary_ends_of_a_snapshot) {
    syncEnd end;
    CHECK(syncEndParse("$ENDOFF:5 " ID " -1 7", &end));
    CHECK(end.position.offset == 5 && end.db == -1 && end.client == 7);
    CHECK_EQ_STR(end.position.id, ID);
    CHECK(syncEndParse("$ENDOFF:0 " ID " 15 9223372036854775807", &end) && end.db == 15);
    static const char *const wrong[] = {"",
                                        "$ENDOFF",
                                        "$ENDOFF:",
                                        "$ENDOFF:5",
                                        "$ENDOFF:5 ",
                                        "$ENDOFF:5 " ID,
                                        "$ENDOFF:5 " ID " ",
                                        "$ENDOFF:5 " ID " 0",
                                        "$ENDOFF:5 " ID " 0 ",
                                        "$ENDOFF:5 " ID " 0 7 ",
                                        "$ENDOFF:5 " ID " -2 7",
                                        "$ENDOFF:5 " ID " 2147483648 7",
                                        "$ENDOFF:-1 " ID " 0 7",
                                        "$ENDOFF:9223372036854775807 " ID " 0 7",
                                        "$ENDOFF:5 " ID "0 0 7",
                                        "$ENDOFF:5 " ID " x 7",
                                        "$ENDOFF:5 " ID " 0 9223372036854775808"};
    for (size_t i = 0; i < array_len(wrong); i++) CHECK(!syncEndParse(wrong[i], &end));
}

/* A line with a changed byte is another valid line or an error; no value is out of range. */
TEST(primary_lines_wrong_by_bytes) {
    static const char *const lines[] = {"+CONTINUE " ID, "+FULLRESYNC " ID " 4611686018427387903",
                                        "$ENDOFF:5 " ID " 12 7"};
    static const char bytes[] = " 0123456789abcfF+-$:\r\n\t\x01\xff";
    uint64_t seed = unitRandomSeed();
    for (int i = 0; i < 200000; i++) {
        char line[128];
        int n = snprintf(line, sizeof(line), "%s", lines[unitRandom(&seed) % array_len(lines)]);
        for (uint64_t change = 1 + unitRandom(&seed) % 3; change; change--)
            line[unitRandom(&seed) % (size_t)n] = bytes[unitRandom(&seed) % sizeof(bytes)];
        replPosition position;
        syncEnd end;
        bool sends = psyncReplyParse(line, &position) == PSYNC_FULL;
        CHECK(!sends || (strlen(position.id) == 40 && position.offset >= 0 && position.offset <= PRIMARY_OFFSET_MAX));
        bool ends = syncEndParse(line, &end);
        if (!CHECK(!ends || (strlen(end.position.id) == 40 && end.position.offset >= 0 && end.db >= -1))) return;
    }
}

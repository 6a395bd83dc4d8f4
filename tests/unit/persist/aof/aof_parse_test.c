/* aof_parse_test.c -- parsing commands of the log, cut anywhere, and malformed ones.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_parse.h"

#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

static aofItemKind kindOf(const char *text, size_t len) {
    aofItem item = {.bytes = 0};
    char *copy = zmalloc(len); /* sanitizer builds guard its end */
    memcpy(copy, text, len);
    aofItemKind kind = aofParse(&item, sliceOf(copy, len));
    if (kind == AOF_COMMAND || kind == AOF_ANNOTATION) CHECK(item.bytes <= len);
    if (kind == AOF_MORE) CHECK(item.bytes > len);
    aofItemFree(&item);
    zfree(copy);
    return kind;
}

TEST(parse_finds_the_arguments) {
    static const char text[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n*1\r\n";
    aofItem item = {.bytes = 0};
    CHECK_EQ_INT(aofParse(&item, sliceOf(text, sizeof(text) - 1)), AOF_COMMAND);
    CHECK_EQ_INT(item.bytes, sizeof(text) - 1 - 4);
    CHECK_EQ_INT(item.argc, 3);
    CHECK(sliceEq(item.args[0], sliceStr("SET")) && sliceEq(item.args[1], sliceStr("k")));
    CHECK(sliceEq(item.args[2], sliceStr("a\r\nb")));
    aofItemFree(&item);
}

TEST(parse_at_every_cut) {
    static const char text[] = "*2\r\n$11\r\n0123456789a\r\n$0\r\n\r\n";
    for (size_t len = 1; len < sizeof(text) - 1; len++) CHECK_EQ_INT(kindOf(text, len), AOF_MORE);
    CHECK_EQ_INT(kindOf(text, sizeof(text) - 1), AOF_COMMAND);
}

/* A changed byte is an error, or changes the length of what follows. */
TEST(parse_with_any_byte_wrong) {
    static const char text[] = "*2\r\n$1\r\nx\r\n$0\r\n\r\n";
    size_t len = sizeof(text) - 1;
    for (size_t at = 0; at < len; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char changed[sizeof(text)];
            memcpy(changed, text, len);
            changed[at] = (char)byte;
            bool digit = (at == 1 || at == 5 || at == 12) && byte >= '0' && byte <= '9';
            bool argument = at == 8;
            aofItemKind kind = kindOf(changed, len);
            if (byte == '#' && at == 0) CHECK_EQ_INT(kind, AOF_ANNOTATION);
            else if (!digit && !argument && changed[at] != text[at]) CHECK_EQ_INT(kind, AOF_BAD);
        }
    }
}

TEST(parse_refuses_what_clients_may_send) {
    static const char *bad[] = {"SET k v\r\n",
                                "*0\r\n",
                                "*-1\r\n",
                                "*1\n$4\nPING\n",
                                "*1\r\n$-1\r\n",
                                "\r\n",
                                "*1 \r\n",
                                "*1\r\n+PING\r\n",
                                "*99999999999999999999\r\n",
                                "*9999999999\r\n",
                                "*1\r\n$9999999999999\r\n",
                                "*+1\r\n$4\r\nPING\r\n",
                                "*\r\n",
                                "*1\r\n$\r\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (!CHECK_EQ_INT(kindOf(bad[i], strlen(bad[i])), AOF_BAD)) printf("  %zu\n", i);
    CHECK_EQ_INT(kindOf("\0\0\0\0", 4), AOF_BAD);
}

/* At each position of a number. */
TEST(parse_takes_a_number_of_nineteen_digits) {
    static const char *good[] = {"*0000000000000000001\r\n$4\r\nPING\r\n", "*1\r\n$0000000000000000004\r\nPING\r\n"};
    static const char *bad[] = {"*00000000000000000001\r\n$4\r\nPING\r\n", "*1\r\n$00000000000000000004\r\nPING\r\n"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        CHECK_EQ_INT(kindOf(good[i], strlen(good[i])), AOF_COMMAND);
        CHECK_EQ_INT(kindOf(bad[i], strlen(bad[i])), AOF_BAD);
    }
}

TEST(parse_annotations) {
    char text[AOF_ANNOTATION_MAX + 2];
    CHECK_EQ_INT(kindOf("#TS:1\r\n*1", 9), AOF_ANNOTATION);
    CHECK_EQ_INT(kindOf("#TS:1", 5), AOF_MORE);
    memset(text, 'x', sizeof(text));
    text[0] = '#';
    CHECK_EQ_INT(kindOf(text, AOF_ANNOTATION_MAX - 1), AOF_MORE);
    CHECK_EQ_INT(kindOf(text, AOF_ANNOTATION_MAX), AOF_BAD);
    text[AOF_ANNOTATION_MAX - 1] = '\n';
    CHECK_EQ_INT(kindOf(text, AOF_ANNOTATION_MAX), AOF_ANNOTATION);
    text[AOF_ANNOTATION_MAX - 1] = 'x', text[AOF_ANNOTATION_MAX] = '\n';
    CHECK_EQ_INT(kindOf(text, AOF_ANNOTATION_MAX + 1), AOF_BAD);
}

/* The parser returns how many bytes are missing, so that a large argument is read at once. */
TEST(parse_says_how_much_it_needs) {
    aofItem item = {.bytes = 0};
    static const char text[] = "*1\r\n$1000000\r\nabc";
    CHECK_EQ_INT(aofParse(&item, sliceStr(text)), AOF_MORE);
    CHECK_EQ_INT(item.bytes, strlen("*1\r\n$1000000\r\n") + 1000002);
    aofItemFree(&item);
}

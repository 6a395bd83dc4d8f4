/* aof_scan_test.c -- a scanner's result for a log equals that of the loader's parser.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_scan.h"

#include "aof_parse.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct verdict {
    aofScanKind kind;
    uint64_t good, lines, items;
    sds fault; /* owns; may be NULL */
} verdict;

static int fileOf(slice bytes) {
    int fd = memfd_create("aof", MFD_CLOEXEC);
    for (size_t at = 0; at < bytes.len;) {
        ssize_t n = write(fd, bytes.ptr + at, bytes.len - at);
        if (!CHECK(n > 0)) break;
        at += (size_t)n;
    }
    return fd;
}

static verdict scanFile(int fd, uint64_t size) {
    verdict v = {.items = 0};
    aofScanItem item;
    uint64_t expected = 0;
    aofScanner *s = aofScanCreate(fd, 0, size, "name", "path");
    while ((v.kind = aofScanNext(s, &item)) == AOF_SCAN_COMMAND || v.kind == AOF_SCAN_ANNOTATION) {
        CHECK_EQ_INT(item.at, expected);
        CHECK(item.unit <= item.at);
        expected = item.at + item.bytes;
        v.items++;
    }
    v.good = aofScanGood(s);
    v.lines = aofScanLines(s);
    v.fault = aofScanFault(s) ? sdsNew(aofScanFault(s)) : NULL;
    aofScanFree(s);
    return v;
}

static verdict scanBytes(slice bytes) {
    int fd = fileOf(bytes);
    verdict v = scanFile(fd, bytes.len);
    close(fd);
    return v;
}

/* Computes the same with the loader's parser, on all bytes at once. */
static bool modelSays(slice in, uint64_t *good) {
    aofItem item = {.bytes = 0};
    size_t at = 0;
    bool in_multi = false, fine = true;
    *good = 0;
    while (at < in.len && fine) {
        aofItemKind kind = aofParse(&item, sliceOf(in.ptr + at, in.len - at));
        bool multi = kind == AOF_COMMAND && sliceIs(item.args[0], "multi");
        bool exec = kind == AOF_COMMAND && sliceIs(item.args[0], "exec");
        fine = (kind == AOF_COMMAND || kind == AOF_ANNOTATION) && !(multi && in_multi) && !(exec && !in_multi);
        if (!fine) break;
        at += item.bytes;
        if (multi || exec) in_multi = multi;
        if (!in_multi) *good = at;
    }
    aofItemFree(&item);
    return fine && !in_multi;
}

static void compare(slice bytes) {
    uint64_t good;
    bool fine = modelSays(bytes, &good);
    verdict v = scanBytes(bytes);
    CHECK_EQ_INT(v.kind, fine ? AOF_SCAN_END : AOF_SCAN_FAULT);
    CHECK_EQ_INT(v.good, good);
    if (fine) CHECK(!v.fault);
    sdsFree(v.fault);
}

static sds addCommand(sds log, int argc, const char **words) {
    log = sdsCatPrintf(log, "*%d\r\n", argc);
    for (int i = 0; i < argc; i++) log = sdsCatPrintf(log, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    return log;
}

static sds randomLog(uint64_t *state) {
    static const char *commands[][3] = {{"SET", "k", "va\r\nlue"}, {"INCR", "n", NULL}, {"multi", NULL, NULL},
                                        {"EXEC", NULL, NULL},      {"SET", "", ""},     {"PING", NULL, NULL}};
    sds log = sdsEmpty();
    for (uint64_t n = unitRandom(state) % 12; n > 0; n--) {
        uint64_t draw = unitRandom(state) % (array_len(commands) + 1);
        int argc = 0;
        if (draw == array_len(commands)) {
            log = sdsCat(log, "#TS:1700000000\r\n");
            continue;
        }
        while (argc < 3 && commands[draw][argc]) argc++;
        log = addCommand(log, argc, commands[draw]);
    }
    return log;
}

TEST(scan_agrees_with_the_parser_at_every_cut) {
    sds log = sdsNew("#TS:1\r\n");
    log = addCommand(log, 3, (const char *[]){"SET", "k", "v\r\n"});
    log = addCommand(log, 1, (const char *[]){"MULTI"});
    log = addCommand(log, 2, (const char *[]){"INCR", "n"});
    log = addCommand(log, 1, (const char *[]){"exec"});
    log = addCommand(log, 2, (const char *[]){"INCR", "n"});
    for (size_t len = 0; len <= sdsLen(log); len++) compare(sliceOf(log, len));
    sdsFree(log);
}

TEST(scan_agrees_with_the_parser_on_damage) {
    uint64_t state = unitRandomSeed();
    for (int round = 0; round < 4000; round++) {
        sds log = randomLog(&state);
        for (uint64_t n = unitRandom(&state) % 3; n > 0 && sdsLen(log) > 0; n--) {
            static const char odd[] = "*$#\r\n0-+ 9M";
            uint64_t draw = unitRandom(&state);
            log[draw % sdsLen(log)] = draw >> 60 ? odd[(draw >> 32) % (sizeof(odd) - 1)] : (char)(draw >> 40);
        }
        compare(sdsSlice(log));
        sdsFree(log);
    }
}

TEST(scan_steps_over_arguments_of_any_length) {
    for (size_t len = 256 * 1024 - 40; len < 256 * 1024 + 40; len += 3) {
        sds log = sdsCatPrintf(sdsEmpty(), "*2\r\n$4\r\nECHO\r\n$%zu\r\n", len), twice;
        log = sdsGrowZero(log, sdsLen(log) + len);
        log = sdsCat(log, "\r\n");
        twice = sdsCatLen(sdsDup(log), log, sdsLen(log));
        compare(sdsSlice(twice));
        twice[sdsLen(log) - 1] = 'x';
        compare(sdsSlice(twice));
        sdsFree(twice);
        sdsFree(log);
    }
}

static void tells(const char *log, const char *fault, uint64_t good, uint64_t lines) {
    verdict v = scanBytes(sliceStr(log));
    CHECK_EQ_INT(v.kind, AOF_SCAN_FAULT);
    CHECK_EQ_STR(v.fault ? v.fault : "(none)", fault);
    CHECK_EQ_INT(v.good, good);
    CHECK_EQ_INT(v.lines, lines);
    sdsFree(v.fault);
}

TEST(scan_tells_what_is_wrong) {
    tells("x", "AOF name format error", 0, 0);
    tells("*1\r\n$4\r\nPING\r\n\r\n", "AOF name format error", 14, 3);
    tells("*1", "0x               0: Expected \\r\\n, got: 0000", 0, 0);
    tells("*1\r", "0x               0: Expected \\r\\n, got: 0d00", 0, 0);
    tells("*1x\r\n", "0x               0: Expected \\r\\n, got: 780d", 0, 0);
    tells("*1\n$4\r\n", "0x               0: Expected \\r\\n, got: 0a00", 0, 0);
    tells("*+1\r\n", "0x               0: Expected \\r\\n, got: 2b31", 0, 0);
    tells("*\r\n", "0x               0: Expected a number after '*'", 0, 0);
    tells("*1\r\n", "(none)", 0, 1);
    tells("*1\r\nx", "0x               4: Expected prefix '$', got: 'x'", 0, 1);
    tells("*1\r\n\n", "0x               4: Expected prefix '$', got: '\\x0a'", 0, 1);
    tells("*1\r\n$4\r\nPI", "0x               8: Expected to read 6 bytes, got 2 bytes", 0, 2);
    tells("*1\r\n$4\r\nPINGPO", "0x               8: Expected \\r\\n, got: 504f", 0, 2);
    tells("*1\r\n$-5\r\n",
          "0x               4: Expected to read string of -5 bytes, which is not in the suitable range", 0, 2);
    tells(
        "*1\r\n$9223372036854775807\r\n",
        "0x               4: Expected to read string of 9223372036854775807 bytes, which is not in the suitable range",
        0, 2);
    tells("*1\r\n$99999999999\r\nx", "0x              12: Expected to read 100000000001 bytes, got 1 bytes", 0, 2);
    tells("*0\r\n", "0x               0: Expected to read command of 0 arguments, which is not in the suitable range",
          0, 1);
    tells("*-1\r\n", "0x               0: Expected to read command of -1 arguments, which is not in the suitable range",
          0, 1);
    tells("*1\r\n$4\r\nEXEC\r\n", "0x               8: Unexpected EXEC in AOF path", 0, 3);
    tells("*1\r\n$5\r\nMULTI\r\n", "0x               8: Reached EOF before reading EXEC for MULTI", 0, 3);
    tells("*1\r\n$5\r\nMULTI\r\n*1\r\n$5\r\nmulti\r\n", "0x              17: Unexpected MULTI in AOF path", 0, 6);
    tells("#TS:1\r\n#TS", "0x               7: Reached EOF before the end of an annotation", 7, 0);
}

TEST(scan_takes_annotations_as_long_as_the_loader_does) {
    for (size_t len = AOF_ANNOTATION_MAX - 3; len < AOF_ANNOTATION_MAX + 3; len++) {
        sds log = sdsGrowZero(sdsEmpty(), len);
        memset(log, '#', len - 1);
        log[len - 1] = '\n';
        compare(sdsSlice(log));
        sdsFree(log);
    }
}

TEST(scan_of_a_file_that_becomes_shorter_or_cannot_be_read) {
    static const char log[] = "*1\r\n$4\r\nPING\r\n";
    int fd = fileOf(sliceOf(log, sizeof(log) - 1));
    verdict v = scanFile(fd, 1 << 20);
    CHECK_EQ_INT(v.kind, AOF_SCAN_END);
    CHECK_EQ_INT(v.good, sizeof(log) - 1);
    close(fd);
    fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    v = scanFile(fd, 100);
    CHECK_EQ_INT(v.kind, AOF_SCAN_FAILED);
    CHECK_EQ_INT(errno, EISDIR);
    close(fd);
}

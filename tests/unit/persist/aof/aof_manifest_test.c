/* aof_manifest_test.c -- each rule of reading, the text that is written, and changes of a manifest.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_manifest.h"

#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

#define BASE "file a.1.base.rdb seq 1 type b\n"
#define INCR "file a.1.incr.aof seq 1 type i\n"

/* Returns the error of reading `bytes`, "" if there is none, and its line. */
static const char *errorOf(slice bytes, int *line) {
    aofManifestFault fault = {.line = 0};
    aofManifest *m = aofManifestParse(bytes, &fault);
    *line = fault.line;
    aofManifestFree(m);
    sdsFree(fault.text);
    return m ? "" : fault.error;
}

static void expect(const char *text, const char *error, int line) {
    int got;
    CHECK_EQ_STR(errorOf(sliceStr(text), &got), error);
    CHECK_EQ_INT(got, line);
}

static sds again(const char *text) {
    aofManifestFault fault;
    aofManifest *m = aofManifestParse(sliceStr(text), &fault);
    if (!CHECK(m != NULL)) return sdsNew(fault.error);
    sds out = aofManifestText(m);
    aofManifestFree(m);
    return out;
}

static void writes(const char *text, const char *want) {
    sds got = again(text);
    CHECK_EQ_STR(got, want);
    sdsFree(got);
}

TEST(manifest_reads_what_it_writes) {
    writes(BASE INCR, BASE INCR);
    writes("file a.3.base.rdb seq 3 type b\nfile a.2.incr.aof seq 2 type h\nfile a.2.base.rdb seq 2 type h\n"
           "file a.3.incr.aof seq 3 type i\n",
           "file a.3.base.rdb seq 3 type b\nfile a.2.incr.aof seq 2 type h\nfile a.2.base.rdb seq 2 type h\n"
           "file a.3.incr.aof seq 3 type i\n");
}

TEST(manifest_takes_keys_in_any_order_and_case_and_more_of_them) {
    writes("TYPE b Seq 1 who me FILE a.1.base.rdb\n", BASE);
    writes("# a remark\n" BASE "# another\n" INCR, BASE INCR);
    writes("file a.1.base.rdb seq 1 type base\n", BASE);
    writes(INCR BASE, BASE INCR);
}

TEST(manifest_quotes_names_that_need_it) {
    writes("file \"a b.1.base.rdb\" seq 1 type b\n", "file \"a b.1.base.rdb\" seq 1 type b\n");
    writes("file \"q\\\"\\x01\" seq 1 type b\n", "file \"q\\\"\\x01\" seq 1 type b\n");
    writes("file 'a.1.base.rdb' seq 1 type b\n", BASE);
}

TEST(manifest_refuses_what_is_no_line_of_it) {
    static const char invalid[] = "Invalid AOF manifest file format";
    expect(BASE "file a seq 1 type\n", invalid, 2);
    expect("file a seq 1\n", invalid, 1);
    expect("\n", invalid, 1);
    expect("file a seq 0 type b\n", invalid, 1);
    expect("file a seq x type b\n", invalid, 1);
    expect("file a seq 4611686018427387904 type b\n", invalid, 1);
    expect("file a seq 9223372036854775807 type i\n", invalid, 1);
    expect("file a seq 98765432109876543210 type i\n", invalid, 1);
    expect("name a seq 1 type b\n", invalid, 1);
    expect("file a seq 1 kind b\n", invalid, 1);
    expect("file \"a seq 1 type b\n", invalid, 1);
    expect("file \"\" seq 1 type b\n", invalid, 1);
    expect("file a seq 1 type \"\"\n", invalid, 1);
    expect("file \"a\\x00b\" seq 1 type b\n", invalid, 1);
    expect("file a/b seq 1 type b\n", "File can't be a path, just a filename", 1);
    expect(BASE "file b seq 2 type b\n", "Found duplicate base file information", 2);
    expect(INCR INCR, "Found a non-monotonic sequence number", 2);
    expect("file b seq 2 type i\n" INCR, "Found a non-monotonic sequence number", 2);
    expect("file a seq 1 type x\n", "Unknown AOF file type", 1);
    expect("", "Found an empty AOF manifest", 0);
}

TEST(manifest_refuses_lines_without_end_or_too_long) {
    static const char too_long[] = "The AOF manifest file contains too long line";
    int line;
    expect(BASE "file a seq 1 type i", too_long, 2);
    CHECK_EQ_STR(errorOf(sliceOf("file a\0 seq 1 type b\n", 21), &line), too_long);
    for (size_t len = AOF_MANIFEST_LINE_MAX - 2; len <= AOF_MANIFEST_LINE_MAX + 2; len++) {
        sds text = sdsGrowZero(sdsNew("file "), len);
        memset(text + 5, 'n', len - 5);
        memcpy(text + len - 14, " seq 1 type b\n", 14);
        CHECK_EQ_STR(errorOf(sdsSlice(text), &line), len <= AOF_MANIFEST_LINE_MAX ? "" : too_long);
        text[0] = '#'; /* a comment; the rest of a longer one would be a line */
        CHECK_EQ_STR(errorOf(sdsSlice(text), &line),
                     len <= AOF_MANIFEST_LINE_MAX ? "" : "Invalid AOF manifest file format");
        sdsFree(text);
    }
}

TEST(manifest_of_remarks_alone_has_no_files) {
    aofManifestFault fault;
    aofManifest *m = aofManifestParse(sliceStr("# nothing\n"), &fault);
    if (!CHECK(m != NULL)) return;
    CHECK_EQ_INT(m->count, 0);
    CHECK(!aofManifestBase(m) && !aofManifestLastIncr(m));
    aofManifestFree(m);
}

/* A manifest that is cut off is rejected, unless it is cut between two lines. */
TEST(manifest_cut_at_every_byte) {
    static const char text[] = BASE "file \"b c\" seq 1 type h\n" INCR;
    for (size_t len = 0; len < sizeof(text); len++) {
        int line;
        bool whole = len > 0 && text[len - 1] == '\n';
        CHECK_EQ_INT(errorOf(sliceOf(text, len), &line)[0] == '\0', whole || len == sizeof(text));
    }
}

static void textIs(const aofManifest *m, const char *want) {
    sds got = aofManifestText(m);
    CHECK_EQ_STR(got, want);
    sdsFree(got);
}

TEST(manifest_goes_through_a_rewrite) {
    aofManifest *m = aofManifestCreate();
    aofManifestSwitchBase(m, "a", "rdb", 0);
    aofManifestAddIncr(m, "a");
    textIs(m, BASE INCR);
    aofManifestAddIncr(m, "a");
    textIs(m, BASE INCR "file a.2.incr.aof seq 2 type i\n");
    aofManifestSwitchBase(m, "a", "aof", 1);
    textIs(m, "file a.2.base.aof seq 2 type b\nfile a.1.incr.aof seq 1 type h\nfile a.1.base.rdb seq 1 type h\n"
              "file a.2.incr.aof seq 2 type i\n");
    aofManifest *copy = aofManifestDup(m);
    aofManifestDropHistory(m);
    textIs(m, "file a.2.base.aof seq 2 type b\nfile a.2.incr.aof seq 2 type i\n");
    aofManifestAddIncr(copy, "a");
    aofManifestSwitchBase(copy, "a", "rdb", 0);
    textIs(copy, "file a.3.base.rdb seq 3 type b\nfile a.3.incr.aof seq 3 type h\nfile a.2.incr.aof seq 2 type h\n"
                 "file a.2.base.aof seq 2 type h\nfile a.1.incr.aof seq 1 type h\nfile a.1.base.rdb seq 1 type h\n");
    aofManifestFree(copy);
    aofManifestFree(m);
}

TEST(manifest_takes_an_old_file_as_base) {
    aofManifest *m = aofManifestCreate();
    aofManifestAdoptBase(m, "a");
    aofManifestAddIncr(m, "a");
    textIs(m, "file a seq 1 type b\n" INCR);
    aofManifestFree(m);
}

TEST(manifest_names_have_a_bound) {
    char name[1200];
    CHECK(aofNameFits("appendonly.aof"));
    memset(name, 'n', sizeof(name));
    name[220] = '\0';
    CHECK(aofNameFits(name));
    name[220] = 'n', name[250] = '\0';
    CHECK(!aofNameFits(name));
    memset(name, 1, 250);
    name[220] = '\0';
    CHECK(aofNameFits(name)); /* four bytes each in quotes: still fits in a line */
    aofManifest *m = aofManifestCreate();
    memset(name, 1, 300);
    name[300] = '\0';
    aofManifestAddIncr(m, name);
    CHECK(aofManifestText(m) == NULL);
    aofManifestFree(m);
}

/* A written manifest reads as the original, with any names. */
TEST(manifest_random_names_survive) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 2000; round++) {
        char stem[40];
        size_t len = 1 + unitRandom(&seed) % 20;
        for (size_t i = 0; i < len; i++) {
            do stem[i] = (char)(1 + unitRandom(&seed) % 255);
            while (stem[i] == '/');
        }
        stem[len] = '\0';
        aofManifest *m = aofManifestCreate();
        for (uint64_t n = unitRandom(&seed) % 8; n > 0; n--) {
            if (unitRandom(&seed) % 3) aofManifestAddIncr(m, stem);
            else aofManifestSwitchBase(m, stem, "rdb", unitRandom(&seed) % 2);
        }
        sds text = aofManifestText(m);
        if (m->count > 0) writes(text, text);
        sdsFree(text);
        aofManifestFree(m);
    }
}

TEST(manifest_paths) {
    sds name = aofManifestName("a"), path = aofPath("/x", name);
    CHECK_EQ_STR(path, "/x/a.manifest");
    sdsFree(name);
    sdsFree(path);
}

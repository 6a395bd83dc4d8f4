/* free_memory_test.c -- the memory that the machine and its control groups leave.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "free_memory.h"
#include "group_files.h"
#include "unit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(free_memory_reads_lines) {
    slice text = sliceStr("MemTotal:   100 kB\nMemAvailable:   70 kB\ninactive_file 4096\nanon 5\nbad x\nlarge 1e9\n");
    CHECK_EQ_INT(freeMemoryField(text, "MemAvailable"), 70 * 1024);
    CHECK_EQ_INT(freeMemoryField(text, "inactive_file"), 4096);
    CHECK_EQ_INT(freeMemoryField(text, "Mem"), 0);
    CHECK_EQ_INT(freeMemoryField(text, "bad"), 0);
    CHECK_EQ_INT(freeMemoryField(text, "none"), 0);
    CHECK_EQ_INT(freeMemoryField(sliceStr("anon"), "anon"), 0);
    CHECK_EQ_INT(freeMemoryField(sliceStr("anon "), "anon"), 0);
    CHECK_EQ_INT(freeMemoryField(sliceStr("anon 99999999999999999999"), "anon"), 0);
}

static char root[] = "/tmp/free_memory_test_XXXXXX";

static size_t left(const char *text) { return freeMemoryInGroups(root, sliceStr(text)); }

TEST(free_memory_is_what_the_tightest_group_leaves) {
    if (!CHECK(mkdtemp(root) != NULL)) return;
    CHECK(left("0::/a/b\n") == SIZE_MAX);
    put(root, "/a/memory.max", "1000000\n");
    put(root, "/a/memory.current", "400000\n");
    put(root, "/a/b/memory.max", "max\n");
    put(root, "/a/b/memory.current", "300000\n");
    CHECK_EQ_INT(left("0::/a/b\n"), 600000);
    CHECK_EQ_INT(left("0::/a\n"), 600000);
    CHECK(left("0::/\n") == SIZE_MAX && left("") == SIZE_MAX && left("0::/../..\n") == SIZE_MAX);
    put(root, "/a/b/memory.max", "500000\n");
    CHECK_EQ_INT(left("0::/a/b\n"), 200000);
    put(root, "/a/b/memory.stat", "anon 1\ninactive_file 50000\n"); /* file cache that the kernel drops */
    CHECK_EQ_INT(left("0::/a/b\n"), 250000);
    put(root, "/a/b/memory.current", "600000\n");
    CHECK_EQ_INT(left("0::/a/b\n"), 0);
    put(root, "/memory/c/memory.limit_in_bytes", "9223372036854771712\n");
    put(root, "/memory/c/memory.usage_in_bytes", "5\n");
    CHECK(left("4:memory:/c\n") == SIZE_MAX);
    put(root, "/memory/c/memory.limit_in_bytes", "25\n");
    CHECK_EQ_INT(left("4:memory:/c\n"), 20);
    char clean[600];
    snprintf(clean, sizeof(clean), "rm -rf %s", root);
    CHECK_EQ_INT(system(clean), 0);
}

TEST(free_memory_of_this_machine_is_known) {
    size_t bytes = freeMemoryBytes();
    CHECK(bytes > 0 && bytes < SIZE_MAX);
}

/* free_memory.c -- the memory that this process may still take: of the machine, and of its control groups.
 *
 * Threads     any.
 * Tests       tests/unit/base/free_memory_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "free_memory.h"

#include "control_groups.h"
#include "numbers.h"

#include <stdint.h>
#include <string.h>

#define LIMIT_MAX (1LL << 60) /* a larger number is no limit: version 1 writes nearly 2^63 for none */

static slice numberAt(slice *text) {
    while (text->len > 0 && (*text->ptr == ' ' || *text->ptr == '\t')) text->ptr++, text->len--;
    size_t len = 0;
    while (len < text->len && text->ptr[len] >= '0' && text->ptr[len] <= '9') len++;
    slice number = sliceOf(text->ptr, len);
    text->ptr += len, text->len -= len;
    return number;
}

size_t freeMemoryField(slice text, const char *name) {
    size_t len = strlen(name);
    while (text.len > 0) {
        slice line = sliceTakeUntil(&text, '\n');
        if (line.len <= len || memcmp(line.ptr, name, len) != 0 || (line.ptr[len] != ' ' && line.ptr[len] != ':'))
            continue;
        slice rest = sliceOf(line.ptr + len + 1, line.len - len - 1), number = numberAt(&rest);
        long long n;
        if (!string2ll(number.ptr, number.len, &n) || n < 0 || n >= LIMIT_MAX) return 0;
        return (size_t)n * (sliceEq(rest, sliceStr(" kB")) ? 1024 : 1);
    }
    return 0;
}

/* Returns the number in a file of a group; -1: no file, or no number ("max"). */
static long long numberOfGroup(const char *folder, slice group, const char *name) {
    char buf[64];
    long long n;
    slice text = controlGroupRead(folder, group, name, buf, sizeof(buf)), number = numberAt(&text);
    return string2ll(number.ptr, number.len, &n) && n < LIMIT_MAX ? n : -1;
}

static size_t leftInGroup(const char *folder, slice group, const char *limit, const char *usage) {
    char buf[SYSTEM_TEXT_MAX];
    long long most = numberOfGroup(folder, group, limit), used = numberOfGroup(folder, group, usage);
    if (most < 0 || used < 0) return SIZE_MAX;
    size_t cache = freeMemoryField(controlGroupRead(folder, group, "memory.stat", buf, sizeof(buf)), "inactive_file");
    size_t taken = (size_t)used > cache ? (size_t)used - cache : 0;
    return (size_t)most > taken ? (size_t)most - taken : 0;
}

static size_t less(size_t a, size_t b) { return a < b ? a : b; }

typedef struct tightest {
    const char *limit, *usage; /* names of the files */
    size_t left;
} tightest;

static void addGroup(void *arg, const char *folder, slice group) {
    tightest *t = arg;
    t->left = less(t->left, leftInGroup(folder, group, t->limit, t->usage));
}

/* Returns the least that the group, the groups around it and the folder itself leave. */
static size_t leftUnder(const char *root, const char *mount, slice group, const char *limit, const char *usage) {
    tightest t = {limit, usage, SIZE_MAX};
    controlGroupEach(root, mount, group, addGroup, &t);
    return t.left;
}

size_t freeMemoryInGroups(const char *root, slice text) {
    slice two = controlGroupOf(text, NULL), one = controlGroupOf(text, "memory");
    return less(leftUnder(root, "", two, "memory.max", "memory.current"),
                leftUnder(root, "/memory", one, "memory.limit_in_bytes", "memory.usage_in_bytes"));
}

size_t freeMemoryBytes(void) {
    char text[SYSTEM_TEXT_MAX];
    size_t groups = freeMemoryInGroups(CONTROL_GROUPS_ROOT, systemFileRead("/proc/self/cgroup", text, sizeof(text)));
    size_t machine = freeMemoryField(systemFileRead("/proc/meminfo", text, sizeof(text)), "MemAvailable");
    return machine ? less(machine, groups) : groups;
}

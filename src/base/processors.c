/* processors.c -- the number of processors that this process may use.
 *
 * A container is limited either to processors (affinity) or to an amount of time (a quota of its cgroup). When that
 * is used up, the kernel stops all its threads: eight threads with the time of two are stopped for three
 * quarters of each period. Groups are nested, and each may have a limit. In a container the folder may be that of the
 * container's own group while the path is the one outside of the container, so the folder itself is read, too.
 *
 * Trust       the files belong to the system, or to an attacker who can replace them: unexpected content means no
 *             limit, lengths are bounded, and a path with ".." is not followed.
 * Threads     any.
 * Tests       tests/unit/base/processors_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "processors.h"

#include "numbers.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup"
#define TEXT_MAX 16384
#define CPUS_AT_FIRST 1024
#define CPUS_MAX (1 << 20)
#define PROCESSORS_MAX 1000000 /* a larger number is no limit */

/* --- text ------------------------------------------------------------------------------------------------ */

static slice processorsTrimmed(slice s) {
    while (s.len > 0 && (s.ptr[s.len - 1] == '\n' || s.ptr[s.len - 1] == ' ')) s.len--;
    return s;
}

int processorsOfQuota(slice quota, slice period) {
    long long q, p;
    quota = processorsTrimmed(quota);
    period = processorsTrimmed(period);
    if (!string2ll(quota.ptr, quota.len, &q) || !string2ll(period.ptr, period.len, &p)) return 0;
    if (q <= 0 || p <= 0) return 0;
    long long n = q / p + (q % p != 0);
    return n <= PROCESSORS_MAX ? (int)n : 0;
}

int processorsOfMax(slice text) {
    text = processorsTrimmed(text);
    slice quota = sliceTakeUntil(&text, ' '); /* "max" is not a number */
    return processorsOfQuota(quota, text);
}

/* Each line of `text` is "N:controller,controller:/path". */
slice processorsGroup(slice text, const char *controller) {
    while (text.len > 0) {
        slice line = sliceTakeUntil(&text, '\n');
        slice number = sliceTakeUntil(&line, ':'), names = sliceTakeUntil(&line, ':');
        if (!controller && sliceEq(number, sliceStr("0")) && names.len == 0) return line;
        while (controller && names.len > 0)
            if (sliceIs(sliceTakeUntil(&names, ','), controller)) return line;
    }
    return sliceOf("", 0);
}

/* --- files --------------------------------------------------------------------------------------------------- */

/* Returns the file's text; empty if it cannot be read. */
static slice readFile(const char *path, char *buf, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return sliceOf(buf, 0);
    size_t len = 0;
    ssize_t n;
    while (len < size && (n = read(fd, buf + len, size - len)) > 0) len += (size_t)n;
    close(fd);
    return sliceOf(buf, len);
}

static slice readIn(const char *folder, slice group, const char *name, char *buf, size_t size) {
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s%.*s/%s", folder, (int)group.len, group.ptr, name);
    return len < (int)sizeof(path) ? readFile(path, buf, size) : sliceOf(buf, 0);
}

static int limitOfGroup(const char *folder, slice group) {
    char a[64], b[64];
    int n = processorsOfMax(readIn(folder, group, "cpu.max", a, sizeof(a)));
    if (n > 0) return n;
    slice quota = readIn(folder, group, "cpu.cfs_quota_us", a, sizeof(a));
    return processorsOfQuota(quota, readIn(folder, group, "cpu.cfs_period_us", b, sizeof(b)));
}

static int tighter(int a, int b) {
    if (a == 0 || b == 0) return a + b;
    return a < b ? a : b;
}

/* Returns the smallest limit of the group, of the groups around it, and of the folder itself. */
static int limitUnder(const char *root, const char *mount, slice group) {
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof(folder), "%s%s", root, mount) >= (int)sizeof(folder)) return 0;
    if (group.len >= PATH_MAX || memmem(group.ptr, group.len, "..", 2)) group.len = 0;
    int least = 0;
    while (group.len > 0) {
        if (group.ptr[group.len - 1] != '/') least = tighter(least, limitOfGroup(folder, group));
        while (group.len > 0 && group.ptr[group.len - 1] != '/') group.len--;
        if (group.len > 0) group.len--;
    }
    return tighter(least, limitOfGroup(folder, group));
}

int processorsGranted(const char *root, slice text) {
    slice two = processorsGroup(text, NULL), one = processorsGroup(text, "cpu");
    int least = tighter(limitUnder(root, "", two), limitUnder(root, "/unified", two));
    return tighter(least, tighter(limitUnder(root, "/cpu", one), limitUnder(root, "/cpu,cpuacct", one)));
}

static int inAffinity(void) {
    for (int cpus = CPUS_AT_FIRST; cpus <= CPUS_MAX;
         cpus *= 4) { /* the set must be large enough for all processors that the kernel knows */
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (!set) return 1;
        size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        int n = sched_getaffinity(getpid(), size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (n > 0) return n;
    }
    return 1;
}

int processorsAvailable(void) {
    char text[TEXT_MAX];
    int limit = processorsGranted(ROOT, readFile("/proc/self/cgroup", text, sizeof(text)));
    int n = tighter(inAffinity(), limit);
    return n > 1 ? n : 1;
}

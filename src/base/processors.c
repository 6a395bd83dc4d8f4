/* processors.c -- the number of processors that this process may use.
 *
 * A container is limited either to processors (affinity) or to an amount of time (a quota of its cgroup). When that
 * is used up, the kernel stops all its threads: eight threads with the time of two are stopped for three
 * quarters of each period. Unexpected content of its files means no limit.
 *
 * Threads     any.
 * Tests       tests/unit/base/processors_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "processors.h"

#include "control_groups.h"
#include "numbers.h"

#include <sched.h>
#include <unistd.h>

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

/* --- groups ------------------------------------------------------------------------------------------------ */

static int limitOfGroup(const char *folder, slice group) {
    char a[64], b[64];
    int n = processorsOfMax(controlGroupRead(folder, group, "cpu.max", a, sizeof(a)));
    if (n > 0) return n;
    slice quota = controlGroupRead(folder, group, "cpu.cfs_quota_us", a, sizeof(a));
    return processorsOfQuota(quota, controlGroupRead(folder, group, "cpu.cfs_period_us", b, sizeof(b)));
}

static int tighter(int a, int b) {
    if (a == 0 || b == 0) return a + b;
    return a < b ? a : b;
}

static void addLimit(void *arg, const char *folder, slice group) {
    int *least = arg;
    *least = tighter(*least, limitOfGroup(folder, group));
}

/* Returns the smallest limit of the group, of the groups around it, and of the folder itself. */
static int limitUnder(const char *root, const char *mount, slice group) {
    int least = 0;
    controlGroupEach(root, mount, group, addLimit, &least);
    return least;
}

int processorsGranted(const char *root, slice text) {
    slice two = controlGroupOf(text, NULL), one = controlGroupOf(text, "cpu");
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
    char text[SYSTEM_TEXT_MAX];
    int limit = processorsGranted(CONTROL_GROUPS_ROOT, systemFileRead("/proc/self/cgroup", text, sizeof(text)));
    int n = tighter(inAffinity(), limit);
    return n > 1 ? n : 1;
}

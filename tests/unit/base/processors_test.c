/* processors_test.c -- the processors that affinity and control groups allow.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "processors.h"
#include "group_files.h"
#include "unit.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int ofMax(const char *text) { return processorsOfMax(sliceStr(text)); }

TEST(processors_read_cpu_max) {
    CHECK_EQ_INT(ofMax("max 100000\n"), 0);
    CHECK_EQ_INT(ofMax("100000 100000\n"), 1);
    CHECK_EQ_INT(ofMax("100001 100000\n"), 2); /* rounded up */
    CHECK_EQ_INT(ofMax("1000 100000\n"), 1);
    CHECK_EQ_INT(ofMax("1600000 100000"), 16);
    CHECK_EQ_INT(ofMax("250000 50000\n"), 5);
}

TEST(processors_take_no_limit_from_what_is_malformed) {
    static const char *bad[] = {"",
                                "\n",
                                " ",
                                "max",
                                "1",
                                "1 ",
                                " 1",
                                "0 100000",
                                "-1 100000",
                                "100000 0",
                                "100000 -5",
                                "100000  100000",
                                "a b",
                                "99999999999999999999 1",
                                "9223372036854775807 1",
                                "100000 100000 100000",
                                "1e5 100000",
                                "100000\n100000"};
    for (size_t i = 0; i < array_len(bad); i++) CHECK_EQ_INT(ofMax(bad[i]), 0);
    CHECK_EQ_INT(processorsOfMax(sliceOf("100000 100000\0", 14)), 0);
    for (size_t len = 0; len < 14; len++) { /* cut off anywhere: no limit, or the one that was read */
        int n = processorsOfMax(sliceOf("300000 100000\n", len));
        CHECK(n >= 0 && n <= 300000);
    }
}

TEST(processors_read_the_older_quota) {
    CHECK_EQ_INT(processorsOfQuota(sliceStr("-1\n"), sliceStr("100000\n")), 0);
    CHECK_EQ_INT(processorsOfQuota(sliceStr("350000\n"), sliceStr("100000\n")), 4);
    CHECK_EQ_INT(processorsOfQuota(sliceStr("350000\n"), sliceStr("")), 0);
}

/* --- under a root of our own ------------------------------------------------------------------------------ */

static char root[] = "/tmp/processors_test_XXXXXX";

static int granted(const char *text) { return processorsGranted(root, sliceStr(text)); }

TEST(processors_follow_the_groups_around_theirs) {
    CHECK(mkdtemp(root) != NULL);
    CHECK_EQ_INT(granted("0::/a/b\n"), 0); /* absent */
    put(root, "/a/b/cpu.max", "max 100000\n");
    CHECK_EQ_INT(granted("0::/a/b\n"), 0);
    put(root, "/a/cpu.max", "700000 100000\n");
    CHECK_EQ_INT(granted("0::/a/b\n"), 7);
    put(root, "/a/b/cpu.max", "250000 100000\n");
    CHECK_EQ_INT(granted("0::/a/b\n"), 3);
    put(root, "/a/cpu.max", "150000 100000\n"); /* a changed limit is noticed */
    CHECK_EQ_INT(granted("0::/a/b\n"), 2);
    CHECK_EQ_INT(granted("0::/a/c\n"), 2); /* absent itself */
    CHECK_EQ_INT(granted("0::/a/c/d/e\n"), 2);
    CHECK_EQ_INT(granted("0::/\n"), 0);
    CHECK_EQ_INT(granted("0::/a/../a/b\n"), 0); /* no path that climbs is followed */
    put(root, "/cpu.max", "600000 100000\n");   /* in a container: the folder is the group */
    CHECK_EQ_INT(granted("0::/elsewhere\n"), 6);
    CHECK_EQ_INT(granted("0::/a/../a/b\n"), 6);
    put(root, "/cpu/d/cpu.cfs_quota_us", "400000\n");
    put(root, "/cpu/d/cpu.cfs_period_us", "100000\n");
    CHECK_EQ_INT(granted("0::/\n3:cpu:/d\n"), 4);
    CHECK_EQ_INT(granted("3:cpu,cpuacct:/d\n"), 4);
    put(root, "/cpu/d/cpu.cfs_quota_us", "-1\n");
    CHECK_EQ_INT(granted("3:cpu:/d\n"), 6);
    char clean[600];
    snprintf(clean, sizeof(clean), "rm -rf %s", root);
    CHECK_EQ_INT(system(clean), 0);
}

static void bindToOne(void *arg) {
    cpu_set_t set;
    unused(arg);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) _exit(77);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &set)) cpu++;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    int before = processorsAvailable();
    if (sched_setaffinity(0, sizeof(set), &set) != 0) _exit(77);
    _exit(before >= 1 && processorsAvailable() == 1 ? 0 : 1);
}

TEST(processors_follow_affinity) {
    char out[256];
    int status = unitInChild(bindToOne, NULL, out, sizeof(out));
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
}

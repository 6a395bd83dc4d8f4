/* system_check.c -- finds system settings that make a server slow or let it fail, and gives advice.
 *
 * Scripts parse the names in brackets and the words after them.
 *
 * Threads     main.
 * Tests       tests/server/process.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "startup.h"

#include "log.h"
#include "net_settings.h"
#include "server_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#define CLOCKS "/sys/devices/system/clocksource/clocksource0/"
#define CLOCK_PROBE_US 50000 /* of processor time: some ticks of the kernel's accounting */
#define CLOCK_PROBE_S 2      /* limit of elapsed time, if other processes use the processor */
#define CLOCK_READINGS 1000  /* between two readings of the processor time */
#define SYSTEM_SHARE_MAX 0.1 /* share of kernel time that is possible without system calls */

typedef enum {
    SYSTEM_SLOW_CLOCK, /* reading the time takes a system call; the check takes some milliseconds */
    SYSTEM_XEN_CLOCK,  /* the clock is Xen's although a better one is available */
    SYSTEM_OVERCOMMIT, /* fork may be refused */
    SYSTEM_HUGE_PAGES, /* each write after a fork copies 2 MB */
    SYSTEM_TRAITS
} systemTrait;

typedef enum { SYSTEM_GOOD, SYSTEM_BAD, SYSTEM_UNKNOWN } systemState;

/* Reads the first line of a file of /proc or /sys, without its end; "" if it cannot be read. */
static void readLine(const char *path, char *line, int size) {
    *line = '\0';
    FILE *f = fopen(path, "re");
    if (!f) return;
    if (!fgets(line, size, f)) *line = '\0';
    line[strcspn(line, "\n")] = '\0';
    fclose(f);
}

static int64_t asUs(struct timeval t) { return (int64_t)t.tv_sec * 1000000 + t.tv_usec; }

/* Checks whether reading the time takes a system call, by the kernel's share of the processor time. */
static systemState checkSlowClock(void) {
    struct rusage before, now;
    struct timespec begin, t;
    getrusage(RUSAGE_SELF, &before);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        for (int i = 0; i < CLOCK_READINGS; i++) clock_gettime(CLOCK_MONOTONIC, &t);
        getrusage(RUSAGE_SELF, &now);
        int64_t kernel_us = asUs(now.ru_stime) - asUs(before.ru_stime);
        int64_t all_us = kernel_us + asUs(now.ru_utime) - asUs(before.ru_utime);
        if (all_us >= CLOCK_PROBE_US)
            return (double)kernel_us > SYSTEM_SHARE_MAX * (double)all_us ? SYSTEM_BAD : SYSTEM_GOOD;
        if (t.tv_sec - begin.tv_sec >= CLOCK_PROBE_S) return SYSTEM_UNKNOWN;
    }
}

static systemState checkXenClock(void) {
    char clock[64], others[256];
    readLine(CLOCKS "current_clocksource", clock, sizeof(clock));
    readLine(CLOCKS "available_clocksource", others, sizeof(others));
    return strcmp(clock, "xen") == 0 && strstr(others, "tsc") ? SYSTEM_BAD : SYSTEM_GOOD;
}

static systemState checkOvercommit(void) {
    char line[16];
    readLine("/proc/sys/vm/overcommit_memory", line, sizeof(line));
    if (!*line) return SYSTEM_UNKNOWN;
    return strcmp(line, "0") == 0 ? SYSTEM_BAD : SYSTEM_GOOD;
}

static systemState checkHugePages(void) {
    char line[128];
    readLine("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line));
    return strstr(line, "[always]") ? SYSTEM_BAD : SYSTEM_GOOD;
}

static const struct {
    const char *name;
    systemState (*check)(void);
    const char *advice;
} traits[SYSTEM_TRAITS] = {
    [SYSTEM_SLOW_CLOCK] =
        {"slow-clocksource", checkSlowClock,
         "Reading the time takes a system call here, and a server reads it in each loop iteration. " CLOCKS
         "available_clocksource names the clocks of this machine, current_clocksource the one in use: "
         "tsc needs no system call, nor do those of KVM and Hyper-V. To change it, as root: echo tsc "
         "> " CLOCKS "current_clocksource, and clocksource=tsc on the kernel's command line for the "
         "next boot."},
    [SYSTEM_XEN_CLOCK] = {"xen-clocksource", checkXenClock,
                          "The clock in use is Xen's, which takes a system call for each reading, although the "
                          "processor's own is there. To change it, as root: echo tsc > " CLOCKS "current_clocksource, "
                          "and clocksource=tsc on the kernel's command line for the next boot."},
    [SYSTEM_OVERCOMMIT] =
        {"overcommit", checkOvercommit,
         "vm.overcommit_memory is 0: with much data in memory the system may refuse to fork, although "
         "little more would be used. To allow it: sysctl vm.overcommit_memory=1, and the same in "
         "/etc/sysctl.conf for the next boot."},
    [SYSTEM_HUGE_PAGES] = {"THP", checkHugePages,
                           "Transparent huge pages are on: after a fork, each write copies 2 MB instead of 4 KB, which "
                           "takes time and memory. To have them only where a program asks for them, as root: echo "
                           "madvise > /sys/kernel/mm/transparent_hugepage/enabled -- then restart the server."},
};

void systemCheckWarn(void) {
    char line[32];
    readLine("/proc/sys/net/core/somaxconn", line, sizeof(line));
    long backlog = strtol(line, NULL, 10);
    if (backlog > 0 && backlog < net_settings.tcp_backlog)
        serverLog(LL_WARNING,
                  "tcp-backlog is %lld, but the system limits the queue of a listening socket to %ld connections "
                  "(net.core.somaxconn). Raise that limit, or lower tcp-backlog.",
                  net_settings.tcp_backlog, backlog);
    if (checkOvercommit() == SYSTEM_BAD) serverLog(LL_WARNING, "%s", traits[SYSTEM_OVERCOMMIT].advice);
    if (checkHugePages() != SYSTEM_BAD) return;
    if (server_settings.disable_thp && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0) return;
    serverLog(LL_WARNING, "%s", traits[SYSTEM_HUGE_PAGES].advice);
}

int systemCheckAll(void) {
    int exit_code = 0;
    for (systemTrait i = 0; i < SYSTEM_TRAITS; i++) {
        printf("[%s]...", traits[i].name);
        fflush(stdout);
        switch (traits[i].check()) {
        case SYSTEM_GOOD: printf("OK\n"); break;
        case SYSTEM_UNKNOWN: printf("skipped\n"); break;
        case SYSTEM_BAD:
            printf("WARNING:\n%s\n", traits[i].advice);
            exit_code = 1;
            break;
        }
    }
    return exit_code;
}

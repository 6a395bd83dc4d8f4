/* clock.c -- converts the time stamp counter to nanoseconds, and times to dates without a lock.
 *
 * If the processor reports that its counter has a constant rate in all states (constant_tsc and
 * nonstop_tsc, in /proc/cpuinfo), ten milliseconds of it are measured against CLOCK_MONOTONIC, and a
 * reading becomes nanoseconds by one multiplication and one shift. Elsewhere a tick is a nanosecond of
 * CLOCK_MONOTONIC.
 *
 * Owns        the rate (const after clockInit) and the offset of the time zone (atomic, relaxed).
 * Invariants  1. ns = ticks * ns_per_tick_2_32 / 2^32 in 128 bits: no overflow for 500 years.
 * Tests       tests/unit/base/clock_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CALIBRATION_NS 10000000

static bool counter_used;
static uint64_t ns_per_tick_2_32 = (uint64_t)1 << 32;
static char info[64] = "POSIX clock_gettime";

static _Atomic long zone_offset_s; /* seconds east of Greenwich */
static _Atomic int zone_dst;

static uint64_t systemNs(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t scale(uint64_t ticks) {
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)(((u128)ticks * ns_per_tick_2_32) >> 32);
}

#if defined(__x86_64__)

static uint64_t readCounter(void) { return __builtin_ia32_rdtsc(); }

static bool counterIsSteady(void) {
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f) return false;
    char line[8192];
    bool steady = false;
    while (fgets(line, sizeof(line), f)) {
        if (strncmp(line, "flags", 5) != 0) continue;
        steady = strstr(line, " constant_tsc") && strstr(line, " nonstop_tsc");
        break;
    }
    fclose(f);
    return steady;
}

/* Takes a pair of readings as close in time as a few tries allow. */
static void readBoth(uint64_t *ticks, uint64_t *ns) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        uint64_t before = readCounter();
        uint64_t now = systemNs();
        uint64_t after = readCounter();
        if (after - before >= best) continue;
        best = after - before;
        *ticks = before + (after - before) / 2;
        *ns = now;
    }
}

static void startCounter(void) {
    if (!counterIsSteady()) return;
    uint64_t ticks0 = 0, ns0 = 0, ticks1 = 0, ns1 = 0;
    readBoth(&ticks0, &ns0);
    struct timespec pause = {0, CALIBRATION_NS - 1000000};
    nanosleep(&pause, NULL);
    readBoth(&ticks1, &ns1);
    uint64_t ticks = ticks1 - ticks0, ns = ns1 - ns0;
    /* A counter that is slower than 100 MHz or stands still cannot be trusted. */
    if (ns == 0 || ticks < ns / 10) return;
    __extension__ typedef unsigned __int128 u128;
    ns_per_tick_2_32 = (uint64_t)(((u128)ns << 32) / ticks);
    snprintf(info, sizeof(info), "X86 TSC @ %.2f ticks/us", (double)ticks * 1000.0 / (double)ns);
    counter_used = true;
}

#elif defined(__aarch64__)

static uint64_t readCounter(void) {
    uint64_t v;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(v));
    return v;
}

/* The architecture guarantees a steady counter and provides its rate. */
static void startCounter(void) {
    uint64_t hz;
    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    if (hz < 1000000) return;
    __extension__ typedef unsigned __int128 u128;
    ns_per_tick_2_32 = (uint64_t)(((u128)1000000000u << 32) / hz);
    snprintf(info, sizeof(info), "ARM CNTVCT @ %llu ticks/us", (unsigned long long)(hz / 1000000));
    counter_used = true;
}

#else

static uint64_t readCounter(void) { return systemNs(); }

static void startCounter(void) {}

#endif

void clockInit(void) {
    clockRefreshTimezone();
    if (!counter_used) startCounter();
}

const char *clockMonotonicInfo(void) { return info; }
monotime clockTicks(void) { return likely(counter_used) ? readCounter() : systemNs(); }
uint64_t clockTicksToNs(monotime ticks) { return likely(counter_used) ? scale(ticks) : ticks; }
uint64_t clockMonotonicUs(void) { return clockTicksToNs(clockTicks()) / 1000; }
uint64_t clockMonotonicMs(void) { return clockTicksToNs(clockTicks()) / 1000000; }

static _Atomic int64_t stopped_at_ms; /* 0: the wall clock follows the system's */

void clockStopWall(int64_t ms) { atomic_store_explicit(&stopped_at_ms, ms, memory_order_relaxed); }

int64_t clockWallUs(void) {
    int64_t stopped_ms = atomic_load_explicit(&stopped_at_ms, memory_order_relaxed);
    if (unlikely(stopped_ms)) return stopped_ms * 1000;
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clockWallMs(void) { return clockWallUs() / 1000; }

long long clockIdleMs(void) {
    char text[128];
    double up, idle;
    int fd = open("/proc/uptime", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0) return -1;
    text[n] = '\0';
    return sscanf(text, "%lf %lf", &up, &idle) == 2 ? (long long)(idle * 1000) : -1;
}

void clockRefreshTimezone(void) {
    time_t now = time(NULL);
    struct tm tm;
    tzset();
    if (!localtime_r(&now, &tm)) return;
    atomic_store_explicit(&zone_offset_s, tm.tm_gmtoff, memory_order_relaxed);
    atomic_store_explicit(&zone_dst, tm.tm_isdst, memory_order_relaxed);
}

/* Converts days since 1970-01-01 to a date of the Gregorian calendar. Years are counted from March, so that a leap day
 * is the last day of its year; 146097 days make 400 years. */
static void dateOfDay(int64_t day, struct tm *out) {
    day += 719468; /* from 0000-03-01 */
    int64_t era = (day >= 0 ? day : day - 146096) / 146097;
    int64_t doe = day - era * 146097;                                    /* 0..146096 */
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365; /* 0..399 */
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);               /* 0..365 from March 1 */
    int64_t mp = (5 * doy + 2) / 153;                                    /* 0..11 from March */
    int64_t year = yoe + era * 400 + (mp >= 10);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    out->tm_mday = (int)(doy - (153 * mp + 2) / 5 + 1);
    out->tm_mon = (int)(mp < 10 ? mp + 2 : mp - 10);
    out->tm_year = (int)(year - 1900);
    out->tm_yday = (int)(mp < 10 ? doy + 59 + leap : doy - 306);
}

void clockLocalTime(struct tm *out, int64_t unix_s) {
    long offset = atomic_load_explicit(&zone_offset_s, memory_order_relaxed);
    int64_t local = unix_s + offset;
    int64_t day = local / 86400, rest = local % 86400;
    if (rest < 0) {
        rest += 86400;
        day--;
    }
    memset(out, 0, sizeof(*out));
    dateOfDay(day, out);
    out->tm_hour = (int)(rest / 3600);
    out->tm_min = (int)(rest / 60 % 60);
    out->tm_sec = (int)(rest % 60);
    out->tm_wday = (int)(((day + 4) % 7 + 7) % 7);
    out->tm_isdst = atomic_load_explicit(&zone_dst, memory_order_relaxed);
    out->tm_gmtoff = offset;
}

/* clock_test.c -- compares monotonic time with the system's, dates with localtime.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t systemUs(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Ticks, and the two times of the system clock between which they were read. */
typedef struct bracket {
    uint64_t before_us, behind_us;
    monotime ticks;
} bracket;

/* Returns the closest of several readings: an interruption in between makes the bracket wide, never wrong. */
static bracket readBoth(void) {
    bracket best = {0, UINT64_MAX, 0};
    for (int i = 0; i < 50; i++) {
        bracket b = {.before_us = systemUs()};
        b.ticks = clockTicks();
        b.behind_us = systemUs();
        if (b.behind_us - b.before_us < best.behind_us - best.before_us) best = b;
    }
    return best;
}

TEST(ticks_run_like_the_system_clock) {
    clockInit();
    bracket from = readBoth();
    struct timespec pause = {0, 50000000};
    nanosleep(&pause, NULL);
    bracket to = readBoth();
    uint64_t ours = clockTicksToUs(to.ticks - from.ticks);
    uint64_t least = to.before_us - from.behind_us, most = to.behind_us - from.before_us;
    /* Allows one part in a thousand, and rounding. */
    CHECK(ours + least / 1000 + 2 >= least && ours <= most + most / 1000 + 2);
    CHECK(strstr(clockMonotonicInfo(), "POSIX clock_gettime") || strstr(clockMonotonicInfo(), "ticks/us"));
}

TEST(monotonic_does_not_go_back) {
    uint64_t last = clockMonotonicUs();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = clockMonotonicUs();
        if (!CHECK(now >= last)) return;
        last = now;
    }
    CHECK(clockTicksToNs(0) == 0);
    /* A year of ticks at 4 GHz does not overflow. */
    CHECK(clockTicksToNs((uint64_t)4000000000u * 86400 * 366) > (uint64_t)86400 * 366 * 1000000000 / 4);
}

/* The seconds of the C library may lag by a tick. */
TEST(wall_clock_is_now) {
    int64_t before = time(NULL), ms = clockWallMs(), us = clockWallUs(), behind = time(NULL);
    CHECK(before <= ms / 1000 && ms / 1000 <= behind + 1);
    CHECK(before <= us / 1000000 && us / 1000000 <= behind + 1);
}

TEST(wall_clock_stands_where_a_test_stops_it) {
    clockStopWall(1700000000123);
    CHECK_EQ_INT(clockWallMs(), 1700000000123);
    CHECK_EQ_INT(clockWallUs(), 1700000000123000);
    clockStopWall(0);
    int64_t now = time(NULL);
    CHECK(clockWallMs() / 1000 >= now - 1);
}

/* The amount is not known, but it does not decrease, and grows no faster than if all processors slept. */
TEST(idle_time_only_grows) {
    long long first = clockIdleMs();
    if (first < 0) return; /* not reported by this system */
    struct timespec pause = {0, 50000000};
    nanosleep(&pause, NULL);
    long long last = clockIdleMs();
    CHECK(first > 0 && last >= first);
    CHECK(last - first < 60000 * sysconf(_SC_NPROCESSORS_CONF));
}

static void compareDates(const char *zone) {
    setenv("TZ", zone, 1);
    clockRefreshTimezone();
    uint64_t seed = unitRandomSeed();
    for (int i = 0; i < 20000; i++) {
        time_t t = (time_t)(unitRandom(&seed) % 16725225600u) - 4000000000; /* 1843 to 2373 */
        if (i < 400) t = 951696000 + (time_t)i * 86400 / 4;                 /* around 2000-02-29 */
        struct tm ours, theirs;
        clockLocalTime(&ours, t);
        localtime_r(&t, &theirs);
        bool same = ours.tm_year == theirs.tm_year && ours.tm_mon == theirs.tm_mon && ours.tm_mday == theirs.tm_mday &&
                    ours.tm_hour == theirs.tm_hour && ours.tm_min == theirs.tm_min && ours.tm_sec == theirs.tm_sec &&
                    ours.tm_wday == theirs.tm_wday && ours.tm_yday == theirs.tm_yday &&
                    ours.tm_gmtoff == theirs.tm_gmtoff;
        if (!CHECK(same)) {
            printf("    %lld in %s\n", (long long)t, zone);
            return;
        }
    }
}

TEST(dates_equal_localtime_in_fixed_zones) {
    compareDates("UTC0");
    compareDates("XXX-5:30");
    compareDates("YYY9:30");
    unsetenv("TZ");
    clockRefreshTimezone();
}

/* fork_outlook_test.c -- the facts of the forecast are noted, and the log has a line where an operator needs one.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fork_outlook.h"

#include "clock.h"
#include "failing_calls.h"
#include "log.h"
#include "store_state.h"
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
#define GB ((size_t)1 << 30)
#define LOG ".log"

static const char *logged(void) {
    static char text[1 << 14];
    int fd = open(LOG, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    unlink(LOG);
    return text;
}

TEST(outlook_logs_what_an_operator_has_to_know) {
    enterEmptyFolder();
    logSetFile(LOG);
    logSetLevel(LL_NOTICE);
    CHECK(!forkOutlookLog(100 * MB, 100 * GB));
    CHECK_EQ_STR(logged(), "");
    CHECK(!forkOutlookLog(10 * GB, 100 * GB));
    const char *text = logged();
    CHECK(strstr(text, "with 10.0 GB resident for about ") && !strstr(text, "out of memory"));
    CHECK(forkOutlookLog(10 * GB, 4 * GB));
    text = logged();
    CHECK(strstr(text, "with 10.0 GB resident for about "));
    CHECK(strstr(text, "beside the 10.0 GB in use it is expected to take up to 10.0 GB, and 4.0 GB are free"));
    CHECK(forkOutlookLog(512 * MB, 100 * MB));
    CHECK(strstr(logged(), "out of memory"));
    CHECK(!forkOutlookLog(MB, 0)); /* any process is as large */
    CHECK_EQ_STR(logged(), "");
    logSetFile("");
    logSetLevel(LL_NOTHING);
}

TEST(outlook_follows_the_last_child) {
    clockInit();
    store_stats.dirty = 0;
    forkForecast before = forkOutlookNow();
    CHECK(before.stall_us > 0 && before.memory < before.memory_limit);
    forkOutlookForked(GB, 500000); /* slower than usual */
    CHECK(forkOutlookNow().stall_us != before.stall_us);
    store_stats.dirty = 50000;
    usleep(20000);
    forkOutlookCompleted(200 * MB);
    /* 50,000 changes in 20 ms are expected to go on. */
    CHECK(forkOutlookNow().memory > before.memory);
    store_stats.dirty = 0; /* saved */
    forkOutlookForked(GB, 100);
    CHECK(forkOutlookNow().stall_us < 500000);
}

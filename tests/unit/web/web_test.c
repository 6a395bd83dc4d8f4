/* web_test.c -- main's part of the metrics port: it takes snapshots while clients request them, and none otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "web.h"

#include "anet.h"
#include "clock.h"
#include "sds.h"
#include "setting.h"
#include "unit.h"
#include "web_fixture.h"
#include "zmalloc.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static const bool protected_mode = true;
static const long long keepalive_s = 300, backlog = 128;
static char *const cpulist = NULL;
static const webWiring wiring = {&protected_mode, &keepalive_s, &backlog, &cpulist};

/* Sets the metrics port to one that is probably free. */
static void takePort(void) {
    char ip[64];
    int port, fd = anetTcpServer(NULL, 0, "127.0.0.1", 1, false);
    anetFdToString(fd, ip, sizeof(ip), &port, false);
    close(fd);
    web_settings.port = port;
    web_settings.bind[0] = zstrdup("127.0.0.1");
    web_settings.bind_count = 1;
}

/* Returns the number of snapshots from a scrape, with ticks of main meanwhile. */
static long long scrape(void) {
    char bytes[4096];
    sds all = sdsEmpty();
    int fd = anetTcpConnect(NULL, "127.0.0.1", (int)web_settings.port, NULL, false);
    CHECK_EQ_INT(send(fd, "GET /metrics HTTP/1.0\r\n\r\n", 25, MSG_NOSIGNAL), 25);
    for (unitLimit limit = unitLimitStart(20000); !unitLimitOver(&limit);) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        webTick();
        if (poll(&p, 1, 1) <= 0) continue;
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n <= 0) break;
        all = sdsCatLen(all, bytes, (size_t)n);
    }
    close(fd);
    const char *at = strstr(all, "\nvalkey_snapshots_total ");
    long long made = CHECK(at) ? atoll(at + strlen("\nvalkey_snapshots_total ")) : -1;
    sdsFree(all);
    return made;
}

TEST(web_main_works_for_who_looks) {
    webFixture();
    takePort();
    if (!CHECK(webStart(&wiring))) return;
    long long first = scrape();
    /* Without requests for over two seconds no snapshot was taken, otherwise the next one would not have the next
     * number. */
    for (uint64_t begin = clockMonotonicMs(); clockMonotonicMs() - begin < 2200;) {
        webTick();
        poll(NULL, 0, 10);
    }
    CHECK_EQ_INT(scrape(), first + 1);
    webStop();
    webStop(); /* no server: does nothing */
    webTick();
    CHECK(webStart(&wiring)); /* the first request gets a new one at once */
    CHECK_EQ_INT(scrape(), first + 2);
    webStop();
}

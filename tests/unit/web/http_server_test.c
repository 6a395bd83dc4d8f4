/* http_server_test.c -- the thread of the metrics port over real sockets: responses, pipelines, slow readers, limits,
 * its end; main gives it snapshots while it serves.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "http_server.h"

#include "ae.h"
#include "anet.h"
#include "clock.h"
#include "unit.h"
#include "web_fixture.h"
#include "zmalloc.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GET_METRICS "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"

static int port;
static int given; /* number of snapshots since the start */

static void startHurried(unsigned speedup) {
    webFixture();
    int fd = anetTcpServer(NULL, 0, "127.0.0.1", 128, false);
    char ip[64];
    if (!CHECK(fd >= 0)) return;
    anetFdToString(fd, ip, sizeof(ip), &port, false);
    anetNonBlock(NULL, fd);
    given = 0;
    httpServerStart(&(httpServerSetup){
        .listeners = &fd, .listeners_count = 1, .keepalive_s = 300, .access = webAccessMake(true), .speedup = speedup});
}

static void start(void) { startHurried(1); }

static int dial(void) {
    int fd = anetTcpConnect(NULL, "127.0.0.1", port, NULL, false);
    CHECK(fd >= 0);
    return fd;
}

static void say(int fd, const char *text) { CHECK_EQ_INT(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text)); }

/* Does what main's tick does. */
static void tick(void) {
    if (!httpServerTakeRequest()) return;
    httpServerSetSnapshot(metricsSnapshotMake());
    given++;
}

/* Runs ticks and returns whether there is input or the end of input. */
static bool awaits(int fd) {
    for (unitLimit limit = unitLimitStart(20000); !unitLimitOver(&limit);) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 1) > 0) return true;
        tick();
    }
    return CHECK(!"an answer in time");
}

/* Appends the bytes that have arrived. Returns false at the end. */
static bool hear(int fd, sds *all) {
    char bytes[65536];
    if (!awaits(fd)) return false;
    ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n > 0) *all = sdsCatLen(*all, bytes, (size_t)n);
    return n > 0;
}

/* Returns all bytes until the end of the connection. */
static sds hearAll(int fd) {
    sds all = sdsEmpty();
    while (hear(fd, &all)) continue;
    close(fd);
    return all;
}

static int count(const char *text, const char *word) {
    int n = 0;
    for (; (text = strstr(text, word)) != NULL; text++) n++;
    return n;
}

/* Sends `text` and returns the responses until the connection ends. */
static sds ask(const char *text) {
    int fd = dial();
    say(fd, text);
    return hearAll(fd);
}

static bool answers(const char *text, const char *start_of_answer, const char *also) {
    sds got = ask(text);
    bool held = CHECK(!strncmp(got, start_of_answer, strlen(start_of_answer)) && strstr(got, also));
    if (!held) fprintf(stderr, "asked <<%s>> and got <<%.600s>>\n", text, got);
    sdsFree(got);
    return held;
}

TEST(http_server_answers) {
    start();
    answers("GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\nvalkey_up 1\n");
    answers("GET /metrics HTTP/1.0\r\nAccept: application/openmetrics-text\r\n\r\n", "HTTP/1.1 200 OK\r\n",
            "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n");
    answers("GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "Content-Security-Policy: default-src 'none'");
    answers("GET /metrics?a=b&names=redis HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\nredis_up 1\n");
    httpServerSetNames(METRICS_NAMES_REDIS);
    answers("GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\nredis_up 1\n");
    answers("GET /metrics?names=valkey HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\nvalkey_up 1\n");
    httpServerSetNames(METRICS_NAMES_VALKEY);
    answers("GET /nosuch HTTP/1.0\r\n\r\n", "HTTP/1.1 404 Not Found\r\n", "\r\n\r\n404 Not Found\n");
    answers("POST / HTTP/1.0\r\n\r\n", "HTTP/1.1 405 Method Not Allowed\r\n", "Allow: GET, HEAD\r\n");
    answers("nonsense\r\n", "HTTP/1.1 400 Bad Request\r\n", "Connection: close\r\n");
    sds head = ask("HEAD /metrics HTTP/1.0\r\n\r\n");
    CHECK(strstr(head, "\r\nContent-Length: ") && !strncmp(head + sdsLen(head) - 4, "\r\n\r\n", 4));
    sdsFree(head);
    sds bare = ask("HEAD /nosuch HTTP/1.0\r\n\r\n");
    CHECK(!strncmp(bare, "HTTP/1.1 404", 12) && !strncmp(bare + sdsLen(bare) - 4, "\r\n\r\n", 4));
    sdsFree(bare);
    httpServerStop();
    CHECK(!httpServerRuns());
}

TEST(http_server_knows_its_page) {
    start();
    sds page = ask("GET / HTTP/1.0\r\n\r\n");
    const char *tag = strstr(page, "ETag: ");
    if (!CHECK(tag)) return;
    char request[256];
    snprintf(request, sizeof(request), "GET / HTTP/1.0\r\nIf-None-Match: %.18s\r\n\r\n", tag + 6);
    sds again = ask(request);
    CHECK(!strncmp(again, "HTTP/1.1 304 Not Modified\r\n", 27) && !strstr(again, "Content-Length"));
    CHECK(!strncmp(again + sdsLen(again) - 4, "\r\n\r\n", 4));
    sdsFree(page);
    sdsFree(again);
    httpServerStop();
}

/* Many requests in one piece get their responses in order, and everything after the first invalid one is ignored. */
TEST(http_server_pipelines) {
    start();
    sds all = ask(GET_METRICS "GET /nosuch HTTP/1.1\r\nHost: a\r\n\r\n"
                              "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n" GET_METRICS
                              "BREW / HTTP/1.1\r\nHost: a\r\n\r\n" GET_METRICS);
    CHECK_EQ_INT(count(all, "HTTP/1.1 200 OK\r\n"), 3);
    CHECK_EQ_INT(count(all, "\nvalkey_up 1\n"), 2);
    CHECK_EQ_INT(count(all, "HTTP/1.1 404 "), 1);
    CHECK_EQ_INT(count(all, "HTTP/1.1 405 "), 1);
    CHECK(strstr(all, "HTTP/1.1 404 ") < strstr(all, "HTTP/1.1 405 "));
    sdsFree(all);
    CHECK(given >= 1 && given <= 2); /* one serves all; another was requested, and may have come by now */

    /* A request in pieces, on a connection that was used before. */
    int fd = dial();
    static const char two[] = GET_METRICS "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for (size_t i = 0; i < sizeof(two) - 1; i += 7) {
        char piece[8] = "";
        strncpy(piece, two + i, 7);
        say(fd, piece);
        tick();
    }
    all = hearAll(fd);
    CHECK_EQ_INT(count(all, "HTTP/1.1 200 OK\r\n"), 2);
    sdsFree(all);
    httpServerStop();
}

/* A client that does not read does not block others, and gets everything when it reads. */
TEST(http_server_slow_reader) {
    enum { MANY = 300 }; /* pages; more than the sockets' buffers hold */
    start();
    int slow = dial();
    for (int i = 0; i < MANY; i++) say(slow, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    say(slow, "GET / HTTP/1.0\r\n\r\n");
    for (int i = 0; i < 20; i++) answers("GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\nvalkey_up 1\n");
    sds all = hearAll(slow);
    CHECK_EQ_INT(count(all, "HTTP/1.1 200 OK\r\n"), MANY + 1);
    sdsFree(all);
    httpServerStop();
}

/* There are at most 256 connections: a new one replaces the one that has been idle for the longest time. */
TEST(http_server_makes_room) {
    enum { MOST = 256, MORE = 10 };
    static int fds[MOST + MORE];
    start();
    for (int i = 0; i < MOST + MORE; i++) {
        fds[i] = dial();
        say(fds[i], "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
        sds head = sdsEmpty();
        CHECK(hear(fds[i], &head) && !strncmp(head, "HTTP/1.1 200", 12)); /* served before the next one connects */
        sdsFree(head);
    }
    for (int i = 0; i < MORE; i++) {
        sds rest = hearAll(fds[i]);
        CHECK_EQ_INT(sdsLen(rest), 0);
        sdsFree(rest);
    }
    sds text = ask("GET /metrics HTTP/1.0\r\n\r\n"); /* replaces one more */
    CHECK(strstr(text, "\nvalkey_web_connections 256\n"));
    CHECK(strstr(text, "\nvalkey_web_turned_away_total 11\n"));
    sdsFree(text);
    httpServerStop();
    for (int i = MORE; i < MOST + MORE; i++) close(fds[i]);
}

/* Connects from another address of this machine, which looks to the thread like another machine. */
static int dialFrom(const char *ip) {
    int fd = anetTcpConnect(NULL, "127.0.0.1", port, ip, false);
    CHECK(fd >= 0);
    return fd;
}

enum { SLOTS = 256 };
static int slow_fds[SLOTS];

static int dialWithSmallBuffer(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096; /* takes effect if set before the handshake */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(0x7f000001)}};
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
    return fd;
}

/* Takes all slots by peers that send `text` many times and never read. */
static void takeSlots(const char *text, int times, bool is_answered) {
    sds all = sdsEmpty();
    for (int i = 0; i < times; i++) all = sdsCat(all, text);
    for (int i = 0; i < SLOTS; i++) {
        slow_fds[i] = dialWithSmallBuffer();
        (void)send(slow_fds[i], all, sdsLen(all), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    for (int i = 0; i < SLOTS && is_answered; i++) awaits(slow_fds[i]);
    sdsFree(all);
}

static void letSlotsGo(void) {
    for (int i = 0; i < SLOTS; i++) close(slow_fds[i]);
}

/* Peers that occupy all slots, in any state, do not keep others out. */
TEST(http_server_slow_peers_keep_nobody_out) {
    static const struct {
        const char *text;
        int times;
    } kinds[] = {{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200},
                 {"GET /nosuch HTTP/1.1\r\nHost: a\r\nAuthorization: Basic !\r\n\r\n", 60},
                 {"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 200},
                 {"GET / HTTP/1.1\r\nHost: a\r\nA: ", 1},
                 {"nonsense\r\n", 300}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        start();
        takeSlots(kinds[i].text, kinds[i].times, kinds[i].times > 1);
        for (int j = 0; j < 10; j++) answers("GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\nvalkey_up 1\n");
        httpServerStop();
        letSlotsGo();
    }
}

/* A connection of an address with few connections is not closed for those of an address with many. */
TEST(http_server_shares_slots_by_address) {
    start();
    int fd = dialFrom("127.0.0.2");
    say(fd, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    sds head = sdsEmpty();
    CHECK(hear(fd, &head));
    takeSlots("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 1, true);
    /* It has been idle for the longest time, but is still open. */
    for (int j = 0; j < 10; j++) answers("HEAD / HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "");
    say(fd, "GET / HTTP/1.0\r\n\r\n");
    sds rest = hearAll(fd);
    CHECK(!strncmp(rest, "HTTP/1.1 200", 12));
    sdsFree(head);
    sdsFree(rest);
    httpServerStop();
    letSlotsGo();
}

/* Sends `text` repeatedly without a pause and reads the responses until the connection ends. Returns how often they
 * contained `word`; `*size` is their length in bytes. */
static int askWithoutPause(const char *text, const char *word, size_t *size) {
    int fd = dial(), told = 0;
    size_t at = 0, len = strlen(text);
    char bytes[65536 + 1];
    anetNonBlock(NULL, fd);
    *size = 0;
    for (unitLimit limit = unitLimitStart(20000); !unitLimitOver(&limit);) {
        struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
        poll(&p, 1, 10);
        if (p.revents & POLLOUT && !told) {
            ssize_t sent = send(fd, text + at, len - at, MSG_NOSIGNAL);
            if (sent > 0) at = (at + (size_t)sent) % len;
        }
        ssize_t n = read(fd, bytes, sizeof(bytes) - 1);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            close(fd);
            return told;
        }
        if (n < 0) continue;
        bytes[n] = '\0';
        *size += (size_t)n;
        told += count(bytes, word);
    }
    CHECK(!"the connection ends");
    close(fd);
    return told;
}

/* A connection whose requests follow each other without a pause is closed with a message, by its bytes or its time. */
TEST(http_server_limits_bursts) {
    const size_t limit = (size_t)64 << 20, answer = 1 << 20;
    size_t size;
    start();
    int told = askWithoutPause("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\r\nConnection: close\r\n", &size);
    CHECK_EQ_INT(told, 1);
    CHECK(size < limit + answer); /* 20 seconds would allow a multiple of that */
    httpServerStop();
    startHurried(40); /* 500 ms */
    told = askWithoutPause("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "\r\nConnection: close\r\n", &size);
    CHECK_EQ_INT(told, 1);
    CHECK(size < limit);
    httpServerStop();
}

TEST(http_server_asks_who) {
    start();
    setUser("default", ">secret");
    setUser("reader", "on >word +info");
    setUser("writer", "on >word +get");
    httpServerSetAccess(webAccessMake(true));
    /* The request is for main, which gives both in order; the wakeup was sent and takes effect before the next
     * request. */
    for (unitLimit limit = unitLimitStart(20000); !unitLimitOver(&limit);) {
        sds got = ask("GET / HTTP/1.0\r\n\r\n");
        bool refused = !strncmp(got, "HTTP/1.1 401", 12);
        sdsFree(got);
        if (refused) break;
    }
    answers("GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.1 401 Unauthorized\r\n",
            "WWW-Authenticate: Basic realm=\"valkey\"");
    answers("GET /nosuch HTTP/1.0\r\n\r\n", "HTTP/1.1 401 ", "");
    answers("GET / HTTP/1.0\r\nAuthorization: Basic cmVhZGVyOndvcmQ=\r\n\r\n", "HTTP/1.1 200 ", "<!doctype html>");
    answers("GET / HTTP/1.0\r\nAuthorization: Basic d3JpdGVyOndvcmQ=\r\n\r\n", "HTTP/1.1 403 ", "403 Forbidden\n");
    answers("GET / HTTP/1.0\r\nAuthorization: Basic cmVhZGVyOm90aGVy\r\n\r\n", "HTTP/1.1 401 ", "");
    answers("GET / HTTP/1.0\r\nAuthorization: Basic !\r\n\r\n", "HTTP/1.1 401 ", "");
    setUser("default", "nopass");
    httpServerStop();
}

/* A host name that resolves to this server is not necessarily trusted: a page of another site could send requests with
 * it. */
TEST(http_server_knows_its_names) {
    start();
    setUser("reader", "on >word +info");
    httpServerSetAccess(webAccessMake(true));
    answers("GET / HTTP/1.1\r\nHost: evil.example:9121\r\nConnection: close\r\n\r\n", "HTTP/1.1 421 ", "localhost");
    answers("GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", "HTTP/1.1 421 ", "");
    answers("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 ", "<!doctype html>");
    bool knows = false; /* the password was asked for in the name of that page */
    for (unitLimit limit = unitLimitStart(20000); !knows && !unitLimitOver(&limit);) {
        sds got = ask("GET / HTTP/1.1\r\nHost: proxy.example\r\nConnection: close\r\n"
                      "Authorization: Basic cmVhZGVyOndvcmQ=\r\n\r\n");
        knows = !strncmp(got, "HTTP/1.1 200", 12);
        sdsFree(got);
    }
    CHECK(knows);
    httpServerStop();
}

/* Returns whether the server closes the connection, after a response that begins with `says`, while main does
 * nothing. */
static bool ends(int fd, const char *says) {
    char bytes[4096];
    sds all = sdsEmpty();
    bool ended = false;
    for (unitLimit limit = unitLimitStart(20000); !ended && !unitLimitOver(&limit);) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 10) <= 0) continue;
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n > 0) all = sdsCatLen(all, bytes, (size_t)n);
        ended = n <= 0;
    }
    bool held = CHECK(ended) && CHECK(!strncmp(all, says, strlen(says)));
    sdsFree(all);
    close(fd);
    return held;
}

/* Sends requests and never reads, until the connection is closed. */
static bool isLetGo(int fd) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for (unitLimit limit = unitLimitStart(20000); !unitLimitOver(&limit);) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        poll(&p, 1, 10);
        if (p.revents & (POLLERR | POLLHUP)) return true;
        if (p.revents & POLLOUT) (void)send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        else poll(NULL, 0, 10);
    }
    return false;
}

/* Each step of a connection has a time limit, after which it is closed, or gets the snapshot that exists. */
TEST(http_server_limits_time) {
    startHurried(100); /* 750 ms for the next request, 100 for the rest of one, 300 for an answer, 15 for main */
    ends(dial(), "");
    int fd = dial();
    say(fd, "GET / HTTP/1.1\r\nHo");
    ends(fd, "");
    fd = dial();
    say(fd, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    ends(fd, "HTTP/1.1 200 OK\r\n"); /* otherwise it would have stayed */
    fd = dial();
    say(fd, "GET /metrics HTTP/1.0\r\n\r\n"); /* main gives nothing */
    ends(fd, "HTTP/1.1 503 Service Unavailable\r\n");
    fd = dial();
    say(fd, "nonsense\r\n");
    sds all = sdsEmpty();
    while (hear(fd, &all)) continue;
    CHECK(!strncmp(all, "HTTP/1.1 400 Bad Request\r\n", 26));
    CHECK(isLetGo(fd)); /* input after the end is no longer read */
    sdsFree(all);
    close(fd);
    int slow = dial(), small = 4096;
    setsockopt(slow, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    CHECK(isLetGo(slow));
    close(slow);
    httpServerStop();
}

/* Main gives snapshots as fast as it can, and the port is turned off and on, while connections begin and end in any
 * state. */
TEST(http_server_with_a_busy_main) {
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 5; round++) {
        int fds[8], open = 0;
        start();
        for (int i = 0; i < 400; i++) {
            int slot = (int)(unitRandom(&rng) % 8);
            if (i % 3 == 0) httpServerSetSnapshot(metricsSnapshotMake());
            if (i % 7 == 0) httpServerSetAccess(webAccessMake(i % 2));
            if (slot >= open && open < 8) slot = open++, fds[slot] = dial();
            switch (unitRandom(&rng) % 4) {
            case 0: (void)send(fds[slot], GET_METRICS GET_METRICS, 2 * strlen(GET_METRICS), MSG_NOSIGNAL); break;
            case 1: (void)send(fds[slot], "GET ", 4, MSG_NOSIGNAL); break;
            case 2: close(fds[slot]), fds[slot] = dial(); break;
            default: (void)send(fds[slot], "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 28, MSG_NOSIGNAL); break;
            }
        }
        httpServerStop();
        for (int i = 0; i < open; i++) close(fds[i]);
    }
}

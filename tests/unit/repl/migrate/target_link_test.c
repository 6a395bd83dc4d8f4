/* target_link_test.c -- reply lines in any division, and the reuse of kept connections.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "target_link.h"

#include "clock.h"
#include "panic.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static int listener;
static char port[16];

static void setUp(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
    socklen_t len = sizeof(at);
    signal(SIGPIPE, SIG_IGN);
    panicSetMainThread();
    clockInit();
    if (listener > 0) return;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK(bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(listener, 200) == 0);
    getsockname(listener, (struct sockaddr *)&at, &len);
    snprintf(port, sizeof(port), "%d", ntohs(at.sin_port));
}

static targetLink *openWith(bool authenticated, const char *host, long long timeout_ms) {
    return targetOpen(sliceStr(host), sliceStr(port), authenticated, timeout_ms);
}

static targetLink *openLink(void) { return openWith(false, "127.0.0.1", PATIENCE_MS); }

/* Returns the other end of a new connection; -1 if there is none. */
static int accepted(void) { return accept(listener, NULL, NULL); }

/* ---- Lines ---- */

typedef struct peer {
    int fd;
    const char *bytes;
    size_t len, piece;
} peer;

static void *sendPieces(void *arg) {
    peer *p = arg;
    int one = 1;
    setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    for (size_t at = 0; at < p->len; at += p->piece) {
        size_t n = p->len - at < p->piece ? p->len - at : p->piece;
        if (write(p->fd, p->bytes + at, n) != (ssize_t)n) break;
    }
    shutdown(p->fd, SHUT_WR);
    return NULL;
}

static void checkLines(const char *text, size_t len, size_t piece, const char *const *lines, size_t count, int error) {
    targetLink *link = openLink();
    if (!CHECK(link != NULL)) return;
    peer p = {accepted(), text, len, piece};
    pthread_t thread;
    slice line;
    pthread_create(&thread, NULL, sendPieces, &p);
    for (size_t i = 0; i < count; i++) {
        if (!CHECK(targetReadLine(link, &line))) break;
        CHECK_EQ_INT(line.len, strlen(lines[i]));
        CHECK_MEM(line.ptr, lines[i], line.len);
    }
    CHECK(!targetReadLine(link, &line));
    CHECK_EQ_INT(errno, error);
    targetDrop(link);
    pthread_join(thread, NULL);
    close(p.fd);
}

TEST(target_lines_in_pieces_of_every_size) {
    static const char text[] = "+OK\r\n\r\n-ERR no\n\n+\r-x\r\r\nrest";
    static const char *const lines[] = {"+OK", "", "-ERR no", "", "+\r-x\r"};
    setUp();
    for (size_t piece = 1; piece < sizeof(text); piece++)
        checkLines(text, sizeof(text) - 1, piece, lines, array_len(lines), ECONNRESET);
}

TEST(target_lines_that_are_too_long) {
    static char text[3 * TARGET_LINE_MAX], longest[TARGET_LINE_MAX];
    static const char *const lines[] = {longest};
    setUp();
    memset(text, 'x', sizeof(text));
    checkLines(text, sizeof(text), 1000, NULL, 0, EBADMSG); /* a line without end */
    memset(longest, 'x', sizeof(longest) - 1);
    text[TARGET_LINE_MAX - 1] = '\n';
    checkLines(text, sizeof(text), 777, lines, 1, EBADMSG);
    checkLines(text, TARGET_LINE_MAX + 5, 777, lines, 1, ECONNRESET);
}

TEST(target_that_says_nothing_is_given_up) {
    setUp();
    slice line;
    targetLink *link = openWith(false, "127.0.0.1", 30);
    int fd = accepted();
    CHECK(!targetReadLine(link, &line));
    CHECK_EQ_INT(errno, ETIMEDOUT);
    targetDrop(link);
    close(fd);
}

/* ---- Links that are kept ---- */

TEST(target_links_are_kept_for_who_asks_for_the_same) {
    setUp();
    targetLink *link = openLink();
    int fd = accepted();
    CHECK(!targetHasDb(link, 0));
    targetSetDb(link, 5);
    targetCache(link);
    CHECK_EQ_INT(targetsCached(), 1);
    CHECK(openLink() == link);
    CHECK_EQ_INT(targetsCached(), 0);
    CHECK(targetHasDb(link, 5) && !targetHasDb(link, 0));
    targetForgetDb(link);
    CHECK(!targetHasDb(link, 5));
    CHECK_EQ_INT(accepted(), -1);
    targetCache(link);

    targetLink *others = openWith(true, "127.0.0.1", PATIENCE_MS); /* of a user that has authenticated */
    CHECK(others != link);
    int others_fd = accepted();
    CHECK(others_fd >= 0);
    targetDrop(others);
    others = openWith(false, "127.0.0.2", PATIENCE_MS);
    CHECK(others != link);
    int more_fd = accepted();
    targetDrop(others);
    targetDrop(openLink());
    CHECK_EQ_INT(targetsCached(), 0);
    close(fd);
    close(others_fd);
    close(more_fd);
}

TEST(target_links_with_bytes_that_nobody_has_asked_for_are_not_kept) {
    static const char *const said[] = {"+OK\r\n+OK\r\n", "+OK\r\nx"};
    setUp();
    for (size_t i = 0; i < array_len(said); i++) {
        slice line;
        targetLink *link = openLink();
        int fd = accepted();
        CHECK(write(fd, said[i], strlen(said[i])) > 0 && targetReadLine(link, &line));
        targetCache(link);
        CHECK_EQ_INT(targetsCached(), 0);
        close(fd);
    }
    targetLink *link = openLink();
    int fd = accepted();
    targetCache(link);
    CHECK_EQ_INT(targetsCached(), 1);
    CHECK_EQ_INT(write(fd, "late", 4), 4);
    link = openLink();
    int second = accepted();
    CHECK(second >= 0);
    targetCache(link);
    close(second); /* closed while it is kept */
    link = openLink();
    CHECK((second = accepted()) >= 0);
    targetDrop(link);
    CHECK_EQ_INT(targetsCached(), 0);
    close(fd);
    close(second);
}

TEST(target_links_kept_have_a_limit) {
    enum { MANY = 70, MOST = 64 };
    int fds[MANY];
    setUp();
    for (int i = 0; i < MANY; i++) {
        char host[32];
        snprintf(host, sizeof(host), "127.0.1.%d", i + 1);
        targetLink *link = openWith(false, host, PATIENCE_MS);
        CHECK(link != NULL);
        fds[i] = accepted();
        targetCache(link);
        CHECK_EQ_INT(targetsCached(), i < MOST ? i + 1 : MOST);
    }
    targetsTick(); /* all were used recently */
    CHECK(targetsCached() > 0);
    for (int i = 0; i < MANY; i++) {
        char host[32];
        snprintf(host, sizeof(host), "127.0.1.%d", i + 1);
        close(fds[i]);
        targetDrop(openWith(false, host, PATIENCE_MS));
        int fd = accepted();
        if (fd >= 0) close(fd);
    }
    CHECK_EQ_INT(targetsCached(), 0);
}

/* conn_unread_test.c -- bytes given back are read first, and once, in whichever loop the connection is then.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "clock.h"
#include "conn_unread.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ITERATE_NOW (AE_ALL_EVENTS | AE_DONT_WAIT)

static uint64_t seed;

typedef struct reader {
    char *got;
    size_t len, step; /* bytes so far, and bytes per read */
    int calls;
} reader;

static void onRead(connection *c) {
    reader *r = c->owner;
    ssize_t n = connRead(c, r->got + r->len, r->step);
    if (n > 0) r->len += (size_t)n;
    r->calls++;
}

static connection *open(int fds[2], reader *r) {
    if (!CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0)) exit(1);
    CHECK(anetNonBlock(NULL, fds[0]) == C_OK);
    connection *c = connCreateAcceptedUnix(fds[0], r);
    connAccept(c, NULL);
    connSetReadHandler(c, onRead);
    return c;
}

static char *pattern(size_t len) {
    char *text = zmalloc(len + 1);
    for (size_t i = 0; i < len; i++) text[i] = (char)((unitRandom(&seed) % (256)));
    return text;
}

/* Gives some bytes back in pieces and puts some into the socket; reads them in steps, in two loops in turn. */
static void readAll(size_t back, size_t piece, size_t behind, size_t step) {
    int fds[2];
    size_t all = back + behind;
    reader r = {.got = zmalloc(all + step + 1), .step = step};
    aeEventLoop *loops[2] = {aeCreateEventLoop(1024), aeCreateEventLoop(1024)};
    connection *c = open(fds, &r);
    char *text = pattern(all);
    unreadBytes u = {0};
    for (size_t at = 0; at < back; at += piece)
        unreadAdd(&u, sliceOf(text + at, back - at < piece ? back - at : piece));
    CHECK_EQ_INT(u.len, back);
    CHECK(u.memory >= back);
    CHECK(write(fds[1], text + back, behind) == (ssize_t)behind);
    connUnread(c, &u);
    CHECK(u.len == 0 && u.memory == 0 && !u.first);
    for (int iterations = 0; r.len < all && iterations < 100000; iterations++) {
        CHECK(connAttach(c, loops[iterations % 2]) == C_OK);
        aeProcessEvents(loops[iterations % 2], ITERATE_NOW);
        connDetach(c);
    }
    CHECK_EQ_INT(r.len, all);
    CHECK_MEM(r.got, text, all);
    /* No event is raised if nothing is left. */
    r.calls = 0;
    CHECK(!connHasPending(c));
    CHECK(connAttach(c, loops[0]) == C_OK);
    for (int i = 0; i < 3; i++) aeProcessEvents(loops[0], ITERATE_NOW);
    CHECK_EQ_INT(r.calls, 0);
    connClose(c);
    close(fds[1]);
    for (int i = 0; i < 2; i++) aeDeleteEventLoop(loops[i]);
    zfree(r.got);
    zfree(text);
}

TEST(unread_bytes_come_first_and_once) {
    clockInit();
    seed = unitRandomSeed();
    readAll(0, 1, 10, 4);
    readAll(1, 1, 0, 1);
    readAll(10, 3, 10, 100);
    readAll(10, 10, 10, 3);
    readAll(300000, 1000, 5000, 70000); /* several blocks */
    readAll(300000, 100000, 5000, 64);
    for (int i = 0; i < 30; i++)
        readAll((unitRandom(&seed) % (200000)), 1 + (unitRandom(&seed) % (70000)), (unitRandom(&seed) % (1000)),
                1 + (unitRandom(&seed) % (70000)));
}

TEST(unread_bytes_raise_a_handler_while_they_last) {
    int fds[2];
    char got[16];
    reader r = {.got = got, .step = 4};
    aeEventLoop *loop = aeCreateEventLoop(1024);
    connection *c = open(fds, &r);
    const connectionType *own = c->type;
    unreadBytes u = {0};
    unreadAdd(&u, sliceStr("0123456789"));
    connUnread(c, &u);
    CHECK_EQ_STR(c->type->name, "unix");
    CHECK(connHasPending(c));
    CHECK(connAttach(c, loop) == C_OK);
    for (int i = 0; i < 6; i++) aeProcessEvents(loop, ITERATE_NOW);
    CHECK_EQ_INT(r.calls, 3);
    CHECK_MEM(got, "0123456789", 10);
    CHECK(c->type == own);
    connClose(c);
    close(fds[1]);
    aeDeleteEventLoop(loop);
}

TEST(unread_bytes_go_with_the_connection) {
    int fds[2];
    reader r = {.step = 1};
    connection *c = open(fds, &r);
    unreadBytes u = {0};
    char *text = pattern(200000);
    unreadAdd(&u, sliceOf(text, 200000));
    connUnread(c, &u);
    connClose(c); /* the sanitizer detects a leak */
    close(fds[1]);
    zfree(text);
    unreadAdd(&u, sliceStr("never given back"));
    unreadFree(&u);
    CHECK(u.len == 0 && u.memory == 0);
}

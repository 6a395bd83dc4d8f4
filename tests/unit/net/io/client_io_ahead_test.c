/* client_io_ahead_test.c -- requests of a client that writes all of them before it reads the first reply.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_io.h"
#include "net_fixture.h"
#include "net_settings.h"
#include "output_limits.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define FULL_BYTES 300000
#define LARGE 100000

typedef struct ahead {
    client *c;
    int peer;
    sds wire, want;
} ahead;

static void useThreads(int n) {
    const char *err = NULL;
    netFixtureInit();
    net_settings.io_threads = n;
    net_settings.io_threads_always_active = true;
    CHECK(netApplyThreads(&err));
    fixtureTurn();
}

/* Makes requests whose replies are half as large, among them large arguments and empty requests. */
static void makeRequests(ahead *a, int count) {
    sds large = sdsGrowZero(sdsEmpty(), LARGE);
    a->wire = sdsEmpty();
    a->want = sdsEmpty();
    for (int i = 0; i < count; i++) {
        char word[64];
        snprintf(word, sizeof(word), "%030d", i);
        if (i % 5000 == 4000) {
            a->wire = sdsCatPrintf(a->wire, "*2\r\n$4\r\nECHO\r\n$%d\r\n", LARGE);
            a->wire = sdsCatLen(sdsCatSlice(a->wire, sdsSlice(large)), "\r\n\r\n", 4);
            a->want = sdsCatPrintf(a->want, "$%d\r\n", LARGE);
            a->want = sdsCatLen(sdsCatSlice(a->want, sdsSlice(large)), "\r\n", 2);
        } else {
            a->wire = sdsCatPrintf(a->wire, "*2\r\n$4\r\nECHO\r\n$30\r\n%s\r\n", word);
            a->want = sdsCatPrintf(a->want, "$30\r\n%s\r\n", word);
        }
    }
    sdsFree(large);
}

static void open_(ahead *a, int threads, bool tcp, int count) {
    useThreads(threads);
    outputFullSetBytes(FULL_BYTES);
    a->c = fixtureConnect(&a->peer, tcp);
    makeRequests(a, count);
}

static void end(ahead *a) {
    if (a->peer >= 0) close(a->peer);
    CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
    sdsFree(a->wire);
    sdsFree(a->want);
    outputFullSetBytes(OUTPUT_FULL_BYTES);
    CHECK_EQ_INT(client_state.output_full, 0);
    useThreads(1);
    CHECK_EQ_INT(ioThreadsLargeRequests(), 0);
}

static void readAll(ahead *a) {
    sds got = fixtureReceiveBytes(a->peer, sdsLen(a->want));
    CHECK_EQ_INT(sdsLen(got), sdsLen(a->want));
    CHECK(sdsLen(got) == sdsLen(a->want) && !memcmp(got, a->want, sdsLen(got)));
    sdsFree(got);
}

TEST(ahead_of_a_client_that_writes_all_before_it_reads) {
    for (int round = 0; round < 4; round++) {
        ahead a;
        open_(&a, round / 2 ? 3 : 1, round % 2, 60000);
        fixtureSend(a.peer, a.wire, sdsLen(a.wire));
        for (int i = 0; i < 100; i++) fixtureTurn();
        if (round % 2 == 0) { /* TCP's buffers may take most of it */
            CHECK(a.c->flags & CLIENT_OUTPUT_FULL);
            CHECK(a.c->commands < 50000);
            if (round == 0) CHECK(a.c->io->ahead != NULL);
            CHECK(ioThreadsLargeRequests() > 500000);
        }
        readAll(&a);
        CHECK_EQ_INT(a.c->commands, 60000);
        end(&a);
    }
}

TEST(ahead_is_dropped_with_the_client_and_ends_with_its_input) {
    enum { HALF_CLOSED, GONE, KILLED, ENDS };
    for (int threads = 1; threads <= 3; threads += 2)
        for (int how = 0; how < ENDS; how++) {
            ahead a;
            open_(&a, threads, how % 2, 60000);
            fixtureSend(a.peer, a.wire, sdsLen(a.wire));
            switch (how) {
            case HALF_CLOSED: /* the peer still gets all replies */
                shutdown(a.peer, SHUT_WR);
                for (int i = 0; i < 20; i++) fixtureTurn();
                readAll(&a);
                CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
                break;
            case GONE:
                for (int i = 0; i < 20; i++) fixtureTurn();
                close(a.peer);
                a.peer = -1;
                break;
            default: clientCloseAsap(a.c); break;
            }
            end(&a);
        }
}

/* A client that never reads is read ahead up to a limit. */
TEST(ahead_is_bounded) {
    ahead a;
    long long limit = net_settings.client_query_buffer_limit;
    useThreads(1);
    net_settings.client_query_buffer_limit = 1 << 20;
    netShareSettings();
    open_(&a, 1, false, 100000);
    size_t sent = 0, length = sdsLen(a.wire);
    for (int idle = 0; idle < 100 && sent < length; idle++) {
        ssize_t n = send(a.peer, a.wire + sent, length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        CHECK(n > 0 || errno == EAGAIN);
        if (n > 0) {
            sent += (size_t)n;
            idle = 0;
        }
        fixtureTurn();
    }
    CHECK(sent < length);
    CHECK(a.c->flags & CLIENT_OUTPUT_FULL);
    CHECK(!(a.c->flags & CLIENT_CLOSE_ASAP));
    size_t pending = atomic_load(&a.c->io->query_used);
    CHECK(pending >= 1 << 20);
    CHECK(pending < 3 << 20);
    net_settings.client_query_buffer_limit = limit;
    netShareSettings();
    end(&a);
}

/* session_hold_test.c -- held output: none of it is sent before its offset is safe, all of it then, in order.
 *
 * The test provides the log, which grows on demand, with two kinds of safety. A model keeps how much of the output of
 * each client may have been sent.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fan_out.h"
#include "net_fixture.h"
#include "net_settings.h"
#include "rebalance.h"
#include "reply_hold.h"
#include "unit.h"
#include "zmalloc.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 12
#define WAYS 2

/* The log whose offsets output waits for. */
static struct {
    holdSequence seq[WAYS];
    uint64_t safe[WAYS], appended;
    bool waits;
    int way; /* the required kind of safety */
    void (*asked)(bool waits);
} book;

static bool askBook(holdSequence *seq, uint64_t *offset) {
    bool waits = book.waits && book.safe[book.way] < book.appended;
    *seq = book.seq[book.way];
    *offset = book.appended;
    if (book.asked) book.asked(waits);
    return waits;
}

static void openBook(void) {
    static bool made;
    netFixtureInit();
    for (int i = 0; i < WAYS && !made; i++) book.seq[i] = holdSequenceAdd();
    made = true;
    book.asked = NULL;
    sessionsSetHold(askBook);
}

static void makeSafe(int way, uint64_t offset) {
    if (offset > book.safe[way]) book.safe[way] = offset;
    holdReached(book.seq[way], offset);
}

static void closeBook(void) {
    book.waits = false;
    for (int i = 0; i < WAYS; i++) makeSafe(i, book.appended);
    sessionsSetHold(NULL);
}

/* Appends to the log; the new bytes are safe in neither way. */
static void writeMore(void) {
    book.waits = true;
    book.appended++;
}

static void receives(int fd, const char *want) {
    sds got = fixtureReceiveBytes(fd, strlen(want) ? strlen(want) : 1);
    CHECK_EQ_STR(got, want);
    sdsFree(got);
}

static void receivesNothing(int fd) {
    sds got = sdsEmpty();
    for (int i = 0; i < 20; i++) fixtureTurn();
    CHECK(fixtureReceive(fd, &got));
    CHECK_EQ_STR(got, "");
    sdsFree(got);
}

/* --- one client ------------------------------------------------------------------------------------------------- */

/* Replies are sent when the log up to them is safe, complete and in order. Replies of another client that had nothing
 * to wait for are sent meanwhile; a client that has sent QUIT is closed after its replies. */
TEST(hold_replies_leave_when_their_offset_is_safe) {
    for (int quit = 0; quit < 2; quit++) {
        int peer, other;
        openBook();
        const client *c = fixtureConnect(&peer, false);
        fixtureConnect(&other, false);
        writeMore();
        fixtureSend(peer, "ECHO one\r\nECHO two\r\n", 20);
        if (quit) fixtureSend(peer, "QUIT\r\n", 6);
        receivesNothing(peer);
        CHECK(c->io->held_first != NULL);
        book.waits = false;
        fixtureSend(other, "PING\r\n", 6);
        receives(other, "+PONG\r\n");
        fixtureSend(peer, "PING\r\n", 6); /* still served, but not after a QUIT; after the held output */
        receivesNothing(peer);
        makeSafe(0, book.appended);
        receives(peer, quit ? "$3\r\none\r\n$3\r\ntwo\r\n+OK\r\n" : "$3\r\none\r\n$3\r\ntwo\r\n+PONG\r\n");
        close(peer);
        close(other);
        CHECK(fixtureUntil(fixtureNoClients, NULL, 10000));
        closeBook();
    }
}

/* The output of each iteration has its own offset: a client that never pauses gets each part as soon as possible. */
TEST(hold_each_part_leaves_at_its_own_mark) {
    int peer;
    openBook();
    fixtureConnect(&peer, false);
    uint64_t marks[3];
    for (int i = 0; i < 3; i++) {
        writeMore();
        marks[i] = book.appended;
        const char *const sent[] = {"ECHO a\r\n", "ECHO b\r\n", "ECHO c\r\n"};
        fixtureSend(peer, sent[i], 8);
        receivesNothing(peer);
    }
    makeSafe(0, marks[0]);
    receives(peer, "$1\r\na\r\n");
    receivesNothing(peer);
    makeSafe(0, marks[2]);
    receives(peer, "$1\r\nb\r\n$1\r\nc\r\n");
    closeBook();
    close(peer);
    CHECK(fixtureUntil(fixtureNoClients, NULL, 10000));
}

/* The memory for any amount of held output is freed after it is sent. */
TEST(hold_parts_that_have_left_cost_nothing) {
    enum { ROUNDS = 100 };
    int peer;
    size_t before = 0;
    openBook();
    fixtureConnect(&peer, false);
    for (int i = 0; i < ROUNDS; i++) {
        if (i == 10) before = zmallocUsed(); /* pools are filled */
        writeMore();
        fixtureSend(peer, "ECHO a\r\n", 8);
        receivesNothing(peer);
        makeSafe(0, book.appended);
        receives(peer, "$1\r\na\r\n");
    }
    CHECK(zmallocUsed() < before + (ROUNDS - 10) * 16);
    closeBook();
    close(peer);
    CHECK(fixtureUntil(fixtureNoClients, NULL, 10000));
}

/* The policy changes while a part is held: later parts wait for it, too, even if they are safe sooner. */
TEST(hold_parts_of_two_sequences_leave_in_their_order) {
    int peer;
    openBook();
    fixtureConnect(&peer, false);
    writeMore();
    fixtureSend(peer, "ECHO a\r\n", 8);
    receivesNothing(peer);
    book.way = 1;
    writeMore();
    fixtureSend(peer, "ECHO b\r\n", 8);
    receivesNothing(peer);
    makeSafe(1, book.appended);
    receivesNothing(peer);
    fixtureSend(peer, "ECHO c\r\n", 8); /* held only by the output before it */
    receivesNothing(peer);
    makeSafe(0, book.appended);
    receives(peer, "$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n");
    book.way = 0;
    closeBook();
    close(peer);
    CHECK(fixtureUntil(fixtureNoClients, NULL, 10000));
}

/* Clients that have sent QUIT and wait for their offset are closed from outside, anywhere in the list of draining
 * clients: the others get their replies and are closed. */
TEST(hold_draining_clients_end_anywhere) {
    openBook();
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 30; round++) {
        int peers[CLIENTS];
        client *c[CLIENTS];
        bool closed[CLIENTS] = {false};
        writeMore();
        for (int i = 0; i < CLIENTS; i++) {
            c[i] = fixtureConnect(&peers[i], false);
            fixtureSend(peers[i], "PING\r\nQUIT\r\n", 12);
            while (!(c[i]->flags & CLIENT_CLOSE_AFTER_REPLY)) fixtureTurn();
            CHECK(c[i]->io->on_draining && c[i]->io->held_first);
        }
        for (size_t n = unitRandom(&seed) % (CLIENTS + 1); n > 0; n--) {
            size_t i = unitRandom(&seed) % CLIENTS;
            if (!closed[i]) clientCloseAsap(c[i]);
            closed[i] = true;
            fixtureTurn();
        }
        makeSafe(0, book.appended);
        for (int i = 0; i < CLIENTS; i++) {
            receives(peers[i], closed[i] ? "" : "+PONG\r\n+OK\r\n");
            close(peers[i]);
        }
        CHECK(fixtureUntil(fixtureNoClients, NULL, 10000));
    }
    closeBook();
}

static void *publishLater(void *arg) {
    unused(arg);
    poll(NULL, 0, 20);
    holdPublish(book.seq[0], book.appended);
    return NULL;
}

static long long tooLate(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id);
    *(bool *)arg = true;
    return AE_NOMORE;
}

/* A thread that syncs a file publishes the offset, and main's wait ends. */
TEST(hold_published_offsets_wake_main) {
    int peer;
    openBook();
    const client *c = fixtureConnect(&peer, false);
    bool late = false;
    pthread_t thread;
    for (int i = 0; i < 5; i++) fixtureTurn();
    writeMore();
    fixtureSend(peer, "PING\r\n", 6);
    receivesNothing(peer);
    long long id = aeCreateTimeEvent(fixture_loop, 20000, tooLate, &late);
    CHECK(pthread_create(&thread, NULL, publishLater, NULL) == 0);
    aeProcessEvents(fixture_loop, AE_ALL_EVENTS);
    CHECK(!late);
    fixtureTurn();
    CHECK(c->io->held_first == NULL);
    if (!late) aeDeleteTimeEvent(fixture_loop, id);
    pthread_join(thread, NULL);
    receives(peer, "+PONG\r\n");
    closeBook();
    close(peer);
    CHECK(fixtureUntil(fixtureNoClients, NULL, 10000));
}

/* --- against a model ---------------------------------------------------------------------------------------------- */

#define PARTS_MAX 4096

/* Output up to `len` may be sent after the parts before it, when its offset is reached. */
typedef struct modelPart {
    size_t len;
    int way; /* -1: at once */
    uint64_t offset;
} modelPart;

typedef struct seat {
    client *c; /* NULL if unused */
    int peer;
    sds want, got;
    size_t asked_for; /* length of `want` for which the hold was requested */
    size_t may;       /* length of `want` that may have been sent */
    modelPart parts[PARTS_MAX];
    size_t first, count;
} seat;

static struct {
    seat seats[CLIENTS];
    client *members[CLIENTS];
    int index[CLIENTS];
    fanAudience audience;
    uint64_t versions;
} hall;

static void letGo(seat *s) {
    while (s->first < s->count) {
        const modelPart *part = &s->parts[s->first];
        if (part->way >= 0 && part->offset > book.safe[part->way]) return;
        s->may = part->len;
        s->first++;
    }
    s->first = s->count = 0;
}

static void seatsAsked(bool waits) {
    for (int i = 0; i < CLIENTS; i++) {
        seat *s = &hall.seats[i];
        if (!s->c || s->asked_for == sdsLen(s->want)) continue;
        s->asked_for = sdsLen(s->want);
        if (!CHECK(s->count < PARTS_MAX)) abort();
        s->parts[s->count++] = (modelPart){s->asked_for, waits ? book.way : -1, book.appended};
        letGo(s);
    }
}

static void seatsReached(int way, uint64_t offset) {
    makeSafe(way, offset);
    for (int i = 0; i < CLIENTS; i++) letGo(&hall.seats[i]);
}

/* Checks that exactly the permitted output has arrived. */
static void readSeats(void) {
    for (int i = 0; i < CLIENTS; i++) {
        seat *s = &hall.seats[i];
        if (!s->c) continue;
        CHECK(fixtureReceive(s->peer, &s->got));
        CHECK(sdsLen(s->got) <= s->may);
        CHECK(sdsLen(s->got) <= sdsLen(s->want) && memcmp(s->got, s->want, sdsLen(s->got)) == 0);
    }
}

static void chooseAudience(uint64_t *seed) {
    size_t n = 0;
    for (int i = 0; i < CLIENTS; i++) {
        if (!hall.seats[i].c || unitRandom(seed) % 3 == 0) continue;
        hall.index[n] = i;
        hall.members[n++] = hall.seats[i].c;
    }
    hall.audience = (fanAudience){hall.members, n, ++hall.versions};
}

static void sendAll(size_t body_len, unsigned number) {
    char head[64];
    sds body = sdsCatPrintf(sdsEmpty(), "%u:", number);
    while (sdsLen(body) < body_len) body = sdsCatLen(body, "0123456789abcdef", 16);
    int n = snprintf(head, sizeof(head), "2\r\n+m\r\n$%zu\r\n", sdsLen(body));
    fanText t = {sliceOf(head, (size_t)n), sdsSlice(body), sliceStr("\r\n")};
    for (size_t i = 0; i < hall.audience.count; i++) {
        seat *s = &hall.seats[hall.index[i]];
        s->want = sdsCatPrintf(s->want, "%c%s%s\r\n", fanMark(s->c->resp), head, body);
    }
    fanOut(&hall.audience, &t);
    sdsFree(body);
}

static void sendOne(int i, unsigned number) {
    seat *s = &hall.seats[i];
    char text[32];
    int n = snprintf(text, sizeof(text), "+reply %u\r\n", number);
    s->want = sdsCatLen(s->want, text, (size_t)n);
    addReplyProto(s->c, text, (size_t)n);
}

static void sit(int i) {
    seat *s = &hall.seats[i];
    s->c = fixtureConnect(&s->peer, i % 2);
    s->c->flags |= CLIENT_PUBSUB;
    s->c->resp = 2 + i % 2;
    s->want = sdsEmpty();
    s->got = sdsEmpty();
    s->asked_for = s->may = s->first = s->count = 0;
}

/* The peer or the server closes the connection, with any output held. */
static void leave(int i, bool closed_here) {
    seat *s = &hall.seats[i];
    if (closed_here) clientCloseAsap(s->c);
    s->c = NULL;
    close(s->peer);
    sdsFree(s->want);
    sdsFree(s->got);
    s->want = s->got = NULL;
}

static void askForThreads(int n) {
    const char *err = NULL;
    net_settings.io_threads = n;
    net_settings.io_threads_always_active = n > 1;
    CHECK(netApplyThreads(&err));
}

static void step(uint64_t *seed, unsigned number, int threads) {
    int i = (int)(unitRandom(seed) % CLIENTS), way = (int)(unitRandom(seed) % WAYS);
    uint64_t what = unitRandom(seed) % 100;
    if (what < 30) {
        sendAll(unitRandom(seed) % 4000, number);
    } else if (what < 45) {
        if (hall.seats[i].c) sendOne(i, number);
    } else if (what < 55) {
        writeMore();
    } else if (what < 62) {
        seatsReached(way, book.appended - unitRandom(seed) % 4 % (book.appended - book.safe[way] + 1));
    } else if (what < 65) {
        book.way = way;
    } else if (what < 67) {
        book.waits = !book.waits;
    } else if (what < 70) {
        chooseAudience(seed);
    } else if (what < 72) {
        if (hall.seats[i].c) leave(i, number % 2);
        else sit(i);
        fixtureTurn(); /* no message that begins refers to a closed client */
        chooseAudience(seed);
    } else if (what < 74 && threads > 1) {
        askForThreads(1 + (int)(unitRandom(seed) % (unsigned)threads));
    } else {
        fixtureTurn();
        readSeats();
    }
}

static bool allThere(void *arg) {
    unused(arg);
    readSeats();
    for (int i = 0; i < CLIENTS; i++)
        if (hall.seats[i].c && sdsLen(hall.seats[i].got) < sdsLen(hall.seats[i].want)) return false;
    return true;
}

static bool noneOwes(void *arg) {
    unused(arg);
    for (int i = 0; i < CLIENTS; i++) {
        const client *c = hall.seats[i].c;
        if (c && (c->output_memory || c->output_bytes || c->output_blocks)) return false;
    }
    return true;
}

static void fillHall(int threads, unsigned steps) {
    openBook();
    fixtureNoPubsubLimit();
    book.asked = seatsAsked;
    uint64_t seed = unitRandomSeed() + (uint64_t)threads;
    askForThreads(threads);
    fixtureTurn();
    for (int i = 0; i < CLIENTS; i++) sit(i);
    chooseAudience(&seed);
    for (unsigned n = 0; n < steps; n++) step(&seed, n, threads);
    book.waits = false;
    for (int way = 0; way < WAYS; way++) seatsReached(way, book.appended);
    CHECK(fixtureUntil(allThere, NULL, 30000));
    CHECK(fixtureUntil(noneOwes, NULL, 30000));
    for (int i = 0; i < CLIENTS; i++)
        if (hall.seats[i].c) leave(i, false);
    CHECK(fixtureUntil(fixtureNoClients, NULL, 10000));
    askForThreads(1);
    CHECK(fixtureUntil(fixtureOnlyMain, NULL, 10000));
    closeBook();
}

TEST(hold_nothing_leaves_before_its_mark) { fillHall(1, 8000); }

TEST(hold_over_threads_nothing_leaves_before_its_mark) {
    fillHall(2, 4000);
    fillHall(4, 4000);
}

/* client_io_test.c -- a client's I/O half on thread 0, with the test in place of main: every split, limit, end, partial
 * write.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "command_table.h"
#include "net_fixture.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define INFLIGHT_BYTES_MAX (256 * 1024) /* the limit that docs/design/data_path.md states */
#define INFLIGHT_BLOCKS_MAX 4

/* The state that main would have of the connection. */
static struct {
    clientIo *s;
    int peer;
    sds seen; /* records as text */
    requestBlock *held, **held_end;
    size_t blocks, written, replies_back;
    size_t blocks_out, bytes_out; /* not yet returned */
    int ends, end_reason, hangups;
    bool gone, left;
} rig;

static void catRecords(const requestBlock *b) {
    for (const parsedCommand *p = b->first; p; p = p->next) {
        rig.seen = sdsCatPrintf(rig.seen, p->flags & REQ_PROTOCOL_ERROR ? "!" : "<");
        for (uint32_t i = 0; i < p->argc; i++) {
            if (i) rig.seen = sdsCatLen(rig.seen, "|", 1);
            rig.seen = sdsCatLen(rig.seen, p->argv[i].ptr, p->argv[i].len);
        }
        rig.seen = sdsCatLen(rig.seen, ">", 1);
    }
}

/* Overwrites blocks that have come back, as they belong to others now. */
static void scribble(replyBlock *chain) {
    for (replyBlock *b = chain; b; b = b->next) {
        memset(b->data, '#', b->used);
        for (uint32_t i = 0; i < b->nrefs; i++)
            memset((char *)(uintptr_t)replyBlockRef(b, i)->ptr, '#', replyBlockRef(b, i)->len);
    }
}

static void takeBack(replyBlock *chain) {
    for (const replyBlock *b = chain; b; b = b->next) {
        replyBlockCheck(b);
        rig.replies_back++;
    }
    replyBlockReleaseChain(chain);
}

static void rigDeliver(const ioMessage *m) {
    CHECK(m->io == rig.s);
    switch ((messageType)m->type) {
    case IO_MSG_REQUESTS:
        CHECK_EQ_INT(rig.ends, 0);
        CHECK(m->block->first != NULL);
        CHECK(rig.blocks_out < INFLIGHT_BLOCKS_MAX);
        CHECK(rig.bytes_out < INFLIGHT_BYTES_MAX);
        rig.blocks_out++;
        rig.bytes_out += m->block->wire_bytes;
        rig.written += m->written;
        takeBack(m->reply);
        catRecords(m->block);
        m->block->next = NULL;
        *rig.held_end = m->block;
        rig.held_end = &m->block->next;
        rig.blocks++;
        break;
    case IO_MSG_WRITTEN:
        rig.written += m->bytes;
        takeBack(m->reply);
        break;
    case IO_MSG_END:
        rig.ends++;
        rig.end_reason = m->number;
        break;
    case IO_MSG_HANGUP:
        CHECK_EQ_INT(rig.ends, 0);
        rig.hangups++;
        break;
    case IO_MSG_LEFT: rig.left = true; break;
    case IO_MSG_CLOSED:
        rig.written += m->bytes;
        scribble(m->reply);
        takeBack(m->reply);
        rig.gone = true;
        clientIoFree(m->io);
        break;
    default: CHECK(false);
    }
}

static void rigOpenOn(int fd, int peer, bool tcp, bool authenticated) {
    netFixtureInit();
    fixture_deliver = rigDeliver;
    memset(&rig, 0, sizeof(rig));
    rig.held_end = &rig.held;
    rig.seen = sdsEmpty();
    rig.peer = peer;
    connection *conn = tcp ? connCreateAcceptedSocket(fd, NULL) : connCreateAcceptedUnix(fd, NULL);
    rig.s = clientIoCreate(conn, authenticated);
    rig.s->home = ioThreadMain();
    ioMessage m = {.type = IO_MSG_JOIN, .number = authenticated ? CLIENT_IO_AUTHENTICATED : 0, .io = rig.s};
    ioThreadPost(rig.s->home, &m);
}

static void rigOpen(bool tcp, bool authenticated) {
    int fds[2];
    fixturePair(fds, tcp);
    rigOpenOn(fds[0], fds[1], tcp, authenticated);
}

static void post(messageType type, unsigned number, requestBlock *block, replyBlock *reply) {
    ioMessage m = {.type = (uint16_t)type, .number = (uint16_t)number, .io = rig.s, .block = block, .reply = reply};
    ioThreadPost(ioThreadMain(), &m);
    if (!rig.gone) clientIoCheck(rig.s);
}

/* Returns all blocks that main has, for the connection to take back. */
static requestBlock *takeHeld(void) {
    requestBlock *chain = rig.held;
    rig.held = NULL;
    rig.held_end = &rig.held;
    rig.blocks_out = rig.bytes_out = 0;
    return chain;
}

/* Returns all blocks, as if main had executed everything. */
static void rigReturn(void) {
    while (rig.held) {
        requestBlock *chain = takeHeld();
        post(IO_MSG_OUTPUT, rig.s->authenticated ? CLIENT_IO_AUTHENTICATED : 0, chain, NULL);
    }
}

static void iteration(void) {
    fixtureTurn();
    if (!rig.gone) clientIoCheck(rig.s);
    clientIosReport(ioThreadOwner(ioThreadMain()));
    if (!rig.gone) clientIoCheck(rig.s);
}

static void rigClose(void) {
    rigReturn();
    if (!rig.gone) post(IO_MSG_CLOSE, 0, NULL, NULL);
    CHECK(rig.gone);
    while (rig.held) {
        requestBlock *b = rig.held;
        rig.held = b->next;
        requestBlockPut(&ioThreadOwner(ioThreadMain())->pool, b);
    }
    if (rig.peer >= 0) close(rig.peer);
    sdsFree(rig.seen);
    fixture_deliver = NULL;
}

static void put(const void *bytes, size_t len) {
    CHECK_EQ_INT(send(rig.peer, bytes, len, MSG_NOSIGNAL), len);
    iteration();
}

static void putText(const char *text) { put(text, strlen(text)); }

/* --- reading: the split does not matter ---------------------------------------------------------------- */

static const struct {
    const char *wire, *records;
} corpus[] = {
    {"PING\r\n", "<PING>"},
    {"*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "<PING><GET|k>"},
    {"set k \"a b\\n\" \r\nget 'k'\nget \"\"\r\n", "<set|k|a b\n><get|k><get|>"},
    {"\r\n\r\nPING\r\n\n*0\r\n*-1\r\n  \r\nPING\r\n\r\n", "<PING><PING>"},
    {"*0\r\n*0\r\n\r\n", ""},
    {"*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n", "<SET|k\r\n|>"},
    {"*2\r\n$4\r\nECHO\r\n$10\r\n*1\r\n$4\r\nPI\r\nPING\r\n", "<ECHO|*1\r\n$4\r\nPI><PING>"},
    {"PING\r\n*2\r\n$3\r\nGET\r\n!1\r\nk\r\nPING\r\n", "<PING>!Protocol error: expected '$', got '!'>"},
    {"*1\r\n$4\r\nPING\r\n*1\r\n$-1\r\n*1\r\n$4\r\nPING\r\n", "<PING>!Protocol error: invalid bulk length>"},
    {"*1\r\n$4\r\nPING\r\n*2147483648\r\n", "<PING>!Protocol error: invalid multibulk length>"},
    {"PING\r\nSET \"a b\r\nPING\r\n", "<PING>!Protocol error: unbalanced quotes in request>"},
    {"*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n", "!Protocol error: invalid CRLF in request>"},
    {"*1\r\n$6\r\nnosuch\r\n*2\r\n$3\r\nGET\r\n$02\r\nkk\r\n",
     NULL}, /* NULL if any result is right that is the same for each split */
};

static void feedSplit(const char *wire, size_t len, const size_t *cuts, int ncuts) {
    size_t at = 0;
    for (int i = 0; i <= ncuts; i++) {
        size_t until = i < ncuts ? cuts[i] : len;
        if (until > at) put(wire + at, until - at);
        at = until;
        rigReturn();
    }
    for (int i = 0; i < 4; i++) iteration();
    for (int i = 0; i < 8 && len > 65536; i++) {
        rigReturn();
        iteration();
    }
}

static sds recordsOf(const char *wire, size_t len, const size_t *cuts, int ncuts) {
    rigOpen(false, true);
    feedSplit(wire, len, cuts, ncuts);
    CHECK_EQ_INT(rig.ends, 0);
    sds seen = sdsCatLen(sdsEmpty(), rig.seen, sdsLen(rig.seen));
    rigClose();
    return seen;
}

static void everySplit(const char *wire, size_t len, const char *want, size_t step) {
    sds whole = recordsOf(wire, len, NULL, 0);
    if (want) CHECK_EQ_STR(whole, want);
    for (size_t cut = 1; cut < len; cut += step) {
        sds got = recordsOf(wire, len, &cut, 1);
        if (!CHECK(sdsLen(got) == sdsLen(whole) && !memcmp(got, whole, sdsLen(got))))
            printf("cut at %zu of %s\n", cut, wire);
        sdsFree(got);
    }
    sdsFree(whole);
}

static void byteByByte(const char *wire, size_t len) {
    sds whole = recordsOf(wire, len, NULL, 0);
    size_t *cuts = zmalloc(len * sizeof(*cuts));
    for (size_t i = 0; i + 1 < len; i++) cuts[i] = i + 1;
    sds got = recordsOf(wire, len, cuts, (int)len - 1);
    CHECK(sdsLen(got) == sdsLen(whole) && !memcmp(got, whole, sdsLen(got)));
    sdsFree(got);
    sdsFree(whole);
    zfree(cuts);
}

TEST(stream_records_do_not_depend_on_the_split) {
    for (size_t i = 0; i < array_len(corpus); i++) {
        everySplit(corpus[i].wire, strlen(corpus[i].wire), corpus[i].records, 1);
        byteByByte(corpus[i].wire, strlen(corpus[i].wire));
    }
}

/* Requests with many bytes and arguments, so that the parser's position is kept from read to read. */
TEST(stream_large_requests_do_not_depend_on_the_split) {
    sds wire = catWords(sdsEmpty(), "PING");
    sds big = sdsEmpty();
    for (int i = 0; i < 9000; i++) big = sdsCatLen(big, &"abcdefghijklmnopqrstuvwxyz\r\n"[i % 28], 1);
    slice argv[3] = {sliceStr("SET"), sliceStr("k"), sliceOf(big, sdsLen(big))};
    wire = catRequest(wire, 3, argv);
    wire = sdsCatPrintf(wire, "*150\r\n$3\r\nDEL\r\n");
    for (int i = 0; i < 149; i++) wire = sdsCatPrintf(wire, "$4\r\nk%03d\r\n", i);
    wire = catRequest(wire, 3, argv);
    wire = catWords(wire, "GET k");
    everySplit(wire, sdsLen(wire), NULL, 13);
    byteByByte(wire, sdsLen(wire));
    uint64_t seed = unitRandomSeed();
    sds whole = recordsOf(wire, sdsLen(wire), NULL, 0);
    for (int round = 0; round < 100; round++) {
        size_t cuts[8], at = 0;
        for (size_t i = 0; i < array_len(cuts); i++)
            cuts[i] = at += unitRandom(&seed) % (sdsLen(wire) / array_len(cuts));
        sds got = recordsOf(wire, sdsLen(wire), cuts, array_len(cuts));
        CHECK(sdsLen(got) == sdsLen(whole) && !memcmp(got, whole, sdsLen(got)));
        sdsFree(got);
    }
    sdsFree(whole);
    sdsFree(big);
    sdsFree(wire);
}

/* Two connections of a thread, both in the middle of a request with kept arguments, do not disturb each other (they
 * share the array). */
TEST(stream_moves_in_the_middle_of_a_request) {
    rigOpen(false, true);
    sds wire = sdsCatPrintf(sdsEmpty(), "*150\r\n$3\r\nDEL\r\n");
    for (int i = 0; i < 149; i++) wire = sdsCatPrintf(wire, "$4\r\nk%03d\r\n", i);
    size_t at = 0;
    for (int move = 0; move < 5; move++, at += 200) {
        put(wire + at, 200);
        post(IO_MSG_LEAVE, 0, NULL, NULL);
        CHECK(rig.left);
        CHECK(rig.s->conn->loop == NULL);
        rig.left = false;
        post(IO_MSG_JOIN, CLIENT_IO_AUTHENTICATED, NULL, NULL);
    }
    put(wire + at, sdsLen(wire) - at);
    CHECK_EQ_INT(rig.blocks, 1);
    CHECK_EQ_INT(rig.held->first->argc, 150);
    CHECK(sliceIs(rig.held->first->argv[149], "k148"));
    rigClose();
    sdsFree(wire);
}

/* --- sizes ----------------------------------------------------------------------------------------------- */

static void sendAll(const char *p, size_t len, bool give_back) {
    unitLimit limit = unitLimitStart(20000);
    while (len && !unitLimitOver(&limit)) {
        ssize_t n = send(rig.peer, p, len, MSG_NOSIGNAL);
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
        iteration();
        if (give_back) rigReturn();
    }
    CHECK_EQ_INT(len, 0);
}

TEST(stream_argument_of_one_mebibyte) {
    rigOpen(false, true);
    size_t len = 1024 * 1024;
    sds big = sdsEmpty();
    for (size_t i = 0; i < len; i++) big = sdsCatLen(big, &"0123456789"[i % 10], 1);
    slice argv[3] = {sliceStr("SET"), sliceStr("k"), sliceOf(big, len)};
    sds wire = catWords(catRequest(sdsEmpty(), 3, argv), "PING");
    sendAll(wire, sdsLen(wire), false);
    for (int i = 0; i < 100 && rig.blocks < 1; i++) iteration();
    const parsedCommand *p = rig.held->first;
    CHECK_EQ_INT(p->argv[2].len, len);
    CHECK(!memcmp(p->argv[2].ptr, big, len));
    CHECK(p->value && objectStringLen(p->value) == len);
    rigReturn();
    for (int i = 0; i < 100 && rig.blocks < 2 && !strstr(rig.seen, "PING"); i++) iteration();
    CHECK(strstr(rig.seen + sdsLen(rig.seen) - 8, "<PING>") != NULL);
    rigClose();
    sdsFree(wire);
    sdsFree(big);
}

TEST(stream_announced_length_costs_nothing) {
    rigOpen(false, true);
    const char *head = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$104857600\r\n";
    put(head, strlen(head));
    char piece[1000];
    memset(piece, 'x', sizeof(piece));
    size_t used = zmallocUsed();
    for (int i = 0; i < 30; i++) put(piece, sizeof(piece));
    CHECK_EQ_INT(rig.blocks, 0);
    CHECK(zmallocUsed() < used + 30 * sizeof(piece) + 32 * 1024);
    if (CHECK(rig.s->partial != NULL && rig.s->partial->large != NULL)) {
        CHECK_EQ_INT(rig.s->partial->large_bytes, 30 * sizeof(piece));
        CHECK_EQ_INT(rig.s->query_used, strlen(head) + 30 * sizeof(piece));
        CHECK(rig.s->query_free <= REQUEST_BUF_BYTES);
    }
    rigClose();
    bioDrain(BIO_LAZY_FREE);
    CHECK(zmallocUsed() < used + 32 * 1024);
}

/* --- large arguments ------------------------------------------------------------------------------------- */

static sds largeWire(void) {
    sds one = sdsGrowZero(sdsEmpty(), 40000), two = sdsGrowZero(sdsEmpty(), LARGE_ARG_BYTES);
    for (size_t i = 0; i < sdsLen(one); i++) one[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < sdsLen(two); i++) two[i] = (char)('A' + i % 19);
    sds wire = catWords(sdsEmpty(), "PING");
    wire = catRequest(wire, 3, (slice[]){sliceStr("SET"), sliceStr("k"), sdsSlice(one)});
    wire = catWords(wire, "GET k");
    wire = catRequest(wire, 7,
                      (slice[]){sliceStr("MSET"), sliceStr("a"), sdsSlice(two), sliceStr("b"), sliceStr("small"),
                                sliceStr("c"), sdsSlice(one)});
    wire = catRequest(wire, 2, (slice[]){sliceStr("ECHO"), sdsSlice(two)});
    wire = catWords(wire, "GET a");
    sdsFree(one);
    sdsFree(two);
    return wire;
}

static void checkSplit(const char *wire, const sds whole, const size_t *cuts, int ncuts, size_t len) {
    sds got = recordsOf(wire, len, cuts, ncuts);
    if (!CHECK(sdsLen(got) == sdsLen(whole) && !memcmp(got, whole, sdsLen(got)))) printf("cut at %zu\n", cuts[0]);
    sdsFree(got);
}

TEST(stream_large_arguments_do_not_depend_on_the_split) {
    sds wire = largeWire(), want = sdsEmpty();
    size_t len = sdsLen(wire);
    want = sdsCat(want, "<PING><SET|k|");
    sds whole = recordsOf(wire, len, NULL, 0);
    CHECK(strncmp(whole, want, sdsLen(want)) == 0);
    CHECK(sdsLen(whole) > len - 200 && strcmp(whole + sdsLen(whole) - 7, "<GET|a>") == 0);
    for (size_t cut = 1; cut < len; cut += cut < 60 ? 1 : 509) checkSplit(wire, whole, &cut, 1, len);
    /* The ends of the large arguments. */
    for (const char *p = wire; (p = strstr(p, "\r\n")) != NULL; p++) {
        for (size_t cut = (size_t)(p - wire); cut <= (size_t)(p - wire) + 2 && cut < len; cut++)
            checkSplit(wire, whole, &cut, 1, len);
    }
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 60; round++) {
        size_t cuts[8], at = 0;
        for (size_t i = 0; i < array_len(cuts); i++) cuts[i] = at += unitRandom(&seed) % (len / array_len(cuts));
        checkSplit(wire, whole, cuts, array_len(cuts), len);
    }
    byteByByte(wire, len);
    sdsFree(whole);
    sdsFree(want);
    sdsFree(wire);
}

TEST(stream_large_argument_is_read_to_where_it_stays) {
    rigOpen(false, true);
    sds wire = largeWire();
    putText("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$50000\r\n");
    put(wire, 30000);
    const char *where = rig.s->partial->large->bytes;
    put(wire + 30000, 20000);
    putText("\r\n");
    if (CHECK_EQ_INT(rig.blocks, 1)) {
        const parsedCommand *p = rig.held->first;
        CHECK(p->value && objectRawString(p->value).ptr == where && p->argv[2].ptr == where);
        CHECK(!memcmp(where, wire, 50000));
    }
    rigClose();
    sdsFree(wire);
}

/* Input after a large argument is checked as it is after any other. */
TEST(stream_errors_behind_large_arguments) {
    static const struct {
        const char *before, *behind, *end;
    } cases[] = {
        {"*2\r\n$4\r\nECHO\r\n", "\r\n*1\r\n$-1\r\n", "bbb>!Protocol error: invalid bulk length>"},
        {"*2\r\n$4\r\nECHO\r\n", "\rx", "!Protocol error: invalid CRLF in request>"},
        {"*2\r\n$4\r\nECHO\r\n", "xx", "!Protocol error: invalid CRLF in request>"},
        {"*3\r\n$4\r\nECHO\r\n", "\r\n*1\r\n", "!Protocol error: expected '$', got '*'>"},
        {"*3\r\n$4\r\nECHO\r\n", "\r\n$3\r\nabc\r\n", "bbb|abc>"},
        {"*2\r\n$4\r\nPOST\r\n", "\r\n", ""},
    };
    char body[LARGE_ARG_BYTES];
    memset(body, 'b', sizeof(body));
    for (size_t i = 0; i < array_len(cases); i++) {
        rigOpen(false, true);
        putText(cases[i].before);
        putText("$32768\r\n");
        for (size_t at = 0; at < sizeof(body); at += 8192) put(body + at, 8192);
        putText(cases[i].behind);
        size_t end = strlen(cases[i].end);
        CHECK(sdsLen(rig.seen) >= end && (end || sdsLen(rig.seen) == 0));
        CHECK_EQ_STR(rig.seen + sdsLen(rig.seen) - end, cases[i].end);
        CHECK_EQ_INT(rig.ends, end ? 0 : 1);
        if (!end) CHECK_EQ_INT(rig.end_reason, END_CROSS_PROTOCOL);
        rigClose();
    }
}

TEST(stream_moves_and_ends_in_the_middle_of_a_large_argument) {
    sds wire = largeWire();
    for (int moves = 0; moves < 2; moves++) {
        size_t used = zmallocUsed();
        rigOpen(false, true);
        putText("*2\r\n$4\r\nECHO\r\n$100000\r\n");
        for (size_t at = 0; at < 90000; at += 9000) {
            put(wire + at, 9000);
            if (!moves) continue;
            post(IO_MSG_LEAVE, 0, NULL, NULL);
            CHECK(rig.left);
            rig.left = false;
            post(IO_MSG_JOIN, CLIENT_IO_AUTHENTICATED, NULL, NULL);
        }
        if (moves) {
            put(wire + 90000, 10000);
            putText("\r\n");
            CHECK_EQ_INT(rig.blocks, 1);
            CHECK(!memcmp(rig.held->first->argv[1].ptr, wire, 100000));
        }
        rigClose();
        bioDrain(BIO_LAZY_FREE);
        CHECK(zmallocUsed() < used + 64 * 1024);
    }
    sdsFree(wire);
}

/* A peer that sends as fast as its bytes are read. */
static size_t endless_bytes;

static ssize_t endlessRead(connection *c, void *buf, size_t len) {
    unused(c);
    memset(buf, 'x', len);
    endless_bytes += len;
    return (ssize_t)len;
}

TEST(stream_one_event_brings_a_bounded_part_of_a_large_argument) {
    rigOpen(false, true);
    putText("*2\r\n$4\r\nECHO\r\n$20971520\r\n");
    connectionType type = *rig.s->conn->type;
    type.read = endlessRead;
    rig.s->conn->type = &type;
    CHECK_EQ_INT(send(rig.peer, "x", 1, MSG_NOSIGNAL), 1); /* never read: the descriptor stays readable */
    size_t most = 0, iterations = 0;
    for (; iterations < 1000 && !rig.blocks; iterations++) {
        size_t before = endless_bytes;
        iteration();
        if (endless_bytes - before > most) most = endless_bytes - before;
    }
    CHECK_EQ_STR(rig.seen, "!Protocol error: invalid CRLF in request>");
    CHECK(most <= 1024 * 1024 + REQUEST_BUF_BYTES);
    CHECK(iterations >= 20);
    rigClose();
}

TEST(stream_query_buffer_limit_ends_the_stream) {
    rigOpen(false, true);
    atomic_store(&net_shared.client_query_buffer_limit, 1024 * 1024);
    sds wire = catWords(sdsEmpty(), "PING"); /* and a large argument, of which the received part counts */
    wire = sdsCatPrintf(wire, "*2\r\n$4\r\nECHO\r\n$5000000\r\n");
    put(wire, sdsLen(wire));
    CHECK_EQ_STR(rig.seen, "<PING>");
    char piece[65536];
    memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 17 && !rig.ends; i++) {
        if (send(rig.peer, piece, sizeof(piece), MSG_NOSIGNAL) < 0) CHECK_EQ_INT(errno, EAGAIN);
        for (int k = 0; k < 10; k++) iteration();
    }
    CHECK_EQ_INT(rig.ends, 1);
    CHECK_EQ_INT(rig.end_reason, END_QUERY_LIMIT);
    atomic_store(&net_shared.client_query_buffer_limit, net_settings.client_query_buffer_limit);
    rigClose();
    sdsFree(wire);
}

TEST(stream_browsers_are_cut_off) {
    static const char *const texts[] = {"POST / HTTP/1.1\r\n", "Host: x\r\n", "*1\r\n$4\r\npost\r\n"};
    for (size_t i = 0; i < array_len(texts); i++) {
        rigOpen(false, true);
        put(texts[i], strlen(texts[i]));
        CHECK_EQ_STR(rig.seen, "");
        CHECK_EQ_INT(rig.ends, 1);
        CHECK_EQ_INT(rig.end_reason, END_CROSS_PROTOCOL);
        rigClose();
    }
}

/* A descriptor that cannot be polled, here because it is a file: main is notified, so that the client does not stay
 * without events. */
TEST(stream_that_cannot_be_waited_for_ends) {
    char path[] = "/tmp/client_stream_test.XXXXXX";
    int fd = mkstemp(path);
    if (!CHECK(fd >= 0)) return;
    unlink(path);
    rigOpenOn(fd, -1, false, true);
    for (int i = 0; i < 3; i++) iteration();
    CHECK_EQ_INT(rig.ends, 1);
    rigClose();
}

/* --- limits of strangers ------------------------------------------------------------------------------------ */

static sds manyArgs(sds s) {
    s = sdsCatPrintf(s, "*12\r\n$3\r\nDEL\r\n");
    for (int i = 0; i < 11; i++) s = sdsCatPrintf(s, "$1\r\n%c\r\n", 'a' + i);
    return s;
}

TEST(stream_strangers_have_limits) {
    rigOpen(false, false);
    sds wire = manyArgs(sdsEmpty());
    put(wire, sdsLen(wire));
    CHECK_EQ_STR(rig.seen, "!Protocol error: unauthenticated multibulk length>");
    rigClose();
    rigOpen(false, false);
    putText("*2\r\n$4\r\nECHO\r\n$16385\r\n");
    CHECK_EQ_STR(rig.seen, "!Protocol error: unauthenticated bulk length>");
    rigClose();
    sdsFree(wire);
}

/* AUTH is at main when a request exceeds the limits: the connection waits for the result and applies the limits that
 * follow from it. */
static void authPending(bool granted, const char *second, size_t len, const char *want) {
    sds wire = sdsCatLen(catWords(sdsEmpty(), "AUTH x"), second, len);
    for (size_t cut = 0; cut < sdsLen(wire); cut++) {
        rigOpen(false, false);
        if (cut) put(wire, cut);
        put(wire + cut, sdsLen(wire) - cut);
        CHECK_EQ_STR(rig.seen, "<AUTH|x>");
        CHECK(rig.s->parse_waits_for_auth);
        if (rig.held) post(IO_MSG_OUTPUT, granted ? CLIENT_IO_AUTHENTICATED : 0, takeHeld(), NULL);
        iteration();
        CHECK(!rig.s->parse_waits_for_auth);
        CHECK_EQ_STR(rig.seen, want);
        CHECK_EQ_INT(rig.ends, 0);
        rigClose();
    }
    sdsFree(wire);
}

TEST(stream_limits_wait_for_a_pending_auth) {
    sds many = manyArgs(sdsEmpty());
    authPending(true, many, sdsLen(many), "<AUTH|x><DEL|a|b|c|d|e|f|g|h|i|j|k>");
    authPending(false, many, sdsLen(many), "<AUTH|x>!Protocol error: unauthenticated multibulk length>");
    sdsFree(many);
}

/* A malformed line is an error for any user; it must not be parsed twice, as parsing changes it. */
TEST(stream_malformed_lines_do_not_wait_for_auth) {
    rigOpen(false, false);
    putText("AUTH x\r\nSET \"a b\r\n");
    rigReturn();
    iteration();
    CHECK_EQ_STR(rig.seen, "<AUTH|x>!Protocol error: unbalanced quotes in request>");
    rigClose();
}

/* --- back-pressure -------------------------------------------------------------------------------------------- */

/* A client sends `count` arguments as fast as they are accepted, while main does nothing until reading stops.
 * rigDeliver() checks that nothing is handed over beyond the limits. `blocks` and `bytes` are what main has then. */
static void backPressure(size_t arg_len, int count, size_t blocks, size_t bytes) {
    rigOpen(false, true);
    sds arg = sdsEmpty();
    for (size_t i = 0; i < arg_len; i++) arg = sdsCatLen(arg, "z", 1);
    sds wire = sdsEmpty();
    for (int i = 0; i < count; i++)
        wire = sdsCatPrintf(wire, "*2\r\n$4\r\nECHO\r\n$%zu\r\n%05d%s\r\n", arg_len + 5, i, arg);
    size_t sent = 0, idle = 0;
    bool stopped = false;
    while (sent < sdsLen(wire) || idle < 50) {
        ssize_t n = sent < sdsLen(wire) ? send(rig.peer, wire + sent, sdsLen(wire) - sent, MSG_NOSIGNAL) : 0;
        if (n > 0) sent += (size_t)n;
        idle = n > 0 ? 0 : idle + 1;
        iteration();
        CHECK_EQ_INT(rig.s->inflight_blocks, rig.blocks_out);
        CHECK_EQ_INT(rig.s->inflight_bytes, rig.bytes_out);
        if (idle > 20) { /* no progress: main catches up */
            if (rig.s->reading_stopped) CHECK(rig.blocks_out >= blocks && rig.bytes_out >= bytes);
            stopped |= rig.s->reading_stopped;
            rigReturn();
        }
    }
    CHECK(stopped);
    rigReturn();
    CHECK_EQ_INT(rig.s->inflight_blocks, 0);
    CHECK_EQ_INT(rig.s->inflight_bytes, 0);
    CHECK(!rig.s->reading_stopped);
    int next = 0;
    for (const char *p = rig.seen; (p = strstr(p, "<ECHO|")) != NULL; p += 6, next++)
        if (!CHECK_EQ_INT(strtol((char[]){p[6], p[7], p[8], p[9], p[10], 0}, NULL, 10), next)) break;
    CHECK_EQ_INT(next, count);
    rigClose();
    sdsFree(arg);
    sdsFree(wire);
}

TEST(stream_stops_reading_while_main_is_behind) {
    backPressure(10, 20000, INFLIGHT_BLOCKS_MAX, 0);
    backPressure(50 * 1024, 80, INFLIGHT_BLOCKS_MAX, 0);
    backPressure(100 * 1024, 40, 0, INFLIGHT_BYTES_MAX);
    backPressure(200 * 1024, 20, 0, INFLIGHT_BYTES_MAX);
    backPressure(300 * 1024, 20, 0, INFLIGHT_BYTES_MAX);
}

/* --- ends -------------------------------------------------------------------------------------------------------- */

TEST(stream_reports_the_end_once_at_any_stage) {
    for (size_t i = 0; i < array_len(corpus); i++) {
        size_t len = strlen(corpus[i].wire);
        for (size_t cut = 0; cut <= len; cut++) {
            rigOpen(false, true);
            if (cut) put(corpus[i].wire, cut);
            for (int k = 0; k < 2; k++) iteration();
            bool bad = strstr(rig.seen, "!Protocol error: ") != NULL;
            if (cut % 2) shutdown(rig.peer, SHUT_WR);
            else close(rig.peer), rig.peer = -1;
            for (int k = 0; k < 3; k++) iteration();
            CHECK_EQ_INT(rig.ends, bad ? 0 : 1); /* after an error nothing more is read: main closes */
            if (!bad) CHECK_EQ_INT(rig.end_reason, END_EOF);
            rigClose();
        }
    }
}

static void fallBehind(void) {
    for (int i = 0; i < 10 && !rig.s->reading_stopped; i++) putText("PING\r\n");
    CHECK(rig.s->reading_stopped);
    CHECK(send(rig.peer, "PING\r\nlast\r\n", 12, MSG_NOSIGNAL) == 12);
    for (int i = 0; i < 3; i++) iteration();
    CHECK_EQ_INT(rig.hangups, 0);
}

/* The close of a peer while main lags is reported at once, and once. Its remaining input is read when main has caught
 * up, and then the end is reported. */
TEST(stream_hears_of_the_end_while_main_is_behind) {
    for (int how = 0; how < 6; how++) {
        rigOpen(how % 2, true);
        fallBehind();
        size_t before = rig.blocks;
        if (how / 2 == 1) { /* also at the next owner */
            post(IO_MSG_LEAVE, 0, NULL, NULL);
            CHECK(rig.left);
            post(IO_MSG_JOIN, CLIENT_IO_AUTHENTICATED, NULL, NULL);
            for (int i = 0; i < 3; i++) iteration();
            CHECK_EQ_INT(rig.hangups, 0);
        }
        shutdown(rig.peer, SHUT_WR);
        for (int i = 0; i < 3; i++) iteration();
        CHECK_EQ_INT(rig.hangups, 1);
        CHECK_EQ_INT(rig.blocks, before);
        CHECK_EQ_INT(rig.ends, 0);
        if (how / 2 == 2) { /* the next owner does not report it again */
            post(IO_MSG_LEAVE, 0, NULL, NULL);
            post(IO_MSG_JOIN, CLIENT_IO_AUTHENTICATED, NULL, NULL);
            for (int i = 0; i < 3; i++) iteration();
        }
        rigReturn();
        for (int i = 0; i < 3; i++) iteration();
        CHECK(strstr(rig.seen, "<last>") != NULL);
        CHECK_EQ_INT(rig.hangups, 1);
        CHECK_EQ_INT(rig.ends, 1);
        CHECK_EQ_INT(rig.end_reason, END_EOF);
        rigClose();
    }
}

/* A draining connection reads again; one whose input has ended reports nothing more. */
TEST(stream_that_drains_tells_of_no_hang_up) {
    rigOpen(false, true);
    fallBehind();
    post(IO_MSG_DRAIN, 0, NULL, NULL);
    close(rig.peer), rig.peer = -1;
    for (int i = 0; i < 3; i++) iteration();
    CHECK_EQ_INT(rig.hangups, 0);
    CHECK_EQ_INT(rig.end_reason, END_DRAINED);
    rigClose();
}

TEST(stream_that_cannot_be_written_to_tells_of_no_hang_up) {
    rigOpen(false, true);
    fallBehind();
    replyBlock *b = replyBlockGet(64, true);
    replyBlockAddBytes(b, sliceStr("+OK\r\n"));
    close(rig.peer), rig.peer = -1;
    post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, b);
    CHECK_EQ_INT(rig.ends, 1);
    for (int i = 0; i < 3; i++) iteration();
    CHECK_EQ_INT(rig.hangups, 0);
    CHECK_EQ_INT(rig.ends, 1);
    rigClose();
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Returns a chain of blocks of random bytes with random references, which own their counts. */
static replyBlock *randomChain(int blocks, size_t piece_max, uint64_t *seed) {
    replyBlock *head = NULL, **end = &head;
    for (int i = 0; i < blocks; i++) {
        replyBlock *b = replyBlockGet(64, i == 0 || unitRandom(seed) % 2);
        int pieces = 1 + (int)(unitRandom(seed) % 12);
        for (int k = 0; k < pieces; k++) {
            size_t len = 1 + unitRandom(seed) % piece_max;
            if (unitRandom(seed) % 2) {
                if (replyBlockAvail(b) < sizeof(replyRef)) continue;
                char *bytes = zmalloc(len);
                for (size_t at = 0; at < len; at++) bytes[at] = (char)unitRandom(seed);
                robj *o = objectCreateFromBlockTake(sliceStr("k"), bytes, len, 0);
                b->nrefs++;
                *replyBlockRef(b, b->nrefs - 1) =
                    (replyRef){.obj = o, .ptr = objectString(o, NULL).ptr, .len = len, .offset = b->used};
            } else {
                if (len > 300) len = 300;
                if (replyBlockAvail(b) < len) continue;
                for (size_t at = 0; at < len; at++) b->data[b->used + at] = (char)unitRandom(seed);
                b->used += len;
            }
            b->total += len;
        }
        if (b->total == 0) b->data[b->used++] = 'x', b->total = 1;
        *end = b;
        end = &b->next;
    }
    return head;
}

/* A socket that accepts so many bytes and no more. */
static size_t takes_now, takes_later, first_writev;
static int writev_calls;
static sds taken;

static ssize_t scriptedWritev(connection *c, const struct iovec *iov, int count) {
    unused(c);
    size_t done = 0;
    for (int i = 0; i < count && takes_now; i++) {
        CHECK(iov[i].iov_len > 0);
        size_t n = iov[i].iov_len < takes_now ? iov[i].iov_len : takes_now;
        taken = sdsCatLen(taken, iov[i].iov_base, n);
        done += n;
        takes_now -= n;
        if (n < iov[i].iov_len) break;
    }
    if (writev_calls++ == 0) first_writev = done;
    if (done) return (ssize_t)done;
    takes_now = takes_later;
    errno = EAGAIN;
    return -1;
}

TEST(stream_writes_go_on_at_every_byte) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 3; round++) {
        uint64_t same = unitRandom(&seed);
        size_t total = SIZE_MAX;
        for (size_t first = 0; first <= total; first++) {
            uint64_t now = same;
            rigOpen(false, true);
            connectionType type = *rig.s->conn->type;
            type.writev = scriptedWritev;
            rig.s->conn->type = &type;
            replyBlock *chain = randomChain(4, 60, &now);
            sds want = replyBlockCatChain(sdsEmpty(), chain);
            total = sdsLen(want);
            taken = sdsEmpty();
            takes_now = first;
            takes_later = 1 + unitRandom(&seed) % 300;
            post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, chain);
            /* A byte may take two turns: one that sends it, one that finds the socket full. */
            for (size_t i = 0; i < 2 * total + 10 && rig.s->out_head; i++) iteration();
            iteration();
            CHECK_EQ_INT(sdsLen(taken), total);
            CHECK(sdsLen(taken) == total && !memcmp(taken, want, total));
            CHECK_EQ_INT(rig.written, total);
            CHECK(rig.s->done == NULL && rig.s->out_tail == NULL);
            rigClose();
            sdsFree(taken);
            sdsFree(want);
        }
    }
}

/* Returns a chain of one block with `n` values of `len` bytes, each after a header. */
static replyBlock *valuesChain(int n, size_t len) {
    replyBlock *b = replyBlockGet(1024, true);
    for (int i = 0; i < n; i++) {
        char *bytes = zmalloc(len);
        memset(bytes, 'a' + i % 26, len);
        robj *o = objectCreateFromBlockTake(sliceStr("k"), bytes, len, 0);
        memcpy(b->data + b->used, "$0000\r\n", 7);
        b->used += 7;
        b->nrefs++;
        *replyBlockRef(b, b->nrefs - 1) =
            (replyRef){.obj = o, .ptr = objectString(o, NULL).ptr, .len = len, .offset = b->used};
        b->total += 7 + len;
    }
    return b;
}

/* Stores the bytes of the first write of a chain to a socket that accepts everything, and the bytes of its first
 * iteration. */
static void firstWrite(replyBlock *chain, size_t *write, size_t *iteration_bytes) {
    rigOpen(false, true);
    connectionType type = *rig.s->conn->type;
    type.writev = scriptedWritev;
    rig.s->conn->type = &type;
    taken = sdsEmpty();
    takes_now = takes_later = SIZE_MAX;
    writev_calls = 0;
    sds want = replyBlockCatChain(sdsEmpty(), chain);
    post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, chain);
    *iteration_bytes = sdsLen(taken);
    *write = first_writev;
    for (int i = 0; i < 1000 && rig.s->out_head; i++) {
        size_t before = sdsLen(taken);
        iteration();
        CHECK(sdsLen(taken) - before <= 384 * 1024);
    }
    CHECK(sdsLen(taken) == sdsLen(want) && !memcmp(taken, want, sdsLen(taken)));
    rigClose();
    sdsFree(taken);
    sdsFree(want);
}

/* Other clients of the thread wait no longer for one that reads a large value than for one that reads small ones. */
TEST(io_iteration_is_bounded_inside_a_value) {
    size_t write, iteration_bytes;
    firstWrite(valuesChain(1, 10 << 20), &write, &iteration_bytes);
    CHECK_EQ_INT(iteration_bytes, 384 * 1024);
    firstWrite(valuesChain(3, 200 << 10), &write, &iteration_bytes);
    CHECK_EQ_INT(iteration_bytes, 384 * 1024);
    firstWrite(valuesChain(16, 16 << 10), &write, &iteration_bytes);
    CHECK_EQ_INT(write, 16 * ((16 << 10) + 7)); /* in one write */
}

/* A real socket with a tiny buffer, and chains that are added while others are being sent. */
static void writeThrough(bool tcp, int chains, size_t piece_max, uint64_t *seed) {
    rigOpen(tcp, true);
    int small = tcp ? 16384 : 4608; /* with less, TCP waits for its timers */
    setsockopt(rig.s->conn->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    sds want = sdsEmpty(), got = sdsEmpty();
    unitLimit limit = unitLimitStart(20000);
    while (chains || (sdsLen(got) < sdsLen(want) && !unitLimitOver(&limit))) {
        if (chains && unitRandom(seed) % 3) {
            replyBlock *chain = randomChain(1 + (int)(unitRandom(seed) % 6), piece_max, seed);
            want = replyBlockCatChain(want, chain);
            chains--;
            post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, chain);
        }
        char buf[20000];
        ssize_t n = read(rig.peer, buf, 1 + unitRandom(seed) % (unitRandom(seed) % 8 ? sizeof(buf) : 500));
        if (n > 0) got = sdsCatLen(got, buf, (size_t)n);
        iteration();
    }
    for (int i = 0; i < 20; i++) iteration();
    CHECK_EQ_INT(sdsLen(got), sdsLen(want));
    CHECK(sdsLen(got) == sdsLen(want) && !memcmp(got, want, sdsLen(got)));
    CHECK_EQ_INT(rig.written, sdsLen(want));
    CHECK(rig.s->out_head == NULL);
    CHECK_EQ_INT(rig.ends, 0);
    rigClose();
    sdsFree(got);
    sdsFree(want);
}

TEST(stream_writes_all_bytes_in_order) {
    uint64_t seed = unitRandomSeed();
    for (int i = 0; i < 4; i++) {
        writeThrough(false, 60, 100, &seed);
        writeThrough(true, 30, 3000, &seed);
        writeThrough(false, 6, 60000, &seed);
    }
}

/* If the peer does not read, waiting output costs what it contains and not a block for each reply. Everything else has
 * been returned, bytes and references are those that were given, and the counts of the values are right in the end. */
TEST(stream_waiting_replies_share_blocks) {
    uint64_t seed = unitRandomSeed();
    rigOpen(false, true);
    connectionType type = *rig.s->conn->type;
    type.writev = scriptedWritev;
    rig.s->conn->type = &type;
    taken = sdsEmpty();
    takes_now = takes_later = 0;
    sds want = sdsEmpty();
    robj *value = objectCreateRawString(sliceStr("k"), sliceStr("a value that all replies refer to"), 0);
    const int chains = 2000;
    size_t posted = 0;
    for (int i = 0; i < chains; i++) {
        replyBlock *b = replyBlockGet(64, unitRandom(&seed) % 8 != 0);
        b->used = (size_t)sprintf(b->data, "+reply %d\r\n", i);
        b->total = b->used;
        if (i % 3 == 0) {
            slice bytes = objectString(value, NULL);
            *replyBlockRef(b, b->nrefs++) = (replyRef){value, bytes.ptr, bytes.len, unitRandom(&seed) % (b->used + 1)};
            b->total += bytes.len;
            incrRefCount(value);
        }
        replyBlockCheck(b);
        want = replyBlockCatChain(want, b);
        posted++;
        post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, b);
        if (i % 50 == 0) iteration();
    }
    iteration();
    size_t held = posted - rig.replies_back, held_bytes = 0, blocks = 0;
    for (const replyBlock *b = rig.s->out_head; b; b = b->next) {
        replyBlockCheck(b);
        held_bytes += replyBlockAllocSize(b);
        blocks++;
    }
    CHECK_EQ_INT(held, blocks);
    CHECK_EQ_INT(value->refcount, 1 + (chains + 2) / 3);
    /* Bytes and references, and at most twice that for unused ends of blocks. */
    CHECK(held_bytes < 2 * (size_t)chains * (16 + sizeof(replyRef) / 3) + REPLY_BLOCK_LARGE);
    takes_later = 777;
    takes_now = 1;
    for (size_t i = 0; i < 2 * sdsLen(want) && rig.s->out_head; i++) iteration();
    iteration();
    CHECK(sdsLen(taken) == sdsLen(want) && !memcmp(taken, want, sdsLen(want)));
    CHECK_EQ_INT(rig.replies_back, posted);
    CHECK_EQ_INT(value->refcount, 1);
    rigClose();
    objectRelease(value);
    sdsFree(taken);
    sdsFree(want);
}

/* Closing returns everything, sent or not, and unsent bytes do not count as written. */
TEST(stream_close_with_pending_output) {
    uint64_t seed = unitRandomSeed();
    for (int i = 0; i < 20; i++) {
        rigOpen(i % 2, true);
        int small = 4608;
        setsockopt(rig.s->conn->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
        size_t total = 0;
        for (int k = 0; k < 40; k++) {
            replyBlock *chain = randomChain(3, 10000, &seed);
            for (const replyBlock *b = chain; b; b = b->next) total += b->total;
            post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, chain);
        }
        putText("*2\r\n$4\r\nECHO\r\n$9999\r\nabc"); /* and half a request */
        CHECK(rig.s->out_head != NULL);
        rigClose();
        CHECK(rig.written < total);
    }
}

/* Written bytes that were not yet reported are reported with the next request, once; or alone if there is none. */
TEST(stream_reports_written_bytes_with_the_next_request) {
    uint64_t seed = unitRandomSeed();
    rigOpen(false, true);
    replyBlock *chain = randomChain(3, 200, &seed);
    sds want = replyBlockCatChain(sdsEmpty(), chain), got = sdsEmpty();
    post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, chain);
    CHECK_EQ_INT(rig.written, 0); /* the iteration continues */
    CHECK(send(rig.peer, "PING\r\n", 6, MSG_NOSIGNAL) == 6);
    fixtureTurn();
    CHECK_EQ_STR(rig.seen, "<PING>");
    CHECK_EQ_INT(rig.written, sdsLen(want));
    clientIosReport(ioThreadOwner(ioThreadMain()));
    CHECK_EQ_INT(rig.written, sdsLen(want)); /* not twice */
    post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, randomChain(1, 50, &seed));
    clientIosReport(ioThreadOwner(ioThreadMain()));
    CHECK(rig.written > sdsLen(want));
    fixtureReceive(rig.peer, &got);
    CHECK_EQ_INT(sdsLen(got), rig.written);
    rigClose();
    sdsFree(want);
    sdsFree(got);
}

/* For INFO's total_reads_processed and total_writes_processed. */
TEST(stream_counts_its_reads_and_writes) {
    uint64_t seed = unitRandomSeed();
    ioTotals before, after;
    rigOpen(false, true);
    ioThreadsTotals(&before);
    putText("PING\r\n");
    ioThreadsTotals(&after);
    CHECK_EQ_INT(after.main_reads - before.main_reads, 1);
    CHECK_EQ_INT(after.main_writes - before.main_writes, 0);
    post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, randomChain(3, 200, &seed));
    ioThreadsTotals(&after);
    CHECK_EQ_INT(after.main_reads - before.main_reads, 1);
    CHECK_EQ_INT(after.main_writes - before.main_writes, 1);
    rigClose();
}

/* --- drain ---------------------------------------------------------------------------------------------------------
 * */

static void drain(bool half_closed, uint64_t *seed) {
    rigOpen(false, true);
    int small = 4608;
    setsockopt(rig.s->conn->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    replyBlock *chain = randomChain(20, 5000, seed);
    sds want = replyBlockCatChain(sdsEmpty(), chain), got = sdsEmpty();
    post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, chain);
    if (half_closed) shutdown(rig.peer, SHUT_WR);
    iteration();
    int before = rig.ends;
    CHECK_EQ_INT(before, half_closed);
    post(IO_MSG_DRAIN, 0, NULL, NULL);
    if (!half_closed) put("PING\r\nPING\r\n", 12);
    for (int i = 0; i < 5; i++) iteration();
    CHECK_EQ_INT(rig.ends, before); /* unsent output */
    CHECK_EQ_STR(rig.seen, "");     /* input is discarded */
    for (int i = 0; i < 10000 && rig.ends == before; i++) {
        CHECK(fixtureReceive(rig.peer, &got));
        iteration();
    }
    CHECK_EQ_INT(rig.ends, before + 1);
    CHECK_EQ_INT(rig.end_reason, END_DRAINED);
    post(IO_MSG_CLOSE, 0, NULL, NULL);
    fixtureReceive(rig.peer, &got);
    CHECK(sdsLen(got) == sdsLen(want) && !memcmp(got, want, sdsLen(got)));
    CHECK_EQ_INT(rig.written, sdsLen(want));
    rigClose();
    sdsFree(got);
    sdsFree(want);
}

TEST(stream_drains_before_it_ends) {
    uint64_t seed = unitRandomSeed();
    drain(false, &seed);
    drain(true, &seed);
    rigOpen(false, true); /* nothing to drain: the end comes at once */
    post(IO_MSG_DRAIN, 0, NULL, NULL);
    CHECK_EQ_INT(rig.end_reason, END_DRAINED);
    CHECK_EQ_INT(rig.ends, 1);
    rigClose();
}

static int unreadInput(void) {
    int unread = -1;
    ioctl(rig.s->conn->fd, FIONREAD, &unread);
    return unread;
}

/* A draining connection keeps reading, whether reading had stopped before or not, and on any owner thread. Its input is
 * discarded, as unread input would turn the close into a reset, and the close of its peer is noticed. */
TEST(stream_that_drains_listens) {
    enum { READS, IS_BEHIND, MOVED, HALF_CLOSED, WAYS };
    uint64_t seed = unitRandomSeed();
    for (int way = 0; way < 2 * WAYS; way++) {
        rigOpen(way < WAYS, true);
        int small = 4608;
        setsockopt(rig.s->conn->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
        if (way % WAYS == IS_BEHIND) fallBehind();
        replyBlock *chain = randomChain(200, 50000, &seed);
        post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, chain);
        CHECK(rig.s->out_head != NULL);
        size_t blocks = rig.blocks;
        post(IO_MSG_DRAIN, 0, NULL, NULL);
        if (way % WAYS == MOVED) {
            post(IO_MSG_LEAVE, 0, NULL, NULL);
            post(IO_MSG_JOIN, CLIENT_IO_AUTHENTICATED, NULL, NULL);
        }
        CHECK(send(rig.peer, "PING\r\n", 6, MSG_NOSIGNAL) == 6);
        if (way % WAYS == HALF_CLOSED) shutdown(rig.peer, SHUT_WR);
        for (int i = 0; i < 10; i++) iteration(); /* fallBehind() has left more than one read */
        CHECK_EQ_INT(unreadInput(), 0);
        CHECK_EQ_INT(rig.blocks, blocks); /* discarded */
        CHECK_EQ_INT(rig.ends, 0);
        CHECK(rig.s->out_head != NULL);
        rigClose();
    }
}

/* Returns more than the buffer of the peer takes, and less than that of the socket. */
static replyBlock *oneLargeBlock(void) {
    replyBlock *b = replyBlockGet(60000, false);
    for (int i = 0; i < 60000; i++) b->data[i] = (char)('a' + i % 23);
    b->used = b->total = 60000;
    return b;
}

/* The peer keeps sending and reads slowly: all written output reaches it, although its input is discarded. Closing at
 * once would reset the connection while bytes are on their way. */
TEST(stream_drain_waits_for_what_the_kernel_has) {
    rigOpen(true, true);
    int small = 8192, large = 1 << 20;
    setsockopt(rig.peer, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    setsockopt(rig.s->conn->fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
    replyBlock *chain = oneLargeBlock();
    sds want = replyBlockCatChain(sdsEmpty(), chain), got = sdsEmpty();
    post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, chain);
    CHECK(rig.s->out_head == NULL);
    post(IO_MSG_DRAIN, 0, NULL, NULL);
    CHECK_EQ_INT(rig.ends, 0);
    char junk[10000];
    memset(junk, 'x', sizeof(junk));
    for (int i = 0; i < 5; i++) {
        if (send(rig.peer, junk, sizeof(junk), MSG_NOSIGNAL) < 0) CHECK_EQ_INT(errno, EAGAIN);
        iteration();
    }
    CHECK_EQ_INT(rig.ends, 0);
    post(IO_MSG_LEAVE, 0, NULL, NULL); /* and the connection may move meanwhile */
    CHECK(rig.left && rig.s->linger_timer < 0);
    post(IO_MSG_JOIN, CLIENT_IO_AUTHENTICATED, NULL, NULL); /* main does not ask for the drain again */
    CHECK(rig.s->linger_timer >= 0);
    unitLimit limit = unitLimitStart(60000);
    while (fixtureReceive(rig.peer, &got) && !unitLimitOver(&limit)) iteration(); /* until end of file */
    CHECK_EQ_INT(sdsLen(got), sdsLen(want));
    CHECK(sdsLen(got) == sdsLen(want) && !memcmp(got, want, sdsLen(got)));
    close(rig.peer);
    rig.peer = -1;
    while (!rig.ends && !unitLimitOver(&limit)) iteration();
    CHECK_EQ_INT(rig.end_reason, END_DRAINED);
    rigClose();
    sdsFree(got);
    sdsFree(want);
}

/* A peer that reads nothing is not waited for. */
TEST(stream_drain_ends_although_the_peer_stands_still) {
    rigOpen(true, true);
    int small = 8192, large = 1 << 20;
    setsockopt(rig.peer, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    setsockopt(rig.s->conn->fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
    post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, oneLargeBlock());
    post(IO_MSG_DRAIN, 0, NULL, NULL);
    CHECK_EQ_INT(rig.ends, 0);
    unitLimit limit = unitLimitStart(60000);
    while (!rig.ends && !unitLimitOver(&limit)) {
        iteration();
        usleep(5000);
    }
    CHECK_EQ_INT(rig.end_reason, END_DRAINED);
    CHECK(rig.s->linger_timer < 0);
    rigClose();
}

/* The peer half-closes, the connection drains, and then the peer closes without reading: main must be notified. */
TEST(stream_drain_ends_when_the_peer_is_gone) {
    uint64_t seed = unitRandomSeed();
    for (int eof_first = 0; eof_first < 2; eof_first++) {
        rigOpen(false, true);
        int small = 4608;
        setsockopt(rig.s->conn->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
        post(IO_MSG_OUTPUT, CLIENT_IO_AUTHENTICATED, NULL, randomChain(30, 5000, &seed));
        if (eof_first) shutdown(rig.peer, SHUT_WR);
        iteration();
        int before = rig.ends;
        post(IO_MSG_DRAIN, 0, NULL, NULL);
        for (int i = 0; i < 3; i++) iteration();
        close(rig.peer);
        rig.peer = -1;
        for (int i = 0; i < 5; i++) iteration();
        CHECK(rig.ends > before);
        CHECK(rig.end_reason == END_DRAINED || rig.end_reason == END_ERROR);
        rigClose();
    }
}

/* replicas_test.c -- compares replicas and their offsets with a plain model; the write throttle for a slow replica.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "replicas.h"

#include "client_check.h"
#include "clock.h"
#include "db.h"
#include "full_sync.h"
#include "gates.h"
#include "log.h"
#include "output_limits.h"
#include "panic.h"
#include "pause.h"
#include "repl_settings.h"
#include "reply.h"
#include "repl_stream.h"
#include "unit.h"
#include "write_throttle.h"
#include "zmalloc.h"

#include <string.h>

#define MANY 4
#define BACKLOG ((size_t)16 << 10)
#define ON_ITS_WAY_MAX ((size_t)2 << 20)

static char any_stream; /* never accessed */
static char text[70000];
static size_t acks;

static gateResult pass(client *c) {
    unused(c);
    return GATE_PASSED;
}

static void countAck(void) { acks++; }

static void setUp(void) {
    panicSetMainThread();
    if (!client_state.clients) {
        clockInit();
        dbInit(16);
        clientsInit();
        replicasInit();
        replicasOnAck(countAck);
        gateSet(GATE_REPLICA_CLIENT, pass);
        gateSet(GATE_PAUSE, pass);
        uint64_t seed = unitRandomSeed();
        for (size_t i = 0; i < sizeof(text); i++) text[i] = (char)unitRandom(&seed);
    }
    logSetLevel(LL_NOTHING);
    repl_settings.backlog_size = BACKLOG;
    repl_settings.min_replicas_max_lag_s = 10;
    replStreamTakeWrites(false);
    replStreamFollow("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0);
    replStreamTakeWrites(true);
}

static client *makeClient(void) {
    return clientCreate((struct clientIo *)(void *)&any_stream, 7, "10.0.0.1:1234", "10.0.0.2:6379", false);
}

/* Returns the output of a replica since the last call, as if its socket had accepted it. */
static sds takeSent(client *c) {
    replyBlock *chain = clientTakeReplies(c);
    sds out = replyBlockCatChain(sdsEmpty(), chain);
    clientOutputWritten(c, chain, sdsLen(out));
    return out;
}

static void endClient(client *c) {
    sdsFree(takeSent(c));
    clientCloseAsap(c);
    CHECK(clientPopClosing() == c);
    clientFree(c);
}

/* ---- A model ---- */

typedef struct follower {
    client *c; /* NULL if unused */
    bool online, has_cursor, streams;
    uint64_t begun, got; /* offsets: of its start, and of the bytes it was sent */
    long long acked, synced;
} follower;

typedef struct model {
    char *bytes; /* owns; bytes of the replication stream */
    size_t len, room;
    follower all[MANY];
} model;

static void come(follower *f, uint64_t offset) {
    f->c = makeClient();
    replicaState *r = replicaOf(f->c);
    CHECK(replicaOf(f->c) == r);
    CHECK(replicaSetCursor(r, offset));
    replicaBegin(r);
    f->begun = f->got = offset;
    f->has_cursor = true;
    f->acked = 0;
    f->synced = -1;
}

static void go(follower *f) {
    endClient(f->c);
    *f = (follower){0};
}

static void say(model *m, uint64_t *seed) {
    size_t len = unitRandom(seed) % (unitRandom(seed) % 8 ? 300 : sizeof(text));
    if (m->len + len > m->room) return;
    memcpy(m->bytes + m->len, text, len);
    m->len += len;
    replStreamAppend(sliceOf(text, len));
}

/* Checks what it was sent: bytes of the replication stream from its offset on. */
static void take(model *m, follower *f) {
    sds sent = takeSent(f->c);
    CHECK(sdsLen(sent) == 0 || f->streams);
    if (CHECK(f->got + sdsLen(sent) <= m->len)) CHECK_MEM(sent, m->bytes + f->got, sdsLen(sent));
    f->got += sdsLen(sent);
    sdsFree(sent);
}

/* Acknowledges arbitrary offsets; a synced offset beyond the end of the stream is ignored. */
static void tell(const model *m, follower *f, uint64_t *seed) {
    long long end = (long long)m->len, acked = (long long)(unitRandom(seed) % 100000) - 10;
    long long synced = (long long)(unitRandom(seed) % (m->len / 4 + 10)) - 1;
    size_t before = acks;
    replicaAck(replicaFind(f->c), acked, synced);
    CHECK_EQ_INT(acks, before + 1);
    if (acked > f->acked) f->acked = acked;
    if (synced > f->synced && synced <= end) f->synced = synced;
}

static void step(model *m, uint64_t *seed) {
    follower *f = &m->all[unitRandom(seed) % MANY];
    uint64_t begin = backlogBegin(replStreamBacklog());
    switch (unitRandom(seed) % 16) {
    case 0:
        if (!f->c) come(f, begin + unitRandom(seed) % (m->len - begin + 1));
        else if (unitRandom(seed) % 4 == 0) go(f);
        break;
    case 1:
        if (f->c && f->has_cursor && !f->online) {
            bool awaits_ack = unitRandom(seed) % 2;
            replicaOnline(replicaFind(f->c), awaits_ack);
            f->online = true;
            f->streams = !awaits_ack;
        }
        break;
    case 2:
        if (f->online && f->has_cursor && !f->streams) {
            replicaStartStream(replicaFind(f->c));
            f->streams = true;
        }
        break;
    case 3:
        if (f->c) tell(m, f, seed);
        break;
    case 4:
        if (f->c && !f->online) {
            replicaDropCursor(replicaFind(f->c));
            f->has_cursor = false;
        }
        break;
    case 5:
    case 6:
    case 7:
        if (f->c) take(m, f);
        break;
    case 8: replicasFeed(); break;
    default: say(m, seed); break;
    }
}

static void checkModel(const model *m, uint64_t *seed) {
    size_t count = 0, acked = 0, synced = 0, online = 0, most = 0;
    long long limit = (long long)(unitRandom(seed) % 100000);
    bool all_have = true;
    replicasFeed();
    for (int i = 0; i < MANY; i++) {
        const follower *f = &m->all[i];
        if (!f->c) continue;
        const replicaState *r = replicaFind(f->c);
        count++;
        online += f->online;
        acked += f->online && f->acked >= limit;
        synced += f->online && f->synced >= limit % 1000;
        all_have &= !f->online || f->acked >= (long long)m->len;
        size_t kept = f->has_cursor ? m->len - (f->streams ? f->got : f->begun) : 0;
        CHECK_EQ_INT(f->c->external_output, kept);
        if (kept > most) most = kept;
        if (f->has_cursor) CHECK(backlogBegin(replStreamBacklog()) <= (f->streams ? f->got : f->begun));
        CHECK(f->c->output_bytes <= ON_ITS_WAY_MAX && r->at.offset <= m->len);
        clientCheck(f->c);
    }
    CHECK_EQ_INT(replicasCount(), count);
    CHECK_EQ_INT(replicasAcked((uint64_t)limit), acked);
    CHECK_EQ_INT(replicasSynced((uint64_t)limit % 1000), synced);
    CHECK_EQ_INT(replicasGood(), online);
    CHECK_EQ_INT(replicasHaveAll(), all_have);
    CHECK_EQ_INT(replicasKeptForOne(), most);
    backlogCheck(replStreamBacklog());
}

TEST(replicas_are_sent_the_stream_from_their_places_on) {
    uint64_t seed = unitRandomSeed();
    setUp();
    model m = {.room = (size_t)16 << 20};
    m.bytes = zmalloc(m.room);
    for (int i = 0; i < 20000; i++) {
        step(&m, &seed);
        if (i % 8 == 0) checkModel(&m, &seed);
    }
    for (int i = 0; i < MANY; i++)
        if (m.all[i].c) go(&m.all[i]);
    CHECK_EQ_INT(replicasCount(), 0);
    zfree(m.bytes);
    replStreamTakeWrites(false);
    replStreamDrop();
}

TEST(a_replica_that_has_loaded_before_all_is_known_to_be_sent_is_not_waited_for) {
    follower f = {0};
    setUp();
    for (int early = 0; early < 2; early++) {
        come(&f, replStreamOffset());
        replicaState *r = replicaFind(f.c);
        r->phase = REPLICA_WAIT_END;
        if (early) fullSyncAcked(r);
        CHECK(!r->streams);
        fullSyncCompleted(r, true);
        CHECK_EQ_INT(r->phase, REPLICA_ONLINE);
        CHECK_EQ_INT(r->streams, early);
        fullSyncAcked(r);
        CHECK(r->streams);
        go(&f);
    }
    replStreamTakeWrites(false);
    replStreamDrop();
}

TEST(replicas_have_names_as_they_announce_themselves) {
    char ip[16];
    setUp();
    client *c = makeClient();
    replicaState *r = replicaOf(c);
    CHECK_EQ_STR(replicaName(r), "10.0.0.1:<unknown-replica-port>");
    r->port = 7000;
    CHECK_EQ_STR(replicaName(r), "10.0.0.1:7000");
    r->ip = sdsNew("fe80::1");
    CHECK_EQ_STR(replicaName(r), "[fe80::1]:7000");
    replicaAddress(r, ip, sizeof(ip));
    CHECK_EQ_STR(ip, "fe80::1");
    sdsFree(r->ip);
    r->ip = sdsEmpty();
    for (int i = 0; i < 255; i++) r->ip = sdsCat(r->ip, "x");
    CHECK(strlen(replicaName(r)) == 260);
    replicaAddress(r, ip, sizeof(ip));
    CHECK_EQ_INT(strlen(ip), sizeof(ip) - 1);
    endClient(c);
    replStreamTakeWrites(false);
    replStreamDrop();
}

/* ---- Writers ---- */

static void setLimit(const char *hard, const char *soft) {
    char kind[] = "replica", hard_text[16], soft_text[16], seconds[] = "60";
    const char *err = NULL;
    strcpy(hard_text, hard);
    strcpy(soft_text, soft);
    char *words[] = {kind, hard_text, soft_text, seconds};
    CHECK(outputLimitsSet(NULL, words, array_len(words), &err));
}

static bool writersWait(void) { return pauseNow() != PAUSE_NONE; }

/* Adds `bytes` to what is kept for it. */
static void keep(size_t bytes) {
    for (size_t n; bytes > 0; bytes -= n) {
        n = bytes < sizeof(text) ? bytes : sizeof(text);
        replStreamAppend(sliceOf(text, n));
    }
    replicasFeed();
    writeThrottleCheck();
}

/* Gives the follower a sign of life: on a slow machine its last one may be older than the throttle allows. */
static void acknowledge(follower *f) { replicaFind(f->c)->acked_ms = clockMonotonicMs(); }

TEST(writers_wait_before_a_replica_is_sent_away_for_its_limit) {
    follower f = {0};
    setUp();
    pauseInit();
    outputLimitsSetReplicaFloor(BACKLOG);
    setLimit("1600000", "0");
    repl_settings.slow_writers = true;
    come(&f, 0);
    keep(690000); /* less than half of seven eighths */
    CHECK(!writersWait());
    keep(800000); /* beyond seven eighths */
    CHECK(writersWait());
    replicaLoadsBeside(replicaFind(f.c)); /* it begins to load */
    replicasFeed();
    sdsFree(takeSent(f.c));
    replicasFeed();
    writeThrottleCheck();
    CHECK_EQ_INT(f.c->external_output, 0);
    CHECK(!writersWait());

    replicaDropCursor(replicaFind(f.c));
    CHECK(replicaSetCursor(replicaFind(f.c), replStreamOffset()));
    acknowledge(&f);
    keep(1590000);
    CHECK(writersWait());
    acknowledge(&f);
    repl_settings.slow_writers = false;
    writeThrottleCheck();
    CHECK(!writersWait());
    repl_settings.slow_writers = true;
    writeThrottleCheck();
    CHECK(writersWait());
    setLimit("0", "0"); /* no limit, and so no throttle */
    writeThrottleCheck();
    CHECK(!writersWait());
    setLimit("0", "1600000"); /* the soft limit counts if there is no other */
    writeThrottleCheck();
    CHECK(writersWait());
    setLimit("4000000", "1600000");
    writeThrottleCheck();
    CHECK(!writersWait());
    f.c->soft_limit_since = clockTicks();
    acknowledge(&f);
    setLimit("16000000", "1600000"); /* it is not to end a replica that is alive */
    writeThrottleCheck();
    CHECK(f.c->soft_limit_since != 0); /* below the soft limit */
    keep(100000);
    CHECK(!writersWait() && f.c->soft_limit_since == 0);
    acknowledge(&f);
    setLimit("0", "1600000");
    f.c->soft_limit_since = clockTicks();
    writeThrottleCheck();
    CHECK(writersWait() && f.c->soft_limit_since != 0);
    go(&f);
    writeThrottleCheck();
    CHECK(!writersWait());
    repl_settings.slow_writers = false;
    replStreamTakeWrites(false);
    replStreamDrop();
}

/* Makes the last sign of life of a replica older by `ms`. */
static void beSilent(replicaState *r, uint64_t ms) {
    r->acked_ms -= ms;
    r->received_ms -= ms;
    r->c->last_interaction = 0;
}

TEST(writers_wait_for_replicas_that_are_alive) {
    follower hangs = {0}, lives = {0};
    setUp();
    pauseInit();
    outputLimitsSetReplicaFloor(BACKLOG);
    setLimit("1600000", "0");
    repl_settings.slow_writers = true;
    come(&hangs, replStreamOffset());
    come(&lives, replStreamOffset());
    replicaState *h = replicaFind(hangs.c), *l = replicaFind(lives.c);
    replicaOnline(h, false);
    replicaOnline(l, false);
    keep(1500000);
    CHECK(writersWait());
    beSilent(h, 6000);
    writeThrottleCheck();
    CHECK(writersWait()); /* the other one is as far behind */
    beSilent(l, 6000);
    writeThrottleCheck();
    CHECK(!writersWait());
    replicaAck(l, 1, -1);
    writeThrottleCheck();
    CHECK(writersWait());
    sdsFree(takeSent(l->c));
    replicasFeed();
    beSilent(l, 6000);
    keep(10000);
    CHECK(!writersWait()); /* it has accepted everything; the one that hangs would be the only cause */
    h->phase = REPLICA_LOADS_BESIDE;
    repl_settings.timeout_s = 60;
    writeThrottleCheck();
    CHECK(writersWait());
    beSilent(h, 60000);
    writeThrottleCheck();
    CHECK(!writersWait());
    h->phase = REPLICA_ONLINE;
    replicaAck(h, 1, -1);
    h->awaits_ack = true;
    beSilent(h, 6000);
    writeThrottleCheck();
    CHECK(writersWait()); /* it loads */
    h->awaits_ack = false;
    writeThrottleCheck();
    CHECK(!writersWait());
    h->phase = REPLICA_WAIT_END; /* no bytes of an RDB wait for it */
    writeThrottleCheck();
    CHECK(writersWait());
    h->phase = REPLICA_ONLINE;
    go(&hangs);
    go(&lives);
    writeThrottleCheck();
    repl_settings.slow_writers = false;
    replStreamTakeWrites(false);
    replStreamDrop();
}

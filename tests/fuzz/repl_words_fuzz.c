/* repl_words_fuzz.c -- feeds any words as commands of two replicas: REPLCONF, PSYNC, SYNC, in any order.
 *
 * The input is lines. The first letter of each selects a replica, "a" or "b", and the second an action: it sends the
 * words that follow after "r" REPLCONF, "p" PSYNC, "s" SYNC, or "x" nothing; "n" sends a newline, "k" closes it. For
 * the server, "w" writes the words to its replication stream; "t" begins a full synchronization for waiting replicas,
 * "e" ends it. Other lines are ignored.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_check.h"
#include "client_io.h"
#include "full_sync.h"
#include "rebalance.h"
#include "repl_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WHO 2
#define LINES_MAX 200
#define ID "0123456789abcdef0123456789abcdef01234567"
#define BEGIN 100

static client *clients[WHO]; /* NULL if closed or not connected yet */
static int peers[WHO];

static void nobody(bool whole) { unused(whole); }

static void forget(client *c) {
    for (int i = 0; i < WHO; i++)
        if (clients[i] == c) clients[i] = NULL;
}

static void setUp(void) {
    prepare(nobody);
    replicasOnClose(fullSyncForget);
    clientOnFree(forget);
    repl_settings.diskless_sync = repl_settings.dual_channel = true;
    repl_settings.diskless_delay_s = 5; /* no child is forked here */
    repl_settings.timeout_s = 60;
}

static void endClient(int who) {
    if (peers[who] > 0) close(peers[who]);
    peers[who] = 0;
    for (int i = 0; clients[who]; i++) {
        serverAssert(i < 1000);
        iteration();
    }
}

static client *clientOf(int who) {
    int fds[2];
    if (clients[who]) return clients[who];
    endClient(who);
    serverAssert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    clientIo *s = clientIoCreate(connCreateAcceptedUnix(fds[0], NULL), true);
    connAccept(s->conn, NULL);
    client *c = clientCreate(s, fds[0], "10.0.0.1:1234", "10.0.0.2:6379", true);
    c->authenticated = true;
    s->session = c;
    rebalanceAdopt(s);
    clients[who] = c;
    peers[who] = fds[1];
    replicaOf(c)->reads_eof = true; /* a child would start at once for one that does not */
    return c;
}

/* ---- Commands ---- */

static void say(int who, const char *name, const char *line, size_t len) {
    char heard[4096];
    sds all = sdsCatLen(sdsNew(name), line, len);
    int count;
    sds *words = sdsSplitLen(all, sdsLen(all), " ", 1, &count);
    sds out = sdsCatPrintf(sdsEmpty(), "*%d\r\n", count);
    for (int i = 0; i < count; i++) {
        out = sdsCatPrintf(out, "$%zu\r\n", sdsLen(words[i]));
        out = sdsCatLen(sdsCatLen(out, words[i], sdsLen(words[i])), "\r\n", 2);
    }
    (void)send(peers[who], out, sdsLen(out), MSG_NOSIGNAL);
    for (int i = 0; i < 3; i++) iteration();
    while (peers[who] > 0 && read(peers[who], heard, sizeof(heard)) > 0) continue;
    sdsFreeSplitRes(words, count);
    sdsFree(all);
    sdsFree(out);
}

/* Does what fullSync does to waiting replicas when a child begins and ends. */
static void beginRound(void) {
    for (int i = 0; i < WHO; i++) {
        replicaState *r = clients[i] ? replicaFind(clients[i]) : NULL;
        if (!r || r->phase != REPLICA_WAIT_START || r->c->flags & CLIENT_CLOSE_ASAP) continue;
        serverAssert(replicaSetCursor(r, replStreamOffset()));
        r->phase = REPLICA_WAIT_END;
    }
}

static void endRound(bool awaits_ack) {
    for (int i = 0; i < WHO; i++) {
        replicaState *r = clients[i] ? replicaFind(clients[i]) : NULL;
        if (r && r->phase == REPLICA_WAIT_END && !(r->c->flags & CLIENT_CLOSE_ASAP)) fullSyncCompleted(r, awaits_ack);
    }
}

/* ---- Invariants ---- */

static void checkReplica(const client *c) {
    const replicaState *r = replicaFind(c);
    if (!r) {
        serverAssert(!(c->flags & CLIENT_REPLICA));
        return;
    }
    bool is_one = r->phase != REPLICA_NONE;
    serverAssert(r->c == c && is_one == (r->node != NULL) && is_one == !!(c->flags & CLIENT_REPLICA));
    serverAssert(!r->streams || r->has_cursor);
    serverAssert(!r->has_cursor || (is_one && r->at.offset <= replStreamOffset()));
    serverAssert(r->phase != REPLICA_ONLINE || (r->has_cursor && (r->streams || r->awaits_ack)));
    serverAssert(r->phase != REPLICA_LOADS_BESIDE || r->streams);
    serverAssert(r->acked >= 0 && r->synced >= -1 && (!r->ip || sdsLen(r->ip) <= 255));
    serverAssert(replicaName(r)[0] && *replicaPhaseName(r->phase));
}

static void checkAll(void) {
    size_t count = 0, places = 0;
    for (int i = 0; i < WHO; i++) {
        if (!clients[i]) continue;
        checkReplica(clients[i]);
        clientCheck(clients[i]);
        const replicaState *r = replicaFind(clients[i]);
        count += r && r->phase != REPLICA_NONE;
        places += r && r->has_cursor && r->is_rdb_channel;
    }
    serverAssert(replicasCount() == count && replicasWaitingPsync() == places);
    serverAssert(replicasAcked(0) <= count && replicasSynced(0) <= count && replicasGood() <= count);
    if (replStreamIsKept()) backlogCheck(replStreamBacklog());
}

static void doLine(const char *line, size_t len) {
    if (len < 2 || (line[0] != 'a' && line[0] != 'b')) return;
    int who = line[0] - 'a';
    const char *rest = line + 2;
    size_t rest_len = len - 2;
    clientOf(who);
    switch (line[1]) {
    case 'r': say(who, "REPLCONF ", rest, rest_len); break;
    case 'p': say(who, "PSYNC ", rest, rest_len); break;
    case 's': say(who, "SYNC", "", 0); break;
    case 'x': say(who, "", rest, rest_len); break;
    case 'n': (void)send(peers[who], "\n", 1, MSG_NOSIGNAL); break;
    case 'w': replStreamAppend(sliceOf(rest, rest_len)); break;
    case 't': beginRound(); break;
    case 'e': endRound(rest_len > 0); break;
    case 'k': endClient(who); break;
    default: return;
    }
    checkAll();
    iteration();
    checkAll();
}

static bool isForOthers(const char *line, size_t len) {
    static const char *const words[] = {"replicaof", "slaveof", "failover", "migrate", "pause"};
    sds lower = sdsNewLen(line, len);
    for (size_t i = 0; i < len; i++)
        if (lower[i] >= 'A' && lower[i] <= 'Z') lower[i] = (char)(lower[i] - 'A' + 'a');
    bool found = false;
    for (size_t i = 0; i < array_len(words) && !found; i++) found = memmem(lower, len, words[i], strlen(words[i]));
    sdsFree(lower);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!loop) setUp();
    replStreamTakeWrites(false);
    replStreamFollow(ID, BEGIN);
    replStreamTakeWrites(true);
    client_state.next_id = 1; /* replicas name each other by id */
    const char *at = (const char *)data, *end = at + size;
    for (int lines = 0; at < end && lines < LINES_MAX; lines++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        if (!isForOthers(at, (size_t)(stop - at))) doLine(at, (size_t)(stop - at));
        at = stop + 1;
    }
    for (int i = 0; i < WHO; i++) endClient(i);
    serverAssert(replicasCount() == 0 && replicasWaitingPsync() == 0);
    replStreamDrop();
    dbEmpty(-1, false);
    return 0;
}

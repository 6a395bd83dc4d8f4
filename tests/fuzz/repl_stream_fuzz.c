/* repl_stream_fuzz.c -- feeds any bytes as the replication stream of a primary: they are applied, or the link ends; the
 * replica's own stream has exactly the applied bytes.
 *
 * The first byte is the size of the pieces. If its highest bit is set, the rest is the stream; otherwise it is lines of
 * words, each a command, except lines that begin with "!", which are sent unchanged.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "repl_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BEGIN 1000               /* offset of the first byte */
#define ITERATIONS_MAX 2000      /* a stream that is not applied by then waits for something */
#define INPUT_MAX ((size_t)8192) /* fits into a socket's buffer */
#define ID "0123456789abcdef0123456789abcdef01234567"

static bool lost, lost_whole;

static void onLost(bool whole) {
    lost = true;
    lost_whole = whole;
}

/* ---- The primary's output ----- */

static sds catCommand(sds out, const char *line, size_t len) {
    int count;
    sds *words = sdsSplitLen(line, len, " ", 1, &count);
    out = sdsCatPrintf(out, "*%d\r\n", count);
    for (int i = 0; i < count; i++) {
        out = sdsCatPrintf(out, "$%zu\r\n", sdsLen(words[i]));
        out = sdsCatLen(sdsCatLen(out, words[i], sdsLen(words[i])), "\r\n", 2);
    }
    sdsFreeSplitRes(words, count);
    return out;
}

static sds streamOf(const uint8_t *data, size_t size) {
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    if (data[0] & 128) return sdsNewLen(at, (size_t)(end - at));
    sds out = sdsEmpty();
    for (const char *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        if (*at == '!') out = sdsCatLen(sdsCatLen(out, at + 1, (size_t)(stop - at) - 1), "\n", 1);
        else out = catCommand(out, at, (size_t)(stop - at));
    }
    return out;
}

/* Returns whether the stream contains one of these words. */
static bool names(sds stream, const char *const *words, size_t count) {
    sds lower = sdsDup(stream);
    for (size_t i = 0; i < sdsLen(lower); i++)
        if (lower[i] >= 'A' && lower[i] <= 'Z') lower[i] = (char)(lower[i] - 'A' + 'a');
    bool found = false;
    for (size_t i = 0; i < count && !found; i++)
        found = memmem(lower, sdsLen(lower), words[i], strlen(words[i])) != NULL;
    sdsFree(lower);
    return found;
}

/* Returns true for commands that act outside of this process, or end up in another one. */
static bool isForOthers(sds stream) {
    static const char *const words[] = {"replicaof", "slaveof", "failover", "migrate"};
    return names(stream, words, array_len(words));
}

/* Returns true for commands with secrets, which are wiped after execution. */
static bool hasSecrets(sds stream) {
    static const char *const words[] = {"auth"};
    return names(stream, words, array_len(words));
}

/* ---- The replica ---- */

/* Runs iterations until nothing more is applied. */
static void iterateUntilQuiet(void) {
    for (int i = 0, quiet = 0; !lost && quiet < 3; i++) {
        uint64_t before = streamApplyInput();
        serverAssert(i < ITERATIONS_MAX);
        iteration();
        unpauseClients(PAUSE_BY_CLIENT_COMMAND);
        quiet = streamApplyInput() == before ? quiet + 1 : 0;
    }
}

static void say(int fd, const char *bytes, size_t len, size_t piece) {
    for (size_t at = 0; at < len && !lost; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        if (send(fd, bytes + at, n, MSG_NOSIGNAL) != (ssize_t)n) return;
        iteration();
    }
    iterateUntilQuiet();
}

static void checkStream(sds said) {
    uint64_t len = replStreamOffset() - BEGIN;
    bool secret = hasSecrets(said);
    backlogCheck(replStreamBacklog());
    serverAssert(replStreamOffset() >= BEGIN && replStreamBacklog()->end == replStreamOffset() && len <= sdsLen(said));
    backlogCursor at;
    slice piece;
    uint64_t from = backlogBegin(replStreamBacklog());
    serverAssert(backlogSeek(replStreamBacklog(), from, &at));
    for (size_t i = (size_t)(from - BEGIN); backlogRead(replStreamBacklog(), &at, replStreamOffset(), &piece);
         i += piece.len)
        serverAssert(secret || !memcmp(piece.ptr, said + i, piece.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fds[2];
    char heard[4096];
    if (!loop) prepare(onLost);
    if (size < 2) return 0;
    sds said = streamOf(data, size);
    if (sdsLen(said) > INPUT_MAX || isForOthers(said)) {
        sdsFree(said);
        return 0;
    }
    serverAssert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    connection *conn = connCreateAcceptedUnix(fds[0], NULL);
    connAccept(conn, NULL);
    lost = false;
    replStreamTakeWrites(false);
    replStreamFollow(ID, BEGIN);
    streamApplySetDb(0);
    streamApplyBegin(conn, false);
    say(fds[1], said, sdsLen(said), 1 + (data[0] & 127) * 8);
    streamApplyAck(true);
    shutdown(fds[1], SHUT_WR);
    for (int i = 0; !lost; i++) {
        serverAssert(i < ITERATIONS_MAX);
        iteration();
        unpauseClients(PAUSE_BY_CLIENT_COMMAND);
        while (read(fds[1], heard, sizeof(heard)) > 0) continue;
    }
    if (lost_whole) checkStream(said);
    serverAssert(replicasCount() == 0 && listLength(client_state.clients) == 0);
    close(fds[1]);
    dbEmpty(-1, false);
    sdsFree(said);
    return 0;
}

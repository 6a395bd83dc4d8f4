/* repl_handshake_fuzz.c -- feeds any bytes as the output of a primary up to the end of its snapshot: the replica
 * reaches a valid state or gives up.
 *
 * The first byte selects the kind of replica and how it reads the snapshot; the rest is sent on the first connection,
 * and bytes after a byte 0xff on a second one.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "link_job.h"
#include "log.h"
#include "panic.h"
#include "psync_reply.h"
#include "snapshot_reader.h"
#include "zmalloc.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EARLY_MAX ((size_t)2 << 20) /* of bytes read beyond a line */

/* ---- The primary: a thread that sends given bytes to each connection ---------- */

static struct {
    int listener, port;
    pthread_mutex_t lock;
    sds said[2]; /* owns; output on the first connection, and on the second */
    int connections;
} primary = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct talk {
    int fd;
    sds bytes; /* owns */
} talk;

/* Sends everything, and reads until the end of the connection. */
static void *talkTo(void *arg) {
    talk *t = arg;
    char heard[4096];
    for (size_t at = 0; at < sdsLen(t->bytes);) {
        ssize_t n = send(t->fd, t->bytes + at, sdsLen(t->bytes) - at, MSG_NOSIGNAL);
        if (n <= 0) break;
        at += (size_t)n;
    }
    shutdown(t->fd, SHUT_WR);
    while (read(t->fd, heard, sizeof(heard)) > 0) continue;
    close(t->fd);
    sdsFree(t->bytes);
    zfree(t);
    return NULL;
}

static void *serve(void *arg) {
    unused(arg);
    for (;;) {
        pthread_t thread;
        talk *t = zmalloc(sizeof(*t)); /* two connections may be open at a time */
        t->fd = accept(primary.listener, NULL, NULL);
        serverAssert(t->fd >= 0);
        pthread_mutex_lock(&primary.lock);
        t->bytes = sdsDup(primary.said[primary.connections++ != 0]);
        pthread_mutex_unlock(&primary.lock);
        serverAssert(pthread_create(&thread, NULL, talkTo, t) == 0);
        pthread_detach(thread);
    }
    return NULL;
}

static void setWords(const char *first, size_t first_len, const char *second, size_t second_len) {
    pthread_mutex_lock(&primary.lock);
    for (int i = 0; i < 2; i++) sdsFree(primary.said[i]);
    primary.said[0] = sdsNewLen(first, first_len);
    primary.said[1] = sdsNewLen(second, second_len);
    primary.connections = 0;
    pthread_mutex_unlock(&primary.lock);
}

static void prepare(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    pthread_t thread;
    signal(SIGPIPE, SIG_IGN);
    panicSetMainThread();
    clockInit();
    logSetLevel(getenv("FUZZ_LOG") ? LL_NOTICE : LL_NOTHING);
    primary.listener = socket(AF_INET, SOCK_STREAM, 0);
    serverAssert(bind(primary.listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(primary.listener, 100) == 0);
    getsockname(primary.listener, (struct sockaddr *)&at, &len);
    primary.port = ntohs(at.sin_port);
    serverAssert(pthread_create(&thread, NULL, serve, NULL) == 0);
    pthread_detach(thread);
}

/* ---- The replica ---- */

static void nothing(void) {}

static linkJob *jobOf(uint8_t how) {
    linkJob *job = linkJobCreate(handshakeWork, nothing);
    job->host = zstrdup("127.0.0.1");
    job->port = primary.port;
    job->timeout_s = 20;
    if (how & 1) job->password = sdsNew("secret");
    if (how & 2) job->user = sdsNew("user");
    if (how & 4) job->announce_ip = zstrdup("10.0.0.1");
    job->dual_channel = how & 8;
    job->failover = how & 16;
    job->peeks = how & 2;
    if (how & 64) strcpy(job->node_id, "89abcdef0123456789abcdef0123456789abcdef");
    if (how & 128) strcpy(job->own_node_id, "fedcba9876543210fedcba9876543210fedcba98");
    job->offset = how & 32 ? 17 : -1;
    strcpy(job->id, how & 32 ? "0123456789abcdef0123456789abcdef01234567" : "?");
    return job;
}

static void readInPieces(linkJob *job, size_t most) {
    static char bytes[SNAPSHOT_STASH_BYTES + 100];
    snapshotReader reader;
    uint64_t got = 0;
    ssize_t n;
    snapshotReaderBegin(&reader, job);
    while ((n = snapshotRead(&reader, bytes, most)) > 0) got += (uint64_t)n;
    serverAssert(got == atomic_load(&job->received));
    const snapshotFrame *frame = &job->frame;
    serverAssert(!frame->has_length || (n == 0 ? got == frame->length : got < frame->length));
    serverAssert(n < 0 || reader.scan.ended);
}

static void receive(linkJob *job) {
    char path[64];
    snprintf(path, sizeof(path), "/tmp/repl-handshake-fuzz.%d", (int)getpid());
    job->path = zstrdup(path);
    snapshotReceiveWork(job);
    serverAssert(job->outcome == LINK_RECEIVED || access(path, F_OK) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!primary.port) prepare();
    if (size == 0) return 0;
    const char *first = (const char *)data + 1, *end = first + size - 1;
    const char *second = memchr(first, 0xff, size - 1);
    setWords(first, (size_t)((second ? second : end) - first), second ? second + 1 : end,
             second ? (size_t)(end - second) - 1 : 0);
    linkJob *job = jobOf(data[0]);
    handshakeWork(job);
    serverAssert(job->wire.early_len <= EARLY_MAX && job->stream.early_len <= EARLY_MAX);
    serverAssert(job->got_offset >= -1 && job->got_offset <= PRIMARY_OFFSET_MAX);
    serverAssert(job->outcome != LINK_CONTINUE || (job->offset >= 0 && job->accepted_psync));
    serverAssert(!(job->accepted_psync && job->rejected_psync));
    if (job->outcome == LINK_SNAPSHOT) {
        serverAssert(strlen(job->got_id) == (job->got_offset < 0 ? 0 : LINK_ID_BYTES));
        if (data[0] & 64) receive(job);
        else readInPieces(job, data[0] & 128 ? 7 : SNAPSHOT_STASH_BYTES + 100);
    }
    linkJobDrop(job);
    return 0;
}

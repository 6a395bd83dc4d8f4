/* snapshot_peek_test.c -- whether an RDB has keys, found in any division of its bytes; what was read stays.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot_peek.h"

#include "log.h"
#include "snapshot_reader.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MARK "0123456789abcdef0123456789abcdef01234567"
#define BEGIN                        \
    "REDIS0011\xfa\x09redis-ver\x05" \
    "7.2.4\xfa\x08repl-off\xc0\x07"
#define END "\xff\0\0\0\0\0\0\0\0"
#define KEY "\0\1k\1v"

typedef struct sender {
    int fd;
    sds bytes; /* owns */
    size_t piece;
} sender;

static void *sendPieces(void *arg) {
    sender *s = arg;
    for (size_t at = 0, n; at < sdsLen(s->bytes); at += n) {
        n = sdsLen(s->bytes) - at < s->piece ? sdsLen(s->bytes) - at : s->piece;
        if (write(s->fd, s->bytes + at, n) != (ssize_t)n) break;
    }
    return NULL;
}

static void nothing(void) {}

static sds framedFile(slice file, bool has_length) {
    const char stream[] = "*1\r\n$4\r\nping\r\n"; /* it follows at once, but not after a mark */
    return sdsCat(sdsFromSlice(file), has_length ? stream : MARK);
}

/* Looks into a file of which `early` bytes came with the header and the rest comes in pieces; no more follow, but the
 * connection stays open if not `closed`. Checks that all bytes can be read afterwards. Returns -1 if the connection
 * failed, else whether the file is empty. */
static int peek(slice file, bool has_length, size_t early, size_t piece, bool closed) {
    int fds[2], result;
    pthread_t thread;
    signal(SIGPIPE, SIG_IGN);
    logSetLevel(LL_NOTHING);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
    linkJob *job = linkJobCreate(NULL, nothing);
    job->timeout_s = 20;
    job->wire.conn = connCreateAcceptedSocket(fds[0], NULL);
    connAccept(job->wire.conn, NULL);
    char header[80];
    if (has_length) snprintf(header, sizeof(header), "$%zu", file.len);
    else snprintf(header, sizeof(header), "$EOF:%s", MARK);
    CHECK(snapshotFrameParse(&job->frame, sliceStr(header)));
    sds bytes = closed ? sdsFromSlice(file) : framedFile(file, has_length);
    job->wire.early = zmalloc(early + 1);
    memcpy(job->wire.early, bytes, early);
    job->wire.early_len = job->wire.early_capacity = early;
    sender s = {fds[1], sdsNewLen(bytes + early, sdsLen(bytes) - early), piece};
    pthread_create(&thread, NULL, sendPieces, &s);
    if (closed) {
        pthread_join(thread, NULL);
        shutdown(fds[1], SHUT_WR);
    }
    result = snapshotPeek(job) ? job->is_empty : -1;
    if (!closed) {
        sds got = sdsNewLen(NULL, file.len + 50);
        snapshotReader r;
        size_t len = 0;
        snapshotReaderBegin(&r, job);
        for (ssize_t n; (n = snapshotRead(&r, got + len, file.len + 50 - len)) > 0;) len += (size_t)n;
        CHECK(r.scan.ended && len == file.len && !memcmp(got, file.ptr, len));
        sdsFree(got);
        pthread_join(thread, NULL);
    }
    linkJobDrop(job);
    close(fds[1]);
    sdsFree(s.bytes);
    sdsFree(bytes);
    return result;
}

/* Returns the beginning of a file, then a library of `bytes`. */
static sds withLibrary(size_t bytes) {
    const char head[] = {'\xf5', '\x80', (char)(bytes >> 24), (char)(bytes >> 16), (char)(bytes >> 8), (char)bytes};
    sds f = sdsCatLen(sdsNew(BEGIN), head, sizeof(head));
    char *code = zmalloc(bytes);
    memset(code, 'x', bytes);
    f = sdsCatLen(f, code, bytes);
    zfree(code);
    return f;
}

static sds endFile(sds f) { return sdsCatLen(f, END, sizeof(END) - 1); }

static int peekTake(sds file, bool has_length) {
    int result = peek(sdsSlice(file), has_length, 0, 50000, false);
    sdsFree(file);
    return result;
}

TEST(an_empty_file_and_one_with_a_key_in_any_division) {
    sds empty = endFile(sdsNew(BEGIN)), keys = sdsCatLen(sdsNew(BEGIN), "\xfe\0\xfb\1\0" KEY, 10);
    keys = endFile(keys);
    for (size_t early = 0; early <= sdsLen(empty); early++) {
        for (size_t piece = 1; piece < 40; piece += 19) {
            CHECK_EQ_INT(peek(sdsSlice(empty), early % 2, early, piece, false), 1);
            CHECK_EQ_INT(peek(sdsSlice(keys), early % 2, early, piece, false), 0);
        }
    }
    sdsFree(empty);
    sdsFree(keys);
}

TEST(what_counts_as_keys) {
    for (int has_length = 0; has_length < 2; has_length++) {
        sds f = sdsCatLen(sdsNew(BEGIN), "\xfe\0\xfb\0\0", 5); /* a database that is announced as empty */
        CHECK_EQ_INT(peekTake(endFile(f), has_length), 1);
        f = sdsCatLen(sdsNew(BEGIN), "\xfe\0" KEY, 7); /* a file without numbers of keys */
        CHECK_EQ_INT(peekTake(endFile(f), has_length), 0);
        CHECK_EQ_INT(peekTake(endFile(withLibrary(20)), has_length), 1);
        CHECK_EQ_INT(peekTake(endFile(withLibrary(700000)), has_length), 1);
        CHECK_EQ_INT(peekTake(endFile(sdsCatLen(withLibrary(700000), "\xfe\0\xfb\1\0" KEY, 10)), has_length), 0);
        CHECK_EQ_INT(peekTake(endFile(withLibrary(2000000)), has_length), 0); /* too far to look */
    }
}

TEST(files_with_a_fault_are_left_to_the_loader) {
    CHECK_EQ_INT(peekTake(sdsNew("no such thing as a snapshot"), true), 0);
    CHECK_EQ_INT(peekTake(sdsNew("no such thing as a snapshot"), false), 0);
    CHECK_EQ_INT(peekTake(sdsNew(BEGIN), true), 0); /* it ends too early */
    CHECK_EQ_INT(peek(sliceStr(BEGIN), false, 5, 3, true), -1);
    CHECK_EQ_INT(peek(sliceStr(BEGIN), true, 5, 3, true), 0);
    CHECK_EQ_INT(peek(sliceStr("REDIS0"), false, 0, 3, true), -1);
}

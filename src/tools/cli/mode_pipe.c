/* mode_pipe.c -- --pipe: sends raw commands from stdin at full speed, and counts the replies.
 *
 * An ECHO of random bytes is sent after all commands: its reply is the last one. A server that has dropped a malformed
 * request never replies to it, hence the time limit.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "clock.h"
#include "terminal.h"
#include "modes.h"
#include "progress_line.h"
#include "rng.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536
#define MARK_LEN 20

typedef struct transfer {
    cliConnection *c;
    char buffer[CHUNK];
    size_t pos, len;
    bool input_done, sent_all, ended;
    char mark[MARK_LEN + 1];
    long long replies, errors;
    uint64_t sent, all; /* bytes; `all` is 0 if the size of stdin is not known */
    progressLine progress;
} transfer;

/* Returns the number of bytes left in stdin; 0 if it is not a file. */
static uint64_t inputSize(void) {
    struct stat st;
    off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    return at >= 0 && fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > at
               ? (uint64_t)(st.st_size - at)
               : 0;
}

static bool modePipeFail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    return false;
}

/* Takes all replies that have arrived. Returns false after an error message. */
static bool takeReplies(transfer *t) {
    for (;;) {
        bool timed_out;
        replyValue *v = linkReadWithin(t->c->link, 0, &timed_out);
        if (!v && timed_out) return true;
        if (!v) return modePipeFail("Error reading from the server", linkError(t->c->link));
        if (t->input_done && v->type == '$' && v->len == MARK_LEN && memcmp(v->str, t->mark, MARK_LEN) == 0) {
            printf("The last reply has arrived.\n");
            t->ended = true;
        } else if (v->type != '>') {
            if (replyIsError(v)) {
                progressClear(&t->progress);
                fprintf(stderr, "%s\n", v->str);
                t->errors++;
            }
            t->replies++;
        }
        replyValueFree(v);
        if (t->ended) return true;
    }
}

/* Fill the buffer from stdin, or with the mark at its end. */
static bool modePipeRefill(transfer *t) {
    t->pos = t->len = 0;
    if (t->input_done) {
        t->sent_all = true;
        return true;
    }
    ssize_t n = read(STDIN_FILENO, t->buffer, sizeof(t->buffer));
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n < 0) return modePipeFail("Error reading from stdin", strerror(errno));
    t->len = (size_t)n;
    if (n > 0) return true;
    progressClear(&t->progress);
    printf("All commands are sent. Waiting for the last reply.\n");
    fflush(stdout);
    t->len = (size_t)snprintf(t->buffer, sizeof(t->buffer), "\r\n*2\r\n$4\r\nECHO\r\n$%d\r\n%s\r\n", MARK_LEN, t->mark);
    t->input_done = true;
    return true;
}

static bool sendSome(transfer *t) {
    if (t->pos == t->len && !modePipeRefill(t)) return false;
    if (t->pos == t->len) return true;
    ssize_t n = linkWriteSome(t->c->link, t->buffer + t->pos, t->len - t->pos);
    if (n < 0) return modePipeFail("Error writing to the server", linkError(t->c->link));
    t->pos += (size_t)n;
    t->sent += (size_t)n;
    return true;
}

/* Ctrl-C stops the transfer; the replies up to then are counted. */
int modePipe(cliConnection *c) {
    static transfer t;
    t = (transfer){.c = c, .all = inputSize()};
    int fd = linkFd(c->link);
    rngSecureHex(t.mark, MARK_LEN);
    if (anetNonBlock(NULL, fd) == C_ERR) return 1;
    uint64_t last_reply_ms = clockMonotonicMs();
    progressBegin(&t.progress, NULL);
    interruptCatch();
    while (!t.ended && !interruptCaught()) {
        struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
        bool pending = t.pos < t.len;
        if (!t.input_done) progressStep(&t.progress, t.sent, t.all);
        if (pending || t.input_done) p[0].events |= t.sent_all ? 0 : POLLOUT;
        else p[1].fd = STDIN_FILENO;
        if (poll(p, 2, 1000) < 0 && errno != EINTR) return modePipeFail("poll", strerror(errno)) + 1;
        if (p[0].revents & (POLLIN | POLLHUP | POLLERR)) {
            if (!takeReplies(&t)) break;
            last_reply_ms = clockMonotonicMs();
        }
        if (((p[0].revents & POLLOUT) || p[1].revents) && !sendSome(&t)) break;
        if (!t.sent_all) last_reply_ms = clockMonotonicMs();
        uint64_t limit_ms = (uint64_t)c->options->pipe_timeout_s * 1000;
        if (limit_ms && clockMonotonicMs() - last_reply_ms > limit_ms) {
            fprintf(stderr, "No replies for %lld seconds: exiting.\n", c->options->pipe_timeout_s);
            t.errors++;
            break;
        }
    }
    progressClear(&t.progress);
    printf("errors: %lld, replies: %lld\n", t.errors, t.replies);
    return t.errors || !t.ended ? 1 : 0;
}

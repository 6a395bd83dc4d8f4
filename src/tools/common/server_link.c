/* server_link.c -- a blocking connection to a server: send a command, read a reply.
 *
 * replyScan() scans each byte once, however many reads a reply takes: `scanned` is the offset at which it stopped.
 *
 *     input: | replies handed out | scanned part of the next | not yet scanned |
 *            0                    start                      scanned           end
 *
 * Not here    several connections at a time (bench/generator.c).
 * Tests       tests/tools/cli.tcl, tests/tools/tls.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_link.h"
#include "anet.h"
#include "reply_reader.h"
#include "resp_format.h"
#include "tls.h"
#include "zmalloc.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE 65536
#define WORDS_MAX 32
#define HANDSHAKE_MS 10000 /* a server without TLS may never respond */
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262 /* Linux 5.6; older headers lack it */
#endif

struct serverLink {
    connection *conn; /* owns */
    sds input;        /* owns */
    size_t start, scanned;
    replyScanner scanner;
    char err[LINK_ERR_LEN];
};

/* Connects to the first address of the host that accepts. Returns the descriptor, or -1 with the reason in `err`. */
static int connectHost(const linkTarget *target, int timeout_ms, char *err) {
    char service[12];
    struct addrinfo hints = {.ai_family = target->family ? target->family : AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    snprintf(service, sizeof(service), "%d", target->port);
    int rc = getaddrinfo(target->host, service, &hints, &list);
    if (rc != 0) {
        snprintf(err, LINK_ERR_LEN, "%s", gai_strerror(rc));
        return -1;
    }
    int fd = -1, error = ECONNREFUSED;
    for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, target->multipath ? IPPROTO_MPTCP : a->ai_protocol);
        if (fd < 0) {
            error = errno;
            continue;
        }
        if (timeout_ms > 0) anetSendTimeout(NULL, fd, timeout_ms); /* also bounds connect(2) */
        if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) break;
        error = errno == EINPROGRESS ? ETIMEDOUT : errno;
        close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    if (fd < 0) snprintf(err, LINK_ERR_LEN, "%s", strerror(error));
    else anetNoDelay(NULL, fd, true);
    return fd;
}

static int connectUnix(const char *path, char *err) {
    int fd = anetUnixConnect(NULL, path, false);
    if (fd < 0) snprintf(err, LINK_ERR_LEN, "%s", strerror(errno));
    return fd;
}

/* Makes the TLS handshake over a blocking descriptor. Returns false with the reason in `err`. */
static bool secure(connection *conn, int timeout_ms, char *err) {
    int limit = timeout_ms > 0 ? timeout_ms : HANDSHAKE_MS;
    anetRecvTimeout(NULL, conn->fd, limit);
    connAccept(conn, NULL);
    if (conn->state == CONN_CONNECTED) return anetRecvTimeout(NULL, conn->fd, 0) == C_OK;
    if (conn->state == CONN_CONNECTING) snprintf(err, LINK_ERR_LEN, "the TLS handshake timed out after %d ms", limit);
    else snprintf(err, LINK_ERR_LEN, "SSL_connect failed: %s", connErrorText(conn));
    return false;
}

serverLink *linkOpen(const linkTarget *target, char *err) {
    int timeout_ms = (int)(target->timeout_s * 1000);
    int fd = target->unix_path ? connectUnix(target->unix_path, err) : connectHost(target, timeout_ms, err);
    if (fd < 0) return NULL;
    if (timeout_ms > 0) anetSendTimeout(NULL, fd, 0);
    connection *conn = target->tls         ? connCreateTlsClient(fd, target->tls, target->sni, NULL)
                       : target->unix_path ? connCreateAcceptedUnix(fd, NULL)
                                           : connCreateAcceptedSocket(fd, NULL);
    if (!target->tls) {
        connAccept(conn, NULL);
    } else if (!secure(conn, timeout_ms, err)) {
        connClose(conn);
        return NULL;
    }
    serverLink *l = zcalloc(1, sizeof(*l));
    l->conn = conn;
    l->input = sdsEmpty();
    replyScannerReset(&l->scanner);
    return l;
}

void linkClose(serverLink *l) {
    if (!l) return;
    connClose(l->conn);
    sdsFree(l->input);
    zfree(l);
}

static bool serverLinkBroken(serverLink *l, const char *why) {
    snprintf(l->err, sizeof(l->err), "%s", why);
    return false;
}

ssize_t linkWriteSome(serverLink *l, const void *p, size_t len) {
    struct iovec piece = {.iov_base = (void *)(uintptr_t)p, .iov_len = len};
    ssize_t n = connWritev(l->conn, &piece, 1);
    if (n < 0 && errno == EAGAIN) return 0;
    if (n < 0) serverLinkBroken(l, connErrorText(l->conn));
    return n;
}

bool linkSendBytes(serverLink *l, const void *p, size_t len) {
    const char *at = p;
    while (len > 0) {
        ssize_t n = linkWriteSome(l, at, len);
        if (n < 0) return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

bool linkSend(serverLink *l, int argc, const slice *argv) {
    sds bytes = respCatRequest(sdsEmpty(), (size_t)argc, argv);
    bool sent = linkSendBytes(l, bytes, sdsLen(bytes));
    sdsFree(bytes);
    return sent;
}

/* Continues the scan. Returns true if [start, scanned) is a complete reply. */
static bool scanInput(serverLink *l) {
    bool whole = l->scanner.pending == 0 && l->scanner.skip == 0;
    if (!whole && sdsLen(l->input) > l->scanned)
        l->scanned += replyScan(&l->scanner, l->input + l->scanned, sdsLen(l->input) - l->scanned, &whole);
    return whole;
}

bool linkHasReply(serverLink *l) { return scanInput(l); }

static replyValue *takeReply(serverLink *l) {
    replyValue *v = replyValueParse(l->input + l->start, l->scanned - l->start);
    replyScannerReset(&l->scanner);
    l->start = l->scanned;
    if (l->start == sdsLen(l->input)) {
        sdsClear(l->input);
        l->start = l->scanned = 0;
    }
    if (!v) serverLinkBroken(l, "Protocol error: invalid reply");
    return v;
}

/* Reads available bytes, waiting if there are none. Returns false if the connection is broken. If the descriptor does
 * not block, it may return true without having read anything. */
static bool fillInput(serverLink *l) {
    if (l->start > READ_SIZE) {
        sdsRange(l->input, (ptrdiff_t)l->start, -1);
        l->scanned -= l->start;
        l->start = 0;
    }
    l->input = sdsMakeRoomFor(l->input, READ_SIZE);
    ssize_t n = connRead(l->conn, l->input + sdsLen(l->input), READ_SIZE);
    if (n < 0 && errno == EAGAIN) return true;
    if (n < 0) return serverLinkBroken(l, connErrorText(l->conn));
    if (n == 0) return serverLinkBroken(l, "Server closed the connection");
    sdsIncrLen(l->input, n);
    return true;
}

replyValue *linkReadWithin(serverLink *l, int timeout_ms, bool *timed_out) {
    *timed_out = false;
    while (!scanInput(l)) {
        if (l->scanner.bad) {
            serverLinkBroken(l, "Protocol error: invalid reply");
            return NULL;
        }
        if (timeout_ms >= 0 && !connHasPending(l->conn)) {
            struct pollfd p = {.fd = l->conn->fd, .events = POLLIN};
            if (poll(&p, 1, timeout_ms) <= 0) {
                *timed_out = true;
                return NULL;
            }
        }
        if (!fillInput(l)) return NULL;
    }
    return takeReply(l);
}

replyValue *linkRead(serverLink *l) {
    bool timed_out;
    return linkReadWithin(l, -1, &timed_out);
}

/* Consumes `n` bytes of the input that were not part of a reply. */
static void skipInput(serverLink *l, size_t n) {
    l->start += n;
    l->scanned = l->start;
    if (l->start < sdsLen(l->input)) return;
    sdsClear(l->input);
    l->start = l->scanned = 0;
}

bool linkReadLine(serverLink *l, char *line, size_t size) {
    for (;;) {
        const char *text = l->input + l->start;
        size_t available = sdsLen(l->input) - l->start;
        const char *end = available ? memchr(text, '\n', available) : NULL;
        size_t len = end ? (size_t)(end - text) : available;
        if (len >= size) return serverLinkBroken(l, "Protocol error: line too long");
        if (end) {
            memcpy(line, text, len);
            skipInput(l, len + 1);
            if (len > 0 && line[len - 1] == '\r') len--;
            line[len] = '\0';
            return true;
        }
        if (!fillInput(l)) return false;
    }
}

ssize_t linkReadBytes(serverLink *l, void *p, size_t len) {
    size_t available = sdsLen(l->input) - l->start;
    if (available == 0 && !fillInput(l)) return -1;
    available = sdsLen(l->input) - l->start;
    if (len > available) len = available;
    memcpy(p, l->input + l->start, len);
    skipInput(l, len);
    return (ssize_t)len;
}

replyValue *linkCallWords(serverLink *l, int argc, const slice *argv) {
    if (!linkSend(l, argc, argv)) return NULL;
    replyValue *v;
    while ((v = linkRead(l)) && v->type == '>') replyValueFree(v);
    return v;
}

replyValue *linkCallList(serverLink *l, const char *word, va_list more) {
    slice words[WORDS_MAX];
    int count = 0;
    for (; word && count < WORDS_MAX; word = va_arg(more, const char *)) words[count++] = sliceStr(word);
    return linkCallWords(l, count, words);
}

replyValue *linkCall(serverLink *l, const char *word, ...) {
    va_list more;
    va_start(more, word);
    replyValue *v = linkCallList(l, word, more);
    va_end(more);
    return v;
}

slice *linkWordSlices(const sds *words, size_t count) {
    slice *slices = zmalloc(sizeof(slice) * (count + 1));
    for (size_t i = 0; i < count; i++) slices[i] = sdsSlice(words[i]);
    return slices;
}

const char *linkError(const serverLink *l) { return l->err; }
int linkFd(const serverLink *l) { return l->conn->fd; }

bool linkHasInput(serverLink *l) { return connHasPending(l->conn); }

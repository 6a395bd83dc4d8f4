/* server_link.h -- a blocking connection to a server: send a command, read a reply.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SERVER_LINK_H
#define TOOLS_SERVER_LINK_H

#include "reply_value.h"
#include "sds.h"
#include "tls_context.h"

typedef struct serverLink serverLink;

#define LINK_ERR_LEN 256

/* The address of a server. All pointers are borrowed. */
typedef struct linkTarget {
    const char *host;
    int port;
    const char *unix_path; /* takes precedence over host and port; NULL if none */
    int family;            /* AF_INET, AF_INET6, or 0 for either */
    bool multipath;        /* MPTCP */
    double timeout_s;      /* for connecting; 0: as long as the system allows */
    tlsContext *tls;       /* NULL if without TLS */
    const char *sni;       /* server name sent in the TLS handshake; NULL if none */
} linkTarget;

/* Connects, with a TLS handshake if target->tls is set. Returns NULL with the reason in `err` (LINK_ERR_LEN bytes). */
serverLink *linkOpen(const linkTarget *target, char *err);
void linkClose(serverLink *l); /* NULL is allowed */

/* These functions return false or NULL if the connection is broken; linkError() has the reason then, and the link can
 * only be closed. */
bool linkSend(serverLink *l, int argc, const slice *argv);
bool linkSendBytes(serverLink *l, const void *p, size_t len);
replyValue *linkRead(serverLink *l); /* waits for one reply or push; the caller frees it */
/* Like linkRead(), but waits at most `timeout_ms` (-1: no limit) for each part of the reply. On NULL, *timed_out
 * distinguishes a timeout from a broken connection. A signal counts as a timeout. */
replyValue *linkReadWithin(serverLink *l, int timeout_ms, bool *timed_out);
/* Send a command and return its reply; pushes before it are dropped. The words of linkCall() and linkCallList() end
 * with NULL and are at most 32. */
replyValue *linkCall(serverLink *l, const char *word, ...) __attribute__((sentinel));
replyValue *linkCallList(serverLink *l, const char *word, va_list more);
replyValue *linkCallWords(serverLink *l, int argc, const slice *argv);
/* Returns slices of `count` words, which stay the caller's; the caller frees the array with zfree(). */
slice *linkWordSlices(const sds *words, size_t count);
const char *linkError(const serverLink *l); /* the reason for which the link is broken */
bool linkHasReply(serverLink *l);           /* returns true if a complete reply has been received */

/* --- Input that is not a reply; call between replies only --- */
/* Reads a line and stores it without its line end, as a string. A line that does not fit breaks the connection. */
bool linkReadLine(serverLink *l, char *line, size_t size);
/* Like read(2), but takes buffered input first. Returns -1 if the connection is broken or the server has closed it. */
ssize_t linkReadBytes(serverLink *l, void *p, size_t len);

/* --- For callers that wait for several events at once --- */
int linkFd(const serverLink *l);
bool linkHasInput(serverLink *l); /* TLS has input that poll(2) does not report: read before waiting */
/* Writes as many bytes as the kernel accepts if the descriptor does not block, and returns their number; offer the rest
 * again unchanged. Returns -1 if the connection is broken. */
ssize_t linkWriteSome(serverLink *l, const void *p, size_t len);

#endif

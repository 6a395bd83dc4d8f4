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

/* Where a server is. All borrowed. */
typedef struct linkTarget {
    const char *host;
    int port;
    const char *unix_path; /* wins over host and port; NULL: none */
    int family;            /* AF_INET, AF_INET6, or 0 for either */
    bool multipath;        /* MPTCP */
    double timeout_s;      /* to connect; 0: as long as the system allows */
    tlsContext *tls;       /* NULL: plain */
    const char *sni;       /* of TLS; NULL: none */
} linkTarget;

/* NULL with a reason in `err` (LINK_ERR_LEN bytes). */
serverLink *linkOpen(const linkTarget *target, char *err);
void linkClose(serverLink *l); /* NULL is allowed */

/* All false/NULL when the connection broke; linkError() then says why and nothing more works. */
bool linkSend(serverLink *l, int argc, const slice *argv);
bool linkSendBytes(serverLink *l, const void *p, size_t len);
replyValue *linkRead(serverLink *l); /* waits for one whole reply or push; the caller frees it */
/* As linkRead(), but at most `timeout_ms` (-1: no limit); *timed_out tells the two NULLs apart.
 * A signal counts as time-out. */
replyValue *linkReadWithin(serverLink *l, int timeout_ms, bool *timed_out);
/* Send the words (ended by NULL) and read the reply; pushes on the way are dropped. */
replyValue *linkCall(serverLink *l, const char *word, ...) __attribute__((sentinel));
replyValue *linkCallWords(serverLink *l, int argc, const slice *argv);
const char *linkError(const serverLink *l);
bool linkHasReply(serverLink *l); /* a whole reply lies in memory */

/* --- For what is no reply; between replies only --- */
/* A line without its end, as a string; one that is longer breaks the connection. */
bool linkReadLine(serverLink *l, char *line, size_t size);
/* As read(2), first of what lies in memory. -1: broken, also by the server's closing. */
ssize_t linkReadBytes(serverLink *l, void *p, size_t len);

/* --- For who waits for several things at once --- */
int linkFd(const serverLink *l);
bool linkHasInput(serverLink *l); /* bytes lie in memory of which poll(2) says nothing: do not wait, read */
/* What the kernel takes of it, if the descriptor does not block; the rest is offered again as it is. -1: broken. */
ssize_t linkWriteSome(serverLink *l, const void *p, size_t len);

#endif

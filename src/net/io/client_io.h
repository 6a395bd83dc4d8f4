/* client_io.h -- clientIo: the half of a client that reads, parses and writes its connection.
 *
 * "Connection" in the comments of this layer means this half; the other one is the session (client), which belongs to
 * main. A connection belongs to one thread, its owner thread: an I/O thread, or main's own, which runs the same code.
 * Owner thread and main meet only in messages (messages.h): neither reads a field of the other. The owner thread
 * changes only by IO_MSG_LEAVE, IO_MSG_LEFT, IO_MSG_JOIN, in this order.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CLIENT_IO_H
#define NET_CLIENT_IO_H

#include "anet.h"
#include "client.h"
#include "io_owner.h"
#include "connection.h"
#include "messages.h"
#include "reply.h"
#include "request_reader.h"

#include <stdatomic.h>

struct ioThread;

#define CLIENT_IO_ADDR_LEN (ANET_ADDR_LEN + 128) /* the path of a Unix socket is longer than an address */

#define READ_AHEAD_MAX ((size_t)8 * 1024 * 1024) /* bytes that are read ahead for one client */

typedef struct clientIo {
    /* Line 0 -- of the owner thread: reading. */
    connection *conn;      /* owns; NULL after close */
    requestBlock *partial; /* owns: bytes of an incomplete request; NULL if there are none */
    ioOwner *owner;        /* the owner thread; NULL while the connection moves, and after close */
    size_t inflight_bytes; /* handed to main and not yet returned */
    struct readAhead
        *ahead; /* owns: bytes of requests that were read ahead (client_io_ahead.c); NULL if there are none */
    uint32_t inflight_blocks;
    bool authenticated;        /* as in the last message from main */
    bool reading_stopped;      /* back-pressure or protocol error: no read handler is installed */
    bool hangup_reported;      /* IO_MSG_HANGUP was sent, once */
    bool parse_waits_for_auth; /* a limit was exceeded while main still has a command that may authenticate */
    bool input_ended;          /* end of file, error or protocol error: nothing more will be read */
    bool write_failed;         /* the peer accepts no more output, even if the end of its input came before */
    bool drain_and_close;      /* report the end when all output is written */
    bool end_reported;         /* IO_MSG_END was sent, once */
    bool has_unreported;       /* in the thread's list of connections with written blocks to report */
    bool in_fan;               /* it is in a fan batch that was not returned to main yet */
    bool awaits_user;          /* IO_MSG_NAMED was sent: main checks the certificate's names before anything is read */
    bool read_filled;          /* the last read filled the buffer */
    bool ahead_ended;          /* nothing more can be read ahead: the next read for a request finds out why */
    bool reads_ahead;          /* as in the last message from main: its commands wait for its output */
    bool trusted; /* const after creation: the peer is a primary, for which limits of requests do not apply */

    /* Line 1 -- of the owner thread: writing. */
    alignas(CACHE_LINE) replyBlock *out_head; /* owns: unsent output */
    replyBlock *out_tail;
    replyBlock *done;                                   /* owns: written blocks not yet reported to main */
    size_t done_bytes;                                  /* written since the last report, complete blocks or not */
    struct clientIo *next_unreported, *prev_unreported; /* of the list's first one, prev_unreported is meaningless */
    fanEntry *fan_head, *fan_tail; /* what the next clientIosFan() writes; the batches own the entries */

    /* Line 2 -- of the owner thread: the parser. */
    alignas(CACHE_LINE) requestReader reader;
    size_t request_start; /* offset of the request being read in the partial block's buffer */
    _Atomic size_t query_used,
        query_free;                /* atomic, relaxed: of the partial block, for CLIENT LIST and maxmemory-clients */
    _Atomic uint64_t fanned_bytes; /* atomic, relaxed: written from fan batches, which no report to main counts */
    _Atomic uint64_t work;         /* atomic, relaxed: cost for the owner thread in nominal ns, for rebalance.c */
    _Atomic monotime
        last_bytes; /* atomic, relaxed: when bytes of requests or output moved last (clientIoNoteBytes()) */

    /* Timer of the owner thread's loop that checks whether the peer has got all output that the kernel has; -1:
     * none. */
    long long linger_timer;
    size_t linger_unsent; /* bytes that the peer had not got at the last check */
    uint32_t linger_checks;
    long long handshake_timer; /* limits the time of the TLS handshake; -1: none */

    /* Fields of main. */
    alignas(CACHE_LINE) client *session;     /* NULL after the session has ended */
    struct ioThread *home;                   /* owner thread as main knows it; changes when IO_MSG_LEFT arrives */
    struct ioThread *moving_to;              /* destination of a move under way; else NULL */
    requestBlock *returning;                 /* owns: executed blocks to be returned with the next message */
    struct clientIo *prev, *next;            /* list of `home` */
    replyBlock *held_replies;                /* owns: output made while the connection moves */
    struct heldPart *held_first, *held_last; /* owns: output held for an offset (session_hold.c) */
    /* The lists of session_output.c. Of the first one, prev_draining is meaningless. */
    struct clientIo *next_returning, *next_draining, *prev_draining;
    uint64_t work_surveyed; /* for rebalance.c: `work` at the last survey */
    uint32_t cost;          /* for rebalance.c: nominal ns of work for each ms, decayed */
    uint32_t survey_index;  /* for rebalance.c: index in the survey */
    bool on_returning;      /* in the list by next_returning, even if its blocks were returned otherwise */
    bool on_draining;       /* in the list by next_draining */
    bool detached;          /* no thread is to own it: a command has the connection (conn_detach.c) */
    bool detached_here;     /* the last owner thread has detached it */
    bool closing;           /* the session has ended: IO_MSG_CLOSE was sent or will be */
    bool drain_sent;        /* IO_MSG_DRAIN was sent or will be */
    bool ended;             /* IO_MSG_END has arrived: close when the commands before it have run */
    bool admitted;          /* IO_MSG_NAMED has arrived: the owner thread may read */
    bool hung_up;           /* IO_MSG_HANGUP has arrived: close if a command blocks */
    bool sent_ahead;        /* the last message to the owner thread had CLIENT_IO_AHEAD */
    bool must_send;         /* in the list by next_returning because it has to get its flags */
} clientIo;

static_assert(offsetof(clientIo, session) % CACHE_LINE == 0, "main's fields keep apart from the holder's");

/* Creates the I/O half for an accepted connection, which it takes ownership of. It is not attached yet. Runs on
 * main. */
clientIo *clientIoCreate(connection *conn, bool authenticated);
/* Writes both addresses of a connection, each as "ip:port", to buffers of CLIENT_IO_ADDR_LEN bytes. For any thread. */
void clientIoAddresses(int fd, char *peer, char *local);
/* Frees what is left after IO_MSG_CLOSED. Runs on main. */
void clientIoFree(clientIo *s);

/* Returns the CLIENT_IO_ flags of a message to the owner thread. Runs on main. */
static inline uint16_t clientIoFlags(const clientIo *s) {
    uint16_t flags = s->session && s->session->authenticated ? CLIENT_IO_AUTHENTICATED : 0;
    if (unlikely(s->session && s->session->flags & CLIENT_OUTPUT_FULL)) flags |= CLIENT_IO_AHEAD;
    return unlikely(s->admitted) ? flags | CLIENT_IO_ADMITTED : flags;
}

/* --- On the owner thread ------------------------------------------------------------------------ */
/* Does what a message to the owner thread asks for (`to_io` of ioThreadHooks). */
void clientIoDeliver(ioOwner *h, const ioMessage *m);
/* Reports to main all output that was written and not yet reported (`report` of ioThreadHooks). */
void clientIosReport(ioOwner *h);
/* Writes the fan batches that have arrived since the last call (`delivered` of ioThreadHooks). */
void clientIosFan(ioOwner *h);
/* Asserts what holds, attached or detached, while none of its functions runs (client_io_check.c). */
void clientIoCheck(const clientIo *s);

#endif

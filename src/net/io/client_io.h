/* client_io.h -- clientIo: the half of a connection that reads, parses and writes.
 *
 * A stream belongs to one thread, its holder: an I/O thread, or main, which runs the same code.
 * Holder and main meet only in messages (messages.h): main never looks at a holder's field and the
 * holder never at a main's field. The holder changes only by IO_MSG_LEAVE, IO_MSG_LEFT, IO_MSG_JOIN, in this order.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CLIENT_IO_H
#define NET_CLIENT_IO_H

#include "client.h"
#include "io_owner.h"
#include "connection.h"
#include "messages.h"
#include "reply.h"
#include "request_reader.h"

#include <stdatomic.h>

struct ioThread;

typedef struct clientIo {
    /* Line 0 -- holder: reading. */
    connection *conn;      /* owns; NULL after close */
    requestBlock *partial; /* owns: bytes of a request that is not whole yet; NULL when there are none */
    ioOwner *owner;        /* the thread that holds it; NULL between two of them, and after close */
    size_t inflight_bytes; /* handed to main and not yet returned */
    uint32_t inflight_blocks;
    bool authenticated;        /* as of the last message from main */
    bool reading_stopped;      /* back-pressure, protocol error: no read handler installed */
    bool hangup_told;          /* IO_MSG_HANGUP was sent, once */
    bool parse_waits_for_auth; /* a limit was met while a command that may authenticate is still with main */
    bool input_ended;          /* end of file, error or protocol error: nothing more will be read */
    bool write_failed;         /* the peer takes no more; also when it had closed its half before */
    bool drain_and_close;      /* report the end when all output is written */
    bool end_reported;         /* IO_MSG_END was sent, once */
    bool has_unreported;       /* on the thread's list of streams with written blocks to report */
    bool in_fan;               /* a batch that is not given back yet names it */
    bool awaits_user;          /* main is to say first who the peer is by its certificate: IO_MSG_NAMED was sent */
    bool read_filled;          /* the last read took all that there was room for */
    bool trusted;              /* const: what comes is the primary's, which no limit of requests is for */

    /* Line 1 -- holder: writing. */
    alignas(CACHE_LINE) replyBlock *out_head; /* owns: unsent output */
    replyBlock *out_tail;
    replyBlock *done;                                   /* owns: written blocks not yet reported to main */
    size_t done_bytes;                                  /* written since the last report, whole blocks or not */
    struct clientIo *next_unreported, *prev_unreported; /* the first one's prev_unreported says nothing */
    fanEntry *fan_head, *fan_tail; /* what the next clientIosFan() sends, in batches of the holder */

    /* Line 2 -- holder: the parser. */
    alignas(CACHE_LINE) requestReader reader;
    size_t request_start; /* in the partial block's buffer: first byte of the request being read */
    _Atomic size_t query_used,
        query_room;                /* atomic, relaxed: of the partial block, for CLIENT LIST and maxmemory-clients */
    _Atomic uint64_t fanned_bytes; /* atomic, relaxed: written of messages for many, which no report to main counts */
    _Atomic uint64_t work;         /* atomic, relaxed: what it has cost its holder, in nominal ns, for rebalance.c */
    _Atomic monotime last_bytes;   /* atomic, relaxed: when bytes moved that no command of that moment accounts for */

    /* The output is with the kernel and the peer has not got all of it: -1, or a timer of the holder's loop that looks
     * how it goes on. */
    long long linger_timer;
    size_t linger_unsent; /* when it looked last */
    uint32_t linger_looks;
    long long handshake_timer; /* -1, or the end of the peer's time for it */

    /* Main. */
    alignas(CACHE_LINE) client *session;     /* NULL once the session is gone */
    struct ioThread *home;                   /* who holds it, as main knows it; changed when IO_MSG_LEFT arrives */
    struct ioThread *moving_to;              /* a move is under way: where it goes */
    requestBlock *returning;                 /* owns: executed blocks to be given back with the next message */
    struct clientIo *prev, *next;            /* list of home */
    replyBlock *held_replies;                /* owns: output made while the stream is between two holders */
    struct heldPart *held_first, *held_last; /* own: output that waits until it may leave (session_hold.c) */
    /* The lists of session_output.c. The first one's prev_draining says nothing. */
    struct clientIo *next_returning, *next_draining, *prev_draining;
    uint64_t work_seen; /* rebalance.c: of `work` */
    uint32_t cost;      /* the same: a ms, decayed */
    uint32_t looked_at; /* the same: its place in the survey */
    bool on_returning;  /* on the list by next_returning, even if the blocks have gone by another way */
    bool on_draining;   /* on the list by next_draining */
    bool detached;      /* no holder is to have it: a command has its connection (conn_detach.c) */
    bool detached_here; /* the last holder has let it go */
    bool closing;       /* the session is gone; IO_MSG_CLOSE is to be sent, or was */
    bool drain_sent;    /* IO_MSG_DRAIN is to be sent, or was */
    bool ended;         /* IO_MSG_END has come: close when the commands before it have run */
    bool admitted;      /* IO_MSG_NAMED has come: the holder may read */
    bool hung_up;       /* IO_MSG_HANGUP has come: close when a command waits */
} clientIo;

static_assert(offsetof(clientIo, session) % CACHE_LINE == 0, "main's fields keep apart from the holder's");

/* Main: a stream for an accepted connection (takes it), not yet attached anywhere. */
clientIo *clientIoCreate(connection *conn, bool authenticated);
/* Main: the same for one that this server has made, whose peer is trusted. */
clientIo *clientIoCreateTrusted(connection *conn);
/* Main: free what is left after IO_MSG_GONE. */
void clientIoFree(clientIo *s);

/* --- Runs on the holder ------------------------------------------------------------------------ */
/* Do what a message to the holder asks for (the `to_io` of ioThreadHooks). */
void clientIoDeliver(ioOwner *h, const ioMessage *m);
/* Tell main of everything that was written and not yet reported (the `report` of ioThreadHooks). */
void clientIosReport(ioOwner *h);
/* Write the messages for many that have come since the last time (the `delivered` of ioThreadHooks). */
void clientIosFan(ioOwner *h);
/* Assert what holds of an attached or detached stream between two of its functions (client_io_check.c). */
void clientIoCheck(const clientIo *s);

#endif

/* link_job.h -- work on the connection to the primary that waits for it: on a thread of its own.
 *
 * A job has the connection while it runs; when it is over main takes from it what has come of it. One that is dropped
 * ends by itself soon, and nobody waits for it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_LINK_JOB_H
#define REPL_LINK_JOB_H

#include "conn_unread.h"
#include "connection.h"
#include "psync_reply.h"
#include "sds.h"
#include "slice.h"
#include "snapshot_frame.h"
#include "tls_context.h"

#include <errno.h>
#include <stdatomic.h>

/* How far it is, for INFO, ROLE and timeouts. */
typedef enum {
    LINK_STEP_CONNECTING,
    LINK_STEP_HANDSHAKE,
    LINK_STEP_SYNC /* the primary has said that it sends the dataset */
} linkStep;

typedef enum {
    LINK_FAILED,   /* to be tried again in a while */
    LINK_CONTINUE, /* PSYNC: the stream goes on; `id`, empty: as it was */
    LINK_SNAPSHOT, /* the dataset follows: `id`, `offset`, and its `frame` */
    LINK_RECEIVED  /* it is in the file */
} linkOutcome;

#define LINK_ID_BYTES PRIMARY_ID_BYTES
#define LINK_LINE_MAX 1024

/* A connection, and what it has said beyond what was looked for. */
typedef struct linkWire {
    connection *conn; /* owns; NULL */
    char *early;      /* owns */
    size_t early_len, early_room;
} linkWire;

typedef struct linkJob linkJob;
struct linkJob {
    /* const while it runs: what is to be done. Strings are owned. */
    void (*work)(linkJob *job);
    char *host;
    int port;
    char *source_address; /* NULL: any */
    tlsContext *tls;      /* counted; NULL: no encryption */
    sds user, password;   /* NULL: none */
    char *announce_ip;    /* NULL */
    long long announce_port;
    char id[LINK_ID_BYTES + 1]; /* asked for: "?" without a place */
    long long offset;           /* -1 without one */
    bool failover, skip_checksum, dual_channel;
    unsigned timeout_s; /* without any progress */
    char *path;         /* where a snapshot goes; whoever takes the file from there makes it NULL */
    size_t keep_max;    /* of a stream that is kept; 0: any size */

    /* The thread's while it runs, then main's. */
    linkWire wire;    /* that is talked on; what it has said early comes next */
    linkWire stream;  /* of two connections, the one for the stream: `wire` is for the snapshot then */
    unreadBytes kept; /* owns: of a stream */
    linkOutcome outcome;
    char got_id[LINK_ID_BYTES + 1];
    long long got_offset; /* -1: an old-style synchronization tells none */
    snapshotFrame frame;
    long long got_db;    /* the stream is in it there; -1: it will say so, or the snapshot does */
    bool rejected_psync; /* it has said no */
    bool timed_out;      /* the primary was silent for too long */

    /* atomic, relaxed, written by the thread */
    _Atomic int step;            /* linkStep */
    _Atomic uint64_t heard_ms;   /* monotonic: bytes came, or a connection was made */
    _Atomic uint64_t received;   /* bytes of a snapshot */
    _Atomic size_t kept_memory;  /* that `kept` costs */
    _Atomic bool accepted_psync; /* it has said yes, whatever comes of it; done() was called behind that */
    /* atomic, relaxed, written by main */
    _Atomic bool enough; /* no more of the stream is to be kept */
    /* atomic */
    _Atomic bool dropped; /* relaxed: nobody is interested any more */
    _Atomic int owners;   /* main and the thread; who lets go last frees */
    _Atomic bool over;    /* release by the thread: all that has come of it */
    void (*done)(void);   /* const: called on the thread behind that; main is to look */
};

/* Main: an empty job to be filled in. */
linkJob *linkJobCreate(void (*work)(linkJob *job), void (*done)(void));
/* Start its thread. False with errno. */
bool linkJobStart(linkJob *job) must_check;
bool linkJobIsOver(const linkJob *job);
/* What was talked on becomes what is kept for later, and the other way round. */
void linkSwapWires(linkJob *job);
/* Let go of it, wherever it is; a connection in it is closed. */
void linkJobDrop(linkJob *job);

/* --- For work() -------------------------------------------------------------------------------------- */
/* Whether an error is worth a line: a dropped job's is not, and of silence main speaks. */
static inline bool linkErrorIsNews(int error) {
    return error != ECANCELED && error != ETIMEDOUT;
}
/* Whether it is to go on. */
static inline bool linkJobIsWanted(const linkJob *job) {
    return !atomic_load_explicit(&job->dropped, memory_order_relaxed);
}
/* Make the connection (job->wire), with the handshake of TLS. False after a line in the log. */
bool linkConnect(linkJob *job) must_check;
/* Read what there is, waiting for it up to timeout_s without any: bytes, or 0 at the end and -1 with errno (ETIMEDOUT,
 * ECANCELED). */
ssize_t linkRead(linkJob *job, void *buf, size_t len);
/* Whether there is something to read within so many milliseconds. */
bool linkWait(linkJob *job, int ms);
/* Nothing is done for so many milliseconds. */
void linkPause(unsigned ms);
/* All of it, or false with errno. */
bool linkWrite(linkJob *job, slice bytes) must_check;
/* A line without its end (LF or CR LF), at most `max` bytes with a NUL. False with errno. */
bool linkReadLine(linkJob *job, char *line, size_t max) must_check;

#endif

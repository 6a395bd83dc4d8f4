/* link_job.h -- work that waits for the primary, on a thread of its own.
 *
 * A job has the connection while it runs; when it is over main takes its results. A job that is dropped ends by itself
 * soon afterwards, and main does not wait for it.
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

/* How far a job is, for INFO, ROLE and timeouts. */
typedef enum {
    LINK_STEP_CONNECTING,
    LINK_STEP_HANDSHAKE,
    LINK_STEP_SYNC /* the primary has answered that it sends the dataset */
} linkStep;

typedef enum {
    LINK_FAILED,   /* main tries again later */
    LINK_CONTINUE, /* the primary continues the stream, under `got_id` or, if that is empty, the ID asked for */
    LINK_SNAPSHOT, /* an RDB follows: `got_id`, `got_offset` and `frame` are set */
    LINK_RECEIVED  /* the RDB is complete in the file at `path` */
} linkOutcome;

#define LINK_ID_BYTES PRIMARY_ID_BYTES
#define LINK_LINE_MAX 1024

/* A connection, and bytes that were read from it but not consumed yet. */
typedef struct linkWire {
    connection *conn; /* owns; NULL */
    char *early;      /* owns */
    size_t early_len, early_room;
} linkWire;

typedef struct linkJob linkJob;
struct linkJob {
    /* const while it runs: the order. Strings are owned. */
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
    char *path;         /* of the file that the RDB goes to; set to NULL by the function that takes the file */
    size_t keep_max;    /* bytes that the stream buffer may take; 0: no limit */

    /* The thread's while it runs, then main's. */
    linkWire wire;    /* the connection in use */
    linkWire stream;  /* with two connections the one for the stream; `wire` is the one for the RDB then */
    unreadBytes kept; /* owns: the stream buffer */
    linkOutcome outcome;
    char got_id[LINK_ID_BYTES + 1];
    long long got_offset; /* -1: the answer to SYNC has no offset */
    snapshotFrame frame;
    long long got_db;    /* the database of the stream at that offset; -1: the stream or the RDB names it */
    bool rejected_psync; /* the primary has refused PSYNC */
    bool timed_out;      /* the primary was silent for too long */

    /* atomic, relaxed, written by the thread */
    _Atomic int step;           /* linkStep */
    _Atomic uint64_t heard_ms;  /* monotonic: bytes came, or a connection was made */
    _Atomic uint64_t received;  /* bytes of the RDB */
    _Atomic size_t kept_memory; /* bytes that `kept` takes */
    _Atomic bool
        accepted_psync; /* the primary has accepted PSYNC, even if the job fails later; done() was called then */
    /* atomic, relaxed, written by main */
    _Atomic bool enough; /* the stream buffer is to take no more */
    /* atomic */
    _Atomic bool dropped; /* relaxed: main does not want the results any more */
    _Atomic int owners;   /* main and the thread; the last to let go frees the job */
    _Atomic bool over;    /* release by the thread: publishes all results */
    void (*done)(void);   /* const: called on the thread after that, to wake main */
};

/* Returns a job to be filled in by the caller. `done` is called on the thread when the job is over, and also when the
 * primary has accepted PSYNC. Main. */
linkJob *linkJobCreate(void (*work)(linkJob *job), void (*done)(void));
/* Starts the thread. False with errno if there is none. Main. */
bool linkJobStart(linkJob *job) must_check;
/* Returns whether the thread has ended; then main may read all fields. */
bool linkJobIsOver(const linkJob *job);
/* Exchanges `wire` and `stream`. Call from the thread that has the job. */
void linkSwapWires(linkJob *job);
/* Gives up main's ownership, running or not. Its connections are closed when its thread has ended. NULL is allowed. */
void linkJobDrop(linkJob *job);

/* --- For work() -------------------------------------------------------------------------------------- */
/* Returns whether an error is to be logged: not that of a dropped job, nor a timeout, which main logs. */
static inline bool linkErrorIsNews(int error) {
    return error != ECANCELED && error != ETIMEDOUT;
}
/* Returns whether the job is to go on: false if it was dropped. */
static inline bool linkJobIsWanted(const linkJob *job) {
    return !atomic_load_explicit(&job->dropped, memory_order_relaxed);
}
/* Connects job->wire, with the handshake of TLS if there is a context. False after a line in the log. */
bool linkConnect(linkJob *job) must_check;
/* Reads up to `len` bytes, waiting up to timeout_s for the first. Returns their number, 0 at the end of the connection,
 * -1 with errno (ETIMEDOUT; ECANCELED if the job was dropped). */
ssize_t linkRead(linkJob *job, void *buf, size_t len);
/* Waits at most `ms` milliseconds; true if there is something to read. */
bool linkWait(linkJob *job, int ms);
/* Sleeps for `ms` milliseconds. */
void linkPause(unsigned ms);
/* Writes all bytes. False with errno. */
bool linkWrite(linkJob *job, slice bytes) must_check;
/* Reads a line and stores it without its end (LF or CR LF), as at most `max` bytes with a NUL. False with errno
 * (EMSGSIZE if it is longer). */
bool linkReadLine(linkJob *job, char *line, size_t max) must_check;

#endif

/* link_job.h -- a job that waits for the primary, on a thread of its own.
 *
 * The thread uses the connection while it runs; at its end main takes the results. When main drops a job, the thread
 * ends by itself soon afterwards, and main does not wait for it.
 *
 * Runs on: main creates, starts and drops jobs; the functions for work() run on the job's thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_LINK_JOB_H
#define REPL_LINK_JOB_H

#include "cluster_types.h"
#include "conn_unread.h"
#include "connection.h"
#include "psync_reply.h"
#include "sds.h"
#include "slice.h"
#include "snapshot_frame.h"
#include "tls_context.h"

#include <errno.h>
#include <stdatomic.h>

/* The progress of a job, for INFO, ROLE and timeouts. */
typedef enum {
    LINK_STEP_CONNECTING,
    LINK_STEP_HANDSHAKE,
    LINK_STEP_SYNC /* the primary has answered that it sends the dataset */
} linkStep;

typedef enum {
    LINK_FAILED,   /* main tries again later */
    LINK_CONTINUE, /* the primary continues the stream, with the ID `got_id` or, if that is empty, the requested one */
    LINK_SNAPSHOT, /* an RDB follows: `got_id`, `got_offset` and `frame` are set */
    LINK_RECEIVED  /* the RDB is complete in the file at `path` */
} linkOutcome;

#define LINK_ID_BYTES PRIMARY_ID_BYTES
#define LINK_LINE_MAX 1024

/* A connection, and bytes that were read from it but not consumed yet. */
typedef struct linkWire {
    connection *conn;                 /* owns; NULL without one */
    char *early;                      /* owns: the bytes */
    size_t early_len, early_capacity; /* their number; bytes that fit */
} linkWire;

typedef struct linkJob linkJob;
struct linkJob {
    /* const while it runs: the parameters. Strings are owned. */
    void (*work)(linkJob *job);
    char *host;
    int port;
    char *source_address; /* NULL for any */
    tlsContext *tls;      /* counted; NULL without encryption */
    sds user, password;   /* NULL without one */
    char *announce_ip;    /* NULL without one */
    long long announce_port;
    char id[LINK_ID_BYTES + 1];        /* replication ID to request; "?" for a full synchronization */
    char node_id[NODE_ID_LEN + 1];     /* id that CLUSTER MYID has to have there; empty: any server is right */
    char own_node_id[NODE_ID_LEN + 1]; /* that of this server, for the primary; empty: none */
    long long offset;                  /* first offset to request, counted from 1; -1 for a full synchronization */
    bool failover, skip_checksum, dual_channel;
    bool peeks;         /* find out whether the RDB has keys before the job ends */
    unsigned timeout_s; /* longest wait for the primary */
    char *path;         /* of the file that receives the RDB; set to NULL by the function that takes over the file */
    size_t buffer_max;  /* bytes of memory that the stream buffer may take; 0 for no limit */

    /* The thread's while it runs, then main's. */
    linkWire wire;        /* the connection in use */
    linkWire stream;      /* with two connections that of the stream, while `wire` is that of the RDB */
    unreadBytes buffered; /* owns: the stream buffer */
    linkOutcome outcome;
    char got_id[LINK_ID_BYTES + 1];
    long long got_offset; /* of the dataset; -1 after SYNC, whose answer has no offset */
    snapshotFrame frame;
    bool is_empty;       /* the job was to peek, and the RDB has no keys */
    long long got_db;    /* the database of the stream at that offset; -1 if the stream or the RDB will name it */
    bool rejected_psync; /* the primary has refused PSYNC */
    bool timed_out;      /* the primary was silent for too long */

    /* atomic, relaxed, written by the thread */
    _Atomic int step;               /* linkStep */
    _Atomic uint64_t last_input_ms; /* monotonic: the last time that bytes arrived, or a connection was established */
    _Atomic uint64_t received;      /* bytes of the RDB that were received */
    _Atomic size_t buffered_memory; /* bytes of memory that `buffered` takes */
    _Atomic bool accepted_psync;    /* the primary has accepted PSYNC, even if the job failed later */
    /* atomic, relaxed, written by main */
    _Atomic bool enough; /* the job of the stream buffer is to end */
    /* atomic */
    _Atomic bool dropped; /* relaxed: main no longer needs the results */
    _Atomic int owners;   /* main and the thread; the last to drop its share frees the job */
    _Atomic bool over;    /* release by the thread: publishes all results */
    void (*done)(void);   /* const: called on the thread after that, to wake main */
};

/* Returns a new job, whose parameters the caller sets. The thread calls `done` when the job is over, and also when the
 * primary has accepted PSYNC. */
linkJob *linkJobCreate(void (*work)(linkJob *job), void (*done)(void));
/* Starts the thread, which calls `work`. Returns false with errno if it cannot be started. */
bool linkJobStart(linkJob *job) must_check;
/* Returns whether work() has returned; then main may read all fields. */
bool linkJobIsOver(const linkJob *job);
/* Exchanges `wire` and `stream`. Call on the job's thread while it runs, then on main. */
void linkSwapWires(linkJob *job);
/* Drops main's share of the job, running or not. Its connections are closed at the end of its thread. Accepts NULL. */
void linkJobDrop(linkJob *job);

/* --- For work() -------------------------------------------------------------------------------------- */
/* Returns whether the job is to log this errno: not that of a dropped job, nor a timeout, which main logs. */
static inline bool linkErrorIsNews(int error) { return error != ECANCELED && error != ETIMEDOUT; }
/* Returns false if main has dropped the job. */
static inline bool linkJobIsWanted(const linkJob *job) {
    return !atomic_load_explicit(&job->dropped, memory_order_relaxed);
}
/* Connects job->wire, with a TLS handshake if there is a context. Logs a failure and returns false. */
bool linkConnect(linkJob *job) must_check;
/* Reads up to `len` bytes, waiting up to timeout_s for the first. Returns their number, 0 at the end of the connection,
 * -1 with errno (ETIMEDOUT; ECANCELED if the job was dropped). */
ssize_t linkRead(linkJob *job, void *buf, size_t len);
/* Waits at most `ms` milliseconds. Returns whether the connection is readable. */
bool linkWait(linkJob *job, int ms);
/* Sleeps for `ms` milliseconds. */
void linkPause(unsigned ms);
/* Writes all bytes. Returns false with errno on failure. */
bool linkWrite(linkJob *job, slice bytes) must_check;
/* Reads at least one byte more into the `early` bytes. Returns false with errno on failure. */
bool linkReadMore(linkJob *job) must_check;
/* Reads a line and writes it to `line` with a NUL but without its LF or CR LF, at most `max` bytes. Returns false with
 * errno on failure (EMSGSIZE if the line is longer). */
bool linkReadLine(linkJob *job, char *line, size_t max) must_check;

/* --- The work() of jobs, beside snapshotReceiveWork() -------------------------------------------------- */
/* In handshake.c: connects, authenticates, announces this replica and sends PSYNC. Reads the answers, up to the header
 * of an RDB if there is one, and sets the job's outcome and results. */
void handshakeWork(linkJob *job);
/* In stream_buffer.c: reads from the connection into job->buffered until main sets job->enough. When that takes
 * job->buffer_max bytes of memory it reads no more, and further bytes stay at the primary. */
void streamBufferWork(linkJob *job);

#endif

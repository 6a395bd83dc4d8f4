/* primary_link.c -- a replica's link to its primary, from REPLICAOF until the replication stream is applied.
 *
 *   OFF <-> CONNECT --> HANDSHAKE --+CONTINUE-----------------------> UP
 *              ^          `--snapshot--> RECEIVES --> LOADS (--> DRAINS) -^
 *              `--- a failure ---------'-----------'----'
 *
 * REPLICAOF changes each state but LOADS to CONNECT or OFF; the loss of the connection changes UP to CONNECT.
 *
 * Work that waits for the primary runs as a job on a thread of its own, which wakes main at its end. With two
 * connections to the primary (dual channel) a second job fills the stream buffer from one connection until the RDB that
 * arrives on the other one is loaded.
 *
 * Not here    the commands of the handshake (handshake.c), the bytes of an RDB (snapshot_reader.c), loading it
 *             (dataset_load.c), applying and acknowledging the stream (stream_apply.c).
 * Owns        the jobs that run or whose results are in use.
 * Threads     main; jobs are started, and their results taken, on main's own thread.
 * Invariants  1. There is a job from HANDSHAKE to DRAINS: it runs in HANDSHAKE and RECEIVES, and is over in the two
 *                others.
 *             2. There is a stream buffer in DRAINS, and in RECEIVES and LOADS if there are two connections. The flag
 *                `enough` of its job is set exactly in DRAINS.
 *             3. The client of the link (stream_apply.c) exists exactly in UP.
 *             4. While `has_cursor`, the replication offset is that of the dataset: always in UP, never in OFF.
 *             5. A failover waits for an answer in CONNECT and HANDSHAKE only.
 *             6. While an event changes the link, no command runs, nor any work that lets other clients be served in
 *                between (engine/yield.h).
 * Tests       tests/repl/sync.tcl, tests/repl/partial.tcl, tests/repl/redirect.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "primary_link.h"

#include "aof.h"
#include "blocking.h"
#include "call.h"
#include "clock.h"
#include "dataset_load.h"
#include "db.h"
#include "link_job.h"
#include "keep_dataset.h"
#include "log.h"
#include "net_settings.h"
#include "output_limits.h"
#include "replica_expires.h"
#include "panic.h"
#include "pause.h"
#include "stream_apply.h"
#include "repl_settings.h"
#include "replicas.h"
#include "reply.h"
#include "session_output.h"
#include "snapshot_reader.h"
#include "repl_stream.h"
#include "tls_settings.h"
#include "transaction_queue.h"
#include "yield.h"
#include "zmalloc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static_assert(REPL_ID_BYTES == LINK_ID_BYTES, "an ID that the primary tells becomes that of the stream");

#define REDIRECT_MAX 300
#define BACKOFF_DOUBLINGS 3 /* the pause after failed full synchronizations in a row is 1, 2, 4, then 8 seconds */

/* The previous link's end, for the log line of the next attempt. */
typedef enum { LINK_IS_NEW, LINK_WAS_LOST, LINK_FAILED_LATE } linkHistory;

static struct {
    aeEventLoop *loop; /* borrowed */
    aeWakeup wakeup;   /* sent when a job is over, or to connect at once */
    primaryState state;
    linkJob *job;         /* main's share of it; NULL without one */
    linkJob *buffer;      /* fills the stream buffer while the RDB arrives on another connection; NULL without one */
    size_t buffered_peak; /* bytes in the last stream buffer */
    bool has_cursor;      /* ID, offset and database of the stream (repl_stream.c) are those of the dataset */
    bool for_failover;    /* PSYNC is to ask the other server to become the primary */
    bool was_up;
    char own_node_id[NODE_ID_LEN + 1], node_id[NODE_ID_LEN + 1]; /* in a cluster: see primaryLinkSetNodes() */
    char stream_node[NODE_ID_LEN + 1]; /* whose stream the dataset of a replica is of; empty: not known */
    linkHistory history;
    uint64_t changed_ms;     /* monotonic: when the link went up or down */
    uint64_t snapshot_input; /* bytes of RDBs that previous jobs have received */
    unsigned failed_syncs;   /* full synchronizations that failed in a row */
    uint64_t not_before_ms;  /* monotonic: earliest time of the next attempt */
} primary;

static void (*on_failover)(bool accepted);  /* const after boot */
static void (*on_sync)(const char *status); /* const after boot; may be NULL */

/* For each state a bit for each state that may follow it, as drawn above. */
static const uint8_t next_states[] = {
    [PRIMARY_OFF] = 1u << PRIMARY_CONNECT,
    [PRIMARY_CONNECT] = 1u << PRIMARY_OFF | 1u << PRIMARY_CONNECT | 1u << PRIMARY_HANDSHAKE,
    [PRIMARY_HANDSHAKE] = 1u << PRIMARY_OFF | 1u << PRIMARY_CONNECT | 1u << PRIMARY_RECEIVES | 1u << PRIMARY_LOADS |
                          1u << PRIMARY_UP,
    [PRIMARY_RECEIVES] = 1u << PRIMARY_OFF | 1u << PRIMARY_CONNECT | 1u << PRIMARY_LOADS,
    [PRIMARY_LOADS] = 1u << PRIMARY_CONNECT | 1u << PRIMARY_DRAINS | 1u << PRIMARY_UP,
    [PRIMARY_DRAINS] = 1u << PRIMARY_OFF | 1u << PRIMARY_CONNECT | 1u << PRIMARY_UP,
    [PRIMARY_UP] = 1u << PRIMARY_OFF | 1u << PRIMARY_CONNECT,
};
static_assert(array_len(next_states) == PRIMARY_UP + 1, "each state says which may follow it");

static void checkJobs(void) {
    const linkJob *job = primary.job, *buffer = primary.buffer;
    debugAssert((job != NULL) == (primary.state >= PRIMARY_HANDSHAKE && primary.state <= PRIMARY_DRAINS));
    debugAssert(primary.state != PRIMARY_HANDSHAKE || (job->work == handshakeWork && !buffer));
    debugAssert(primary.state != PRIMARY_RECEIVES || (job->work == snapshotReceiveWork && job->path));
    debugAssert(primary.state < PRIMARY_LOADS || !job || linkJobIsOver(job));
    debugAssert(primary.state != PRIMARY_DRAINS || buffer);
    debugAssert(!buffer || (job && buffer->work == streamBufferWork && !buffer->stream.conn));
    debugAssert(!buffer ||
                (primary.state == PRIMARY_DRAINS) == atomic_load_explicit(&buffer->enough, memory_order_relaxed));
}

/* Asserts the invariants. Call where no function of this file is in the middle of a change. */
static void linkCheck(void) {
    checkJobs();
    debugAssert(streamApplyIsOpen() == (primary.state == PRIMARY_UP));
    debugAssert(primary.state != PRIMARY_UP || (primary.has_cursor && replStreamIsKept() && primary.failed_syncs == 0));
    debugAssert(primary.state != PRIMARY_OFF || !primary.has_cursor);
    debugAssert(primary.state != PRIMARY_DRAINS || !primary.has_cursor);
    debugAssert(primary.state == PRIMARY_OFF || repl_settings.primary_host);
    debugAssert(!primary.for_failover || primary.state == PRIMARY_CONNECT || primary.state == PRIMARY_HANDSHAKE);
    debugAssert(primary.failed_syncs == 0 || primary.not_before_ms > 0);
    debugAssert(primary.history == LINK_IS_NEW || primary.state == PRIMARY_CONNECT);
    debugAssert(primary.state != PRIMARY_UP || primary.was_up);
    debugAssert(gateStaleIsEnabled() == (primaryLinkIsOn() && !primaryLinkIsUp() && !repl_settings.serve_stale_data));
}

/* Asserts that the event loop has called: no command runs, nor any work that lets other clients be served meanwhile. */
static void checkNothingRuns(void) {
    assertOutsideYield(); /* the dataset may be replaced, and the role may change */
    debugAssert(!callCurrentClient());
}

void primaryLinkOnSync(void (*report)(const char *status)) {
    debugAssert(!on_sync);
    on_sync = report;
}

static void notifySynced(const char *how) {
    char status[160];
    snprintf(status, sizeof(status), "PRIMARY <-> REPLICA sync: %s. Ready to accept connections in read-write mode.",
             how);
    if (on_sync) on_sync(status);
}

void primaryLinkOnFailover(void (*answered)(bool accepted)) {
    debugAssert(!on_failover);
    on_failover = answered;
}

static void sendWakeup(void) { aeWakeupSend(&primary.wakeup); }

/* ---- The role, and the gates that depend on it ---- */

bool primaryLinkIsOn(void) { return primary.state != PRIMARY_OFF; }

bool primaryLinkIsUp(void) { return primary.state == PRIMARY_UP; }

void primaryLinkApplySettings(void) {
    bool follows = primaryLinkIsOn(), stale = follows && !repl_settings.serve_stale_data && !primaryLinkIsUp();
    bool imports = repl_settings.imports && !follows;
    if (!follows) replicaExpiresClear();
    storeSetFollowing((storeFollowing){
        .on = follows || imports, .all_memory = follows && repl_settings.ignore_maxmemory, .imports = imports});
    gateEnable(GATE_REPLICAS, (follows && repl_settings.read_only) || (!follows && repl_settings.min_replicas > 0));
    gateEnable(GATE_STALE, stale);
}

static void setState(primaryState state) {
    bool was_up = primary.state == PRIMARY_UP;
    debugAssert(next_states[primary.state] >> state & 1);
    unused(next_states);
    logSetRole(state == PRIMARY_OFF ? 'M' : 'S');
    primary.state = state;
    if (was_up != (state == PRIMARY_UP)) primary.changed_ms = clockMonotonicMs();
    if (state == PRIMARY_UP) primary.was_up = true;
    primaryLinkApplySettings();
}

gateResult primaryReadonlyGate(client *c) {
    uint32_t flags = commandFlagsNow(c);
    if (!(flags & CMD_WRITE)) return GATE_PASSED;
    const char *error = NULL;
    if (!primaryLinkIsOn()) {
        bool enough = repl_settings.min_replicas_max_lag_s == 0 || replicasGood() >= (size_t)repl_settings.min_replicas;
        if (!enough) error = "-NOREPLICAS Not enough good replicas to write.";
    } else if (repl_settings.read_only) {
        error = "-READONLY You can't write against a read only replica.";
    }
    if (!error) return GATE_PASSED;
    transactionRefuse(c, error);
    return GATE_REFUSED;
}

/* If the client supports redirections (CLIENT CAPA redirect) and this server is a replica, writes the error reply that
 * names the primary to `text` and returns true. Else returns false. */
static bool redirectFor(const client *c, char text[REDIRECT_MAX]) {
    if (!(c->capa & CLIENT_CAPA_REDIRECT) || !repl_settings.primary_host) return false;
    snprintf(text, REDIRECT_MAX, "-REDIRECT %s:%lld", repl_settings.primary_host, repl_settings.primary_port);
    return true;
}

gateResult primaryRedirectGate(client *c) {
    char text[REDIRECT_MAX];
    if (!redirectFor(c, text)) return GATE_PASSED;
    uint32_t flags = commandFlagsNow(c), redirected = c->flags & CLIENT_READONLY ? CMD_WRITE : CMD_WRITE | CMD_READONLY;
    if (!(flags & redirected)) return GATE_PASSED;
    if (primary.for_failover) return pauseGate(c);
    bool exec = transactionIsExec(c);
    addReplyError(c, text);
    if (exec) transactionEnd(c);
    return GATE_REFUSED;
}

gateResult primaryStaleGate(client *c) {
    if (!transactionLacks(c, CMD_STALE)) return GATE_PASSED;
    transactionRefuse(c, STALE_ERROR);
    return GATE_REFUSED;
}

/* ---- States ---- */

static void setStreamNode(const char *id) { snprintf(primary.stream_node, sizeof(primary.stream_node), "%s", id); }

const char *primaryLinkStreamNode(void) { return primaryLinkIsOn() ? primary.stream_node : primary.own_node_id; }

/* Begins to apply the stream at the replication offset, starting with the bytes that the job has already received.
 * Takes ownership of the job. */
static void beginApplying(linkJob *job, bool old_style) {
    linkWire *w = &job->wire;
    debugAssert(linkJobIsOver(job) && w->conn && !primary.job && !primary.buffer);
    replStreamKeep();
    unreadAdd(&job->buffered, sliceOf(w->early, w->early_len));
    connUnread(w->conn, &job->buffered);
    streamApplyBegin(w->conn, old_style);
    w->conn = NULL;
    debugAssert(job->buffered.len == 0); /* the connection has taken them */
    linkJobDrop(job);
    primary.has_cursor = true;
    setStreamNode(primary.node_id);
    primary.failed_syncs = 0;
    keepDatasetForget();
    setState(PRIMARY_UP);
}

static linkJob *takeJob(linkJob **from) {
    linkJob *job = *from;
    *from = NULL;
    return job;
}

static void dropJobs(void) {
    if (primary.job) primary.snapshot_input += atomic_load_explicit(&primary.job->received, memory_order_relaxed);
    linkJobDrop(takeJob(&primary.job));
    linkJobDrop(takeJob(&primary.buffer));
    debugAssert(!primary.job && !primary.buffer);
}

static void connectSoon(void) {
    setState(PRIMARY_CONNECT);
    sendWakeup();
}

static void connectLater(void) {
    dropJobs();
    setState(PRIMARY_CONNECT);
}

/* Sets the pause before the next attempt, which grows with each failure. Returns its length. */
static unsigned backOff(void) {
    unsigned wait_s = 1u << (primary.failed_syncs < BACKOFF_DOUBLINGS ? primary.failed_syncs : BACKOFF_DOUBLINGS);
    primary.history = LINK_FAILED_LATE;
    primary.failed_syncs++;
    primary.not_before_ms = clockMonotonicMs() + wait_s * 1000ull;
    return wait_s;
}

/* Ends a full synchronization that has failed. */
static void syncFailed(void) {
    unsigned wait_s = backOff();
    if (primary.failed_syncs > 1)
        serverLog(LL_WARNING, "%u full synchronizations in a row have failed. Retrying in %u seconds.",
                  primary.failed_syncs, wait_s);
    connectLater();
}

static void forgetPosition(void) {
    if (primary.has_cursor) serverLog(LL_NOTICE, "Discarding previously cached primary state.");
    primary.has_cursor = false;
    setStreamNode("");
}

/* Call when the dataset stops belonging to a replication stream: disconnects all replicas and drops the backlog, so
 * that no replica continues and no RDB file has an offset. */
static void loseReplStream(void) {
    forgetPosition();
    replicasDisconnect();
    replStreamDrop();
}

/* Called when the client of the link was freed. If `whole`, the replication offset is that of the dataset, and the link
 * resumes from it. */
static void sessionLost(bool whole) {
    assertOutsideYield();
    debugAssert(primary.state == PRIMARY_UP && !streamApplyIsOpen());
    serverLog(LL_NOTICE, "Connection with primary lost.");
    if (whole) serverLog(LL_NOTICE, "Caching the disconnected primary state.");
    else loseReplStream();
    primary.history = LINK_WAS_LOST;
    connectSoon();
    linkCheck();
}

/* ---- A full synchronization ---- */

/* Returns the path of a file into which an RDB is received; the caller frees it. It is absolute, because `dir` may be
 * changed before the file is complete. */
static char *temporaryPath(void) {
    char folder[PATH_MAX], path[PATH_MAX + 96];
    const char *in = getcwd(folder, sizeof(folder)) ? folder : ".";
    snprintf(path, sizeof(path), "%s/temp-%lld.%d.rdb", in, (long long)(clockWallMs() / 1000), (int)getpid());
    return zstrdup(path);
}

static bool loadsDirectly(void) {
    if (repl_settings.diskless_load == DISKLESS_LOAD_OFF) return false;
    if (repl_settings.diskless_load != DISKLESS_LOAD_ON_EMPTY) return true;
    return !keepDatasetHasKeys();
}

/* Starts a job that receives the RDB on the connection of the handshake's job, which it replaces. Returns false if no
 * thread can be started. */
static bool startReceiving(void) {
    linkJob *from = primary.job, *job = linkJobCreate(snapshotReceiveWork, sendWakeup);
    debugAssert(linkJobIsOver(from) && from->wire.conn);
    job->wire = from->wire;
    from->wire = (linkWire){0};
    job->frame = from->frame;
    job->got_offset = from->got_offset;
    job->got_db = from->got_db;
    job->timeout_s = from->timeout_s;
    job->path = temporaryPath();
    memcpy(job->got_id, from->got_id, sizeof(job->got_id));
    atomic_store_explicit(&job->step, LINK_STEP_SYNC, memory_order_relaxed);
    linkJobDrop(from);
    primary.job = job;
    setState(PRIMARY_RECEIVES);
    if (linkJobStart(job)) return true;
    serverLog(LL_WARNING, "Failed to start the thread that receives the RDB: %s", strerror(errno));
    return false;
}

/* Asks the job of the stream buffer to end, because the dataset is loaded. applyBuffered() runs when its thread has
 * ended. */
static void beginDraining(void) {
    debugAssert(!primary.has_cursor && replStreamIsKept()); /* datasetLoad() has replaced the dataset */
    setState(PRIMARY_DRAINS);
    atomic_store_explicit(&primary.buffer->enough, true, memory_order_relaxed);
    sendWakeup();
}

static void applyBuffered(void) {
    linkJob *buffer = takeJob(&primary.buffer);
    primary.buffered_peak = atomic_load_explicit(&buffer->buffered_memory, memory_order_relaxed);
    dropJobs();
    serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: %zu bytes of the stream were buffered meanwhile",
              buffer->buffered.len);
    beginApplying(buffer, false);
    streamApplyAck(false);
    notifySynced("Finished with success");
}

/* Starts the job that fills the stream buffer until the RDB is loaded. Returns false if no thread can be started. */
static bool startBuffering(void) {
    linkJob *from = primary.job, *job = linkJobCreate(streamBufferWork, sendWakeup);
    debugAssert(linkJobIsOver(from) && from->stream.conn && !primary.buffer);
    linkSwapWires(from);
    job->wire = from->wire;
    from->wire = (linkWire){0};
    linkSwapWires(from);
    job->buffer_max = (size_t)output_limits[CLIENT_TYPE_REPLICA].hard_bytes;
    primary.buffer = job;
    if (linkJobStart(job)) return true;
    serverLog(LL_WARNING, "Failed to start the thread that buffers the replication stream: %s", strerror(errno));
    return false;
}

static void loadDataset(bool from_file) {
    linkJob *job = primary.job;
    rdbReplInfo info;
    debugAssert(linkJobIsOver(job) && job->outcome == (from_file ? LINK_RECEIVED : LINK_SNAPSHOT));
    setState(PRIMARY_LOADS);
    serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: Loading DB in memory");
    bool ok = datasetLoad(job, from_file, loseReplStream, &info);
    if (!ok) {
        syncFailed();
        return;
    }
    debugAssert(!primary.has_cursor); /* loseReplStream() was called when the dataset was removed */
    bool old_style = job->got_offset < 0;
    if (old_style) {
        replStreamNewId();
        replStreamFollow(replicationIds()->id, 0);
    } else {
        replStreamFollow(job->got_id, (uint64_t)job->got_offset);
    }
    streamApplySetDb(job->got_db >= 0 ? (int)job->got_db : info.stream_db);
    serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: Finished with success");
    if (primary.buffer) {
        debugAssert(!old_style);
        beginDraining();
        return;
    }
    beginApplying(takeJob(&primary.job), old_style);
    streamApplyAck(false);
    notifySynced("Finished with success");
}

/* Ends an attempt whose dataset is refused: the present one stays, with its replication ID and offset. */
static void keepPresent(void) {
    uint64_t until_ms = keepDatasetFigures().until_ms;
    (void)backOff();
    if (primary.not_before_ms > until_ms) primary.not_before_ms = until_ms;
    serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: not taken, because the dataset of the primary is empty");
    connectLater();
}

static void beginSnapshot(void) {
    linkJob *job = primary.job;
    if (job->is_empty && keepDatasetFrom(job->got_id)) {
        keepPresent();
        return;
    }
    keepDatasetYields();
    const char *to = loadsDirectly() ? "parser" : "disk";
    if (job->frame.has_length)
        serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: receiving %llu bytes from primary to %s",
                  (unsigned long long)job->frame.length, to);
    else serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: receiving streamed RDB from primary with EOF to %s", to);
    if ((job->stream.conn && !startBuffering()) || (!loadsDirectly() && !startReceiving())) syncFailed();
    else if (primary.state == PRIMARY_HANDSHAKE) loadDataset(false);
}

static void continueStream(void) {
    const char *id = primary.job->got_id;
    debugAssert(primary.has_cursor && !primary.job->stream.conn);
    serverLog(LL_NOTICE, "Successful partial resynchronization with primary.");
    if (*id && memcmp(id, replicationIds()->id, REPL_ID_BYTES)) {
        replStreamContinueAs(id);
        serverLog(LL_NOTICE, "Primary replication ID changed to %s", id);
        replicasDisconnect(); /* they get the new ID when they reconnect */
    }
    beginApplying(takeJob(&primary.job), false);
    serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: Primary accepted a Partial Resynchronization.");
    notifySynced("Partial Resynchronization accepted");
}

/* ---- Jobs ---- */

/* Copies the settings that the job needs. Returns false if tls-replication is on but TLS is not configured. */
static bool fillIn(linkJob *job) {
    job->host = zstrdup(repl_settings.primary_host);
    job->port = (int)repl_settings.primary_port;
    job->source_address = net_settings.bind_source_addr ? zstrdup(net_settings.bind_source_addr) : NULL;
    job->password = repl_settings.primary_auth ? sdsDup(repl_settings.primary_auth) : NULL;
    job->user = repl_settings.primary_user ? sdsNew(repl_settings.primary_user) : NULL;
    job->announce_ip = repl_settings.announce_ip ? zstrdup(repl_settings.announce_ip) : NULL;
    long long own = repl_settings.tls && tls_settings.port ? tls_settings.port : net_settings.port;
    job->announce_port = repl_settings.announce_port ? repl_settings.announce_port : own;
    job->timeout_s = (unsigned)repl_settings.timeout_s;
    tlsContext *tls = repl_settings.tls ? tlsClientContext() : NULL;
    job->tls = tls ? tlsContextRetain(tls) : NULL;
    job->dual_channel = repl_settings.dual_channel;
    job->skip_checksum = job->tls && repl_settings.diskless_load != DISKLESS_LOAD_OFF;
    job->offset = -1;
    strcpy(job->id, "?");
    memcpy(job->node_id, primary.node_id, sizeof(job->node_id));
    memcpy(job->own_node_id, primary.own_node_id, sizeof(job->own_node_id));
    job->failover = primary.for_failover;
    job->peeks = keepDatasetMatters();
    if (primary.has_cursor) {
        memcpy(job->id, replicationIds()->id, sizeof(job->id));
        job->offset = (long long)replStreamOffset() + 1;
    }
    return tls || !repl_settings.tls;
}

static void startHandshake(void) {
    debugAssert(primary.state == PRIMARY_CONNECT);
    if (clockMonotonicMs() < primary.not_before_ms) return;
    serverLog(LL_NOTICE, "%s to PRIMARY %s:%lld%s", primary.history == LINK_IS_NEW ? "Connecting" : "Reconnecting",
              repl_settings.primary_host, repl_settings.primary_port,
              primary.history == LINK_FAILED_LATE ? " after failure" : "");
    primary.history = LINK_IS_NEW;
    serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync started");
    primary.job = linkJobCreate(handshakeWork, sendWakeup);
    if (fillIn(primary.job)) {
        if (linkJobStart(primary.job)) {
            setState(PRIMARY_HANDSHAKE);
            return;
        }
        serverLog(LL_WARNING, "Failed to start the thread that connects to the primary: %s", strerror(errno));
    }
    connectLater();
}

/* Ends the wait of blocked clients: on a replica no client can write the keys for which they wait. */
static void unblockAll(void) {
    listIter it = listBegin(client_state.clients, false);
    for (listNode *n = listNext(&it); n; n = listNext(&it)) {
        client *c = listNodeValue(n);
        if (!(c->flags & CLIENT_BLOCKED) || blockingForAnyRole(c)) continue;
        char text[REDIRECT_MAX];
        if (redirectFor(c, text)) {
            blockingEnd(c, text);
            continue;
        }
        blockingEnd(c, "-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)");
        sessionCloseAfterOutput(c);
    }
}

/* Reports a failover as successful once the target has accepted it, even if a full synchronization follows. */
static void checkAccepted(void) {
    const linkJob *job = primary.job;
    if (!primary.for_failover || !job || !atomic_load_explicit(&job->accepted_psync, memory_order_relaxed)) return;
    primary.for_failover = false;
    unblockAll();
    on_failover(true);
}

/* If the target has refused a failover, reports that and returns true: this server is a primary again. Returns false if
 * it did not answer; then the next attempt asks again. */
static bool failoverWasRefused(void) {
    if (!primary.for_failover || !primary.job->rejected_psync) return false;
    primary.for_failover = false;
    on_failover(false);
    return true;
}

static void logSilence(bool syncs) {
    if (syncs)
        serverLog(LL_WARNING,
                  "Timeout receiving bulk data from PRIMARY... If the problem persists try to set the 'repl-timeout' "
                  "parameter in valkey.conf to a larger value.");
    else serverLog(LL_WARNING, "Timeout connecting to the PRIMARY...");
}

/* Drops a job that has failed. `synced`: during a full synchronization; `silent`: for a timeout. */
static void jobFailed(bool synced, bool silent) {
    if (silent) {
        logSilence(synced);
        primary.history = LINK_FAILED_LATE;
    }
    if (synced) syncFailed();
    else connectLater();
}

static void handshakeEnded(void) {
    if (failoverWasRefused()) return;
    switch (primary.job->outcome) {
    case LINK_CONTINUE: continueStream(); return;
    case LINK_SNAPSHOT: beginSnapshot(); return;
    case LINK_RECEIVED:
    case LINK_FAILED: break;
    }
    debugAssert(primary.job->outcome == LINK_FAILED);
    bool synced = atomic_load_explicit(&primary.job->step, memory_order_relaxed) == LINK_STEP_SYNC;
    jobFailed(synced, primary.job->timed_out);
}

static void receiveEnded(void) {
    if (primary.job->outcome == LINK_RECEIVED) loadDataset(true);
    else jobFailed(true, primary.job->timed_out);
}

static void pollJobs(void) {
    assertMainThread();
    checkNothingRuns();
    if (primary.state == PRIMARY_CONNECT) startHandshake();
    if (primary.state == PRIMARY_DRAINS && linkJobIsOver(primary.buffer)) applyBuffered();
    bool job_is_over = primary.job && linkJobIsOver(primary.job); /* an acquire load: before the job's other fields */
    checkAccepted();
    if (!job_is_over) return;
    if (primary.state == PRIMARY_HANDSHAKE) handshakeEnded();
    else if (primary.state == PRIMARY_RECEIVES) receiveEnded();
}

static void onWakeup(void) {
    linkCheck();
    pollJobs();
    linkCheck();
}

/* ---- Timeouts ---- */

static bool isSilent(uint64_t last_input_ms) {
    return clockMonotonicMs() - last_input_ms > (uint64_t)repl_settings.timeout_s * 1000;
}

static void checkJobTimeout(void) {
    bool syncs = atomic_load_explicit(&primary.job->step, memory_order_relaxed) == LINK_STEP_SYNC;
    if (!isSilent(atomic_load_explicit(&primary.job->last_input_ms, memory_order_relaxed))) return;
    jobFailed(syncs, true);
}

static void checkStream(void) {
    if (!isSilent(streamApplyLastInputMs())) {
        streamApplyAckAnyway();
        return;
    }
    serverLog(LL_WARNING, "PRIMARY timeout: no data nor PING received...");
    streamApplyClose();
}

void primaryLinkTick(void) {
    assertMainThread();
    checkNothingRuns();
    linkCheck();
    switch (primary.state) {
    case PRIMARY_OFF:
    case PRIMARY_LOADS:
    case PRIMARY_DRAINS: break;
    case PRIMARY_CONNECT: startHandshake(); break;
    case PRIMARY_HANDSHAKE:
    case PRIMARY_RECEIVES: checkJobTimeout(); break;
    case PRIMARY_UP: checkStream(); break;
    }
    linkCheck();
}

/* ---- Which server to follow ---- */

static void dropLink(void) {
    debugAssert(primary.state != PRIMARY_LOADS); /* its job is in use by the function that loads */
    if (streamApplyIsOpen()) {
        serverLog(LL_NOTICE, "Connection with primary lost.");
        if (streamApplyLeave()) serverLog(LL_NOTICE, "Caching the disconnected primary state.");
        else loseReplStream();
    }
    dropJobs();
    primary.history = LINK_IS_NEW;
    primary.failed_syncs = 0;
    primary.not_before_ms = 0;
    primary.for_failover = false;
    keepDatasetForget();
}

static void turnIntoReplica(void) {
    serverLog(LL_NOTICE, "Before turning into a replica, using my own primary parameters to synthesize a cached "
                         "primary: I may be able to synchronize with the new primary with just a partial transfer.");
    replStreamTakeWrites(false);
    primary.has_cursor = true;
    setStreamNode(primary.own_node_id);
    streamApplySetDb(0);
}

void primaryLinkFollow(const char *host, long long port) {
    assertMainThread();
    bool was_primary = !primaryLinkIsOn();
    linkCheck();
    replSettingsSetPrimary(host, port);
    dropLink();
    keepDatasetConsent();
    if (was_primary) turnIntoReplica();
    connectSoon();
    if (was_primary) unblockAll();
    linkCheck();
}

static bool followsStream(void) {
    return primary.has_cursor && *primary.node_id && !strcmp(primary.stream_node, primary.node_id);
}

void primaryLinkSetNodes(const nodeId *own, const nodeId *expected, bool continues) {
    bool is_of_former = followsStream();
    memcpy(primary.own_node_id, own->text, NODE_ID_LEN);
    memcpy(primary.node_id, expected->text, NODE_ID_LEN);
    if (continues && is_of_former) setStreamNode(primary.node_id);
}

bool primaryLinkTakeEmpty(void) {
    assertMainThread();
    linkCheck();
    if (!keepDatasetFigures().keeps) return false;
    keepDatasetConsent();
    primary.failed_syncs = 0;
    primary.not_before_ms = 0;
    sendWakeup();
    linkCheck();
    return true;
}

void primaryLinkFollowForFailover(const char *host, long long port) {
    assertMainThread();
    serverAssert(!primaryLinkIsOn());
    linkCheck();
    replSettingsSetPrimary(host, port);
    turnIntoReplica();
    keepDatasetConsent();
    primary.for_failover = true;
    connectSoon();
    linkCheck();
}

void primaryLinkLeave(void) {
    assertMainThread();
    linkCheck();
    if (!primaryLinkIsOn()) return;
    dropLink();
    forgetPosition();
    replSettingsSetPrimary(NULL, 0);
    replStreamLeave();
    serverLog(LL_NOTICE, "Setting secondary replication ID to %s, valid up to offset: %lld. New replication ID is %s",
              replicationIds()->id2, replicationIds()->id2_until, replicationIds()->id);
    replicasDisconnect();
    replStreamTakeWrites(true);
    setState(PRIMARY_OFF);
    /* The dataset is this server's own now, even if a failed synchronization has left it empty. */
    (void)keepFilesEnd(NULL);
    linkCheck();
}

void primaryLinkRemember(const char *id, uint64_t offset, int stream_db, const char *node) {
    assertMainThread();
    linkCheck();
    if (offset > PRIMARY_OFFSET_MAX) return; /* offsets after it could overflow */
    if (!repl_settings.primary_host) {
        replStreamResume(id, offset);
        return;
    }
    debugAssert(primary.state == PRIMARY_CONNECT); /* since primaryLinkPrepare(); it is not tried before the load */
    replStreamFollow(id, offset);
    primary.has_cursor = true;
    setStreamNode(node);
    streamApplySetDb(stream_db);
    linkCheck();
}

void primaryLinkPrepare(void) {
    assertMainThread();
    debugAssert(primary.state == PRIMARY_OFF);
    if (repl_settings.primary_host) setState(PRIMARY_CONNECT);
    linkCheck();
}

void primaryLinkBegin(void) {
    assertMainThread();
    if (repl_settings.primary_host) {
        connectSoon();
    } else {
        replStreamTakeWrites(true);
        primaryLinkApplySettings();
    }
    linkCheck();
}

void primaryLinkInit(aeEventLoop *loop) {
    assertMainThread();
    debugAssert(!primary.loop);
    primary.loop = loop;
    if (aeWakeupOpen(loop, &primary.wakeup, onWakeup) == C_ERR)
        serverPanic("Failed to create an event descriptor: %s", strerror(errno));
    streamApplyInit(sessionLost);
}

void primaryLinkWhileLoading(void) {
    static uint64_t sent_ms;
    uint64_t now_ms = clockMonotonicMs();
    linkCheck();
    if (primary.state != PRIMARY_LOADS || primary.buffer || now_ms - sent_ms < 1000) return;
    sent_ms = now_ms;
    datasetLoadKeepAlive();
}

/* ---- Figures of INFO and ROLE ---- */

static const char *roleWord(void) {
    switch (primary.state) {
    case PRIMARY_OFF: return "none";
    case PRIMARY_CONNECT: return "connect";
    case PRIMARY_HANDSHAKE:
        switch ((linkStep)atomic_load_explicit(&primary.job->step, memory_order_relaxed)) {
        case LINK_STEP_CONNECTING: return "connecting";
        case LINK_STEP_HANDSHAKE: return "handshake";
        case LINK_STEP_SYNC: break;
        }
        return "sync";
    case PRIMARY_RECEIVES:
    case PRIMARY_LOADS:
    case PRIMARY_DRAINS: return "sync";
    case PRIMARY_UP: return "connected";
    }
    return "unknown";
}

static void fillSyncFigures(primaryFigures *f) {
    const linkJob *job = primary.job;
    f->syncing = job && atomic_load_explicit(&job->step, memory_order_relaxed) == LINK_STEP_SYNC;
    if (!f->syncing) return;
    bool has_header = primary.state != PRIMARY_HANDSHAKE;
    uint64_t last_input_ms = atomic_load_explicit(&job->last_input_ms, memory_order_relaxed);
    f->sync_total = !has_header ? -1 : job->frame.has_length ? (long long)job->frame.length : 0;
    f->sync_read = (long long)atomic_load_explicit(&job->received, memory_order_relaxed);
    f->sync_input_ago_s = (long long)((clockMonotonicMs() - last_input_ms) / 1000);
}

primaryFigures primaryLinkFigures(void) {
    assertMainRole();
    linkCheck();
    primaryFigures f = {.state = primary.state, .role_word = roleWord(), .last_input_ago_s = -1, .down_since_s = -1};
    f.applied_offset = f.read_offset = primary.has_cursor ? (long long)replStreamOffset() : 1;
    f.input_bytes = primary.snapshot_input + streamApplyInput();
    if (primary.job) f.input_bytes += atomic_load_explicit(&primary.job->received, memory_order_relaxed);
    f.buffered_peak = primary.buffered_peak;
    if (primary.buffer) {
        f.buffered = atomic_load_explicit(&primary.buffer->buffered_memory, memory_order_relaxed);
        if (f.buffered > f.buffered_peak) f.buffered_peak = f.buffered;
    }
    if (streamApplyIsOpen()) {
        f.last_input_ago_s = (long long)((clockMonotonicMs() - streamApplyLastInputMs()) / 1000);
        f.applied_offset = streamApplyOffset();
        f.read_offset = f.applied_offset + (long long)(streamApplyReadOffset() - replStreamOffset());
    } else if (primary.was_up) {
        f.down_since_s = (long long)((clockMonotonicMs() - primary.changed_ms) / 1000);
    }
    f.has_offset = primary.has_cursor;
    f.follows_stream = followsStream();
    fillSyncFigures(&f);
    debugAssert(f.read_offset >= f.applied_offset);
    return f;
}

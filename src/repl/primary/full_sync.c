/* full_sync.c -- full synchronization: when a child writes the dataset, and which replicas get it.
 *
 *   FILE     child writes a file --> its end --> an RDB transfer for each replica --> ONLINE
 *   DIRECT   child ==pipe==> one RDB transfer for all --> its end --> ONLINE; the stream when they have loaded it
 *
 * A round is the work around one child (`this_round`):
 *
 *   NONE --> FILE     until the child has ended --> NONE
 *       `--> DIRECT   until the child has ended and all that it wrote was sent, in either order --> NONE
 *
 * One child serves all waiting replicas that can use the same snapshot. They start at the replication offset of the
 * fork; the backlog keeps the bytes from there on until they have received them.
 *
 * One dataset is sent at a time, to all replicas of its round. The next round begins when a DIRECT one is over, or
 * when the files of a FILE round are sent (waitsForTransfer() has the bound).
 *
 * A child is forked by a command or at a tick, and not by the function that is called at the end of another child,
 * because that may run within a long command.
 *
 * Not here    sending the bytes (rdb_transfer.c, rdb_copier.c), children (persist/file/child.h), PSYNC (psync.c).
 * Owns        the round: the child that writes for replicas, and its parameters.
 * Threads     main's own.
 * Invariants  1. A replica in WAIT_END belongs to the present round; it has a cursor, or its other connection has.
 *             2. In FILE a child writes a snapshot. In DIRECT a child does, or its bytes are still being sent.
 *             3. A replica in WAIT_START has no cursor; in SEND_FILE it has one, or its other connection has.
 * Tests       tests/repl/sync.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "full_sync.h"

#include "anet.h"
#include "child.h"
#include "clock.h"
#include "log.h"
#include "log_limit.h"
#include "panic.h"
#include "persist_settings.h"
#include "primary_link.h"
#include "stream_apply.h"
#include "rdb_format.h"
#include "rdb_save.h"
#include "repl_settings.h"
#include "reply.h"
#include "rng.h"
#include "session_output.h"
#include "rdb_transfer.h"
#include "slot_states.h"
#include "snapshot.h"
#include "snapshot_frame.h"
#include "repl_stream.h"
#include "sync_file.h"
#include "zmalloc.h"

/* Limit of log lines of one kind in a minute, so that a replica that fails again and again does not fill the log. */
#define LINES_PER_ROUND 10

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK_BYTES 40
#define REPLICAS_CHECKED 64
#define PIPE_BYTES (1 << 20)
#define VERSION_NEW 0x00090000u /* servers from this version on read the newest RDB version */

static_assert(MARK_BYTES == SNAPSHOT_MARK_BYTES, "a replica reads the mark that this server writes");

typedef enum { ROUND_NONE, ROUND_FILE, ROUND_DIRECT } roundKind;

static struct {
    roundKind kind;
    bool child_runs, child_ok, all_sent; /* DIRECT; the last: all that the child wrote was sent */
    syncNeeds needs;
    unsigned version; /* of the RDB; 0 for the newest */
    bool checksum;
    char mark[MARK_BYTES + 1];
    int stream_db;              /* the database selected in the stream at the fork; -1 without one */
    rdbReplication position;    /* ID and offset of the stream at the fork, for the RDB */
    char id[REPL_ID_BYTES + 1]; /* position.id refers to it */
} this_round;

static void fileEnded(bool ok, const char *file);

static void checkReplica(const replicaState *r) {
    bool has_cursor = r->has_cursor || r->is_rdb_channel;
    if (r->c->flags & CLIENT_CLOSE_ASAP) return; /* its phase no longer changes */
    debugAssert(r->phase != REPLICA_WAIT_START || !r->has_cursor);
    debugAssert(r->phase != REPLICA_WAIT_END || has_cursor);
    debugAssert(r->phase != REPLICA_SEND_FILE || (has_cursor && !r->streams));
    unused(has_cursor);
}

/* Asserts the invariants. Call where no function of this file is in the middle of a change. */
static void fullSyncCheck(void) {
#ifdef DEBUG_ASSERTIONS
    bool child_writes = childRunning() == CHILD_RDB;
    debugAssert(this_round.kind != ROUND_FILE || child_writes);
    debugAssert(this_round.kind != ROUND_DIRECT || this_round.child_runs || !this_round.all_sent);
    debugAssert(!this_round.child_runs || (this_round.kind == ROUND_DIRECT && child_writes));
    debugAssert(this_round.kind == ROUND_NONE || replStreamIsKept());
    int left = REPLICAS_CHECKED;
    for (const replicaState *r = NULL; left-- > 0 && (r = replicasNext(r)) != NULL;)
        checkReplica(r); /* a fuzzer puts replicas into WAIT_END without a round */
#endif
}

void fullSyncInit(void) {
    assertMainThread();
    snapshotOnEnd(fileEnded);
}

/* ---- Which replicas can share a snapshot ---- */

static unsigned versionFor(const replicaState *r) { return r->needs.version < VERSION_NEW ? RDB_VERSION_OLD : 0; }

static bool isFiltered(const replicaState *r) { return r->needs.no_keys || r->needs.no_functions; }

/* Returns whether the RDB is sent while it is written. A replica that cannot read an RDB of unknown length gets a
 * file. */
static bool isDirect(const replicaState *r) {
    if (!r->reads_eof) return false;
    if (r->is_rdb_channel) return true;
    return repl_settings.diskless_sync || isFiltered(r) || versionFor(r);
}

static bool sameSnapshot(const replicaState *a, const replicaState *b) {
    if (isDirect(a) != isDirect(b)) return false;
    if (!isDirect(a)) return true;
    return versionFor(a) == versionFor(b) && a->needs.no_keys == b->needs.no_keys &&
           a->needs.no_functions == b->needs.no_functions && a->skips_checksum == b->skips_checksum;
}

/* ---- Iterating the replicas of a phase ---- */

/* Returns the next replica in that phase after `after` (the first one if that is NULL), or NULL if there is none. */
static replicaState *nextIn(replicaPhase phase, const replicaState *after) {
    replicaState *r = replicasNext(after);
    while (r && (r->phase != phase || r->c->flags & CLIENT_CLOSE_ASAP)) r = replicasNext(r);
    return r;
}
#define FOR_ALL_IN(phase, r) \
    for (replicaState *r = nextIn(phase, NULL), *r##_next; r && (r##_next = nextIn(phase, r), true); r = r##_next)

/* ---- A round begins ---- */

/* Adds a replica to the round: sets its cursor, so that the backlog keeps the bytes from `offset` on, and sends it the
 * ID and the offset. */
static void addToRound(replicaState *r, uint64_t offset) {
    debugAssert(this_round.kind != ROUND_NONE && r->phase == REPLICA_WAIT_START);
    bool kept = replicaSetCursor(r, offset);
    serverAssert(kept);
    r->phase = REPLICA_WAIT_END;
    if (r->old_style && !r->is_rdb_channel) return;
    char line[REPL_ID_BYTES + 96];
    int n = r->is_rdb_channel ? snprintf(line, sizeof(line), "$ENDOFF:%llu %s %d %llu\r\n", (unsigned long long)offset,
                                         replicationIds()->id, this_round.stream_db, (unsigned long long)r->c->id)
                              : snprintf(line, sizeof(line), "+FULLRESYNC %s %llu\r\n", replicationIds()->id,
                                         (unsigned long long)offset);
    serverAssert((size_t)n < sizeof(line));
    addReplyProto(r->c, line, (size_t)n);
}

static void refuseAll(replicaPhase phase) {
    FOR_ALL_IN(phase, r) {
        addReplyError(r->c, "BGSAVE failed, replication can't continue");
        sessionCloseAfterOutput(r->c);
    }
}

static void recordPosition(void) {
    memcpy(this_round.id, replicationIds()->id, sizeof(this_round.id));
    int db = this_round.stream_db = primaryLinkIsOn() ? streamApplyDb() : replStreamDb();
    this_round.position = (rdbReplication){.stream_db = db < 0 ? 0 : db,
                                           .id = this_round.id,
                                           .offset = (long long)replStreamOffset(),
                                           .slot_states = slotStatesRecorded(),
                                           .node = primaryLinkStreamNode()};
}

static bool writeAll(slice bytes) {
    while (bytes.len > 0) {
        ssize_t n = write(CHILD_OUTPUT_FD, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes = sliceOf(bytes.ptr + n, bytes.len - (size_t)n);
    }
    return true;
}

/* Runs in the child. */
static bool writeDirect(void *arg) {
    unused(arg);
    char header[MARK_BYTES + 16];
    int n = snprintf(header, sizeof(header), "$EOF:%s\r\n", this_round.mark);
    rdbSaveOptions o = rdbSaveDefaults();
    o.checksum &= this_round.checksum;
    o.replication = &this_round.position;
    o.version = this_round.version;
    o.without_keys = this_round.needs.no_keys;
    o.without_functions = this_round.needs.no_functions;
    o.hide_user_data = log_hide_user_data;
    o.progress = childProgress;
    return writeAll(sliceOf(header, (size_t)n)) && rdbSaveTo(CHILD_OUTPUT_FD, &o) &&
           writeAll(sliceOf(this_round.mark, MARK_BYTES));
}

static void directEnded(void *arg, const childEnd *how);

/* Forks a child that writes into a pipe. Returns the reading end, or -1 with errno. */
static int forkDirect(const replicaState *first) {
    int fds[2];
    this_round.needs = first->needs;
    this_round.version = versionFor(first);
    this_round.checksum = !first->skips_checksum;
    rngSecureHex(this_round.mark, MARK_BYTES);
    if (anetPipe(fds, O_CLOEXEC | O_NONBLOCK, O_CLOEXEC) < 0) return -1;
    (void)fcntl(fds[0], F_SETPIPE_SZ, PIPE_BYTES);
    const childJob job = {.purpose = CHILD_RDB,
                          .cpulist = persist_settings.bgsave_cpulist,
                          .work = writeDirect,
                          .ended = directEnded,
                          .has_output = true,
                          .output = fds[1]};
    bool ok = childStart(&job);
    int error = errno;
    close(fds[1]);
    if (!ok) close(fds[0]);
    errno = error;
    return ok ? fds[0] : -1;
}

static void directCompleted(replicaState *r, bool ok);
static void directSent(void);

static void beginDirect(const replicaState *first) {
    int source = forkDirect(first);
    if (source < 0) {
        LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "forks for a full synchronization failed",
                    "Can't save in background: fork: %s", strerror(errno));
        refuseAll(REPLICA_WAIT_START);
        return;
    }
    LOG_LIMITED(LL_NOTICE, LINES_PER_ROUND, "RDB transfers began",
                "Background RDB transfer started by pid %d to pipe through parent process", (int)childPid());
    this_round.kind = ROUND_DIRECT;
    this_round.child_runs = true;
    this_round.child_ok = this_round.all_sent = false;
    replicaState **to = zmalloc(replicasCount() * sizeof(replicaState *));
    size_t n = 0;
    uint64_t offset = replStreamOffset();
    FOR_ALL_IN(REPLICA_WAIT_START, r) {
        if (r != first && !sameSnapshot(r, first)) continue;
        addToRound(r, offset);
        to[n++] = r;
    }
    debugAssert(n > 0 && to[0]->phase == REPLICA_WAIT_END);
    static const rdbTransferEnds ends = {.completed = directCompleted, .over = directSent};
    rdbTransferStart(source, 0, to, n, &ends);
    zfree(to);
}

static void beginFile(const replicaState *first) {
    if (!snapshotStart()) {
        refuseAll(REPLICA_WAIT_START);
        return;
    }
    this_round.kind = ROUND_FILE;
    uint64_t offset = replStreamOffset();
    FOR_ALL_IN(REPLICA_WAIT_START, r)
    if (r == first || sameSnapshot(r, first)) addToRound(r, offset);
}

static void fullSyncBegin(replicaState *first) {
    assertMainThread();
    debugAssert(this_round.kind == ROUND_NONE && childRunning() == CHILD_NONE && first->phase == REPLICA_WAIT_START);
    bool direct = isDirect(first);
    LOG_LIMITED(LL_NOTICE, LINES_PER_ROUND, "RDB files or transfers for replicas began",
                "Starting BGSAVE for SYNC with target: %s using: %s", direct ? "replicas sockets" : "disk",
                first->is_rdb_channel ? "dual-channel" : "normal sync");
    replStreamKeep();
    slotStatesRecord();
    recordPosition();
    if (direct) beginDirect(first);
    else beginFile(first);
    slotStatesForget();
    this_round.position.slot_states = slotStatesRecorded();
    replStreamForgetDb(); /* the stream of a replica that has loaded the RDB must begin with a SELECT */
}

/* ---- A round ends ---- */

/* Closes a connection that was to receive the dataset only, once all its output is written. */
static void closeAfterOutput(replicaState *r) {
    debugAssert(r->phase == REPLICA_SNAPSHOT_SENT);
    replicaDropCursor(r);
    r->c->flags |= CLIENT_CLOSE_AFTER_REPLY;
    sessionDrain(r->c);
}

static void logSucceeded(const replicaState *r) {
    LOG_LIMITED(LL_NOTICE, LINES_PER_ROUND, "synchronizations that succeeded",
                "Synchronization with replica %s succeeded", replicaName(r));
}

/* Call when a replica begins to get the stream: one that is empty gets a first command. */
static void streamBegun(const replicaState *r) {
    logSucceeded(r);
    if (replStreamOffset() == 0) replStreamAppend(sliceStr("*1\r\n$4\r\nping\r\n"));
}

void fullSyncCompleted(replicaState *r, bool awaits_ack) {
    debugAssert(r->phase == REPLICA_WAIT_END || r->phase == REPLICA_SEND_FILE);
    debugAssert(!awaits_ack || r->phase == REPLICA_WAIT_END);
    if (r->snapshot_only || r->is_rdb_channel) { /* the other connection may have taken over the channel's offset */
        r->phase = REPLICA_SNAPSHOT_SENT;
        r->sent_ms = clockMonotonicMs();
        if (!r->is_rdb_channel || !r->has_cursor) closeAfterOutput(r);
        return;
    }
    awaits_ack = awaits_ack && !r->has_loaded;
    replicaOnline(r, awaits_ack);
    if (!awaits_ack) {
        streamBegun(r);
    } else {
        LOG_LIMITED(
            LL_NOTICE, LINES_PER_ROUND, "RDB transfers to a replica succeeded",
            "Streamed RDB transfer with replica %s succeeded (socket). Waiting for REPLCONF ACK from replica to "
            "enable streaming",
            replicaName(r));
    }
}

void fullSyncCursorTaken(replicaState *r) {
    debugAssert(r->is_rdb_channel && r->has_cursor);
    replicaDropCursor(r);
    if (r->phase == REPLICA_SNAPSHOT_SENT) closeAfterOutput(r);
}

void fullSyncAcked(replicaState *r) {
    debugAssert(r->phase != REPLICA_NONE);
    checkReplica(r);
    if (r->phase == REPLICA_LOADS_BESIDE) {
        replicaOnline(r, false);
        logSucceeded(r);
        return;
    }
    if (r->phase == REPLICA_WAIT_END) r->has_loaded = true;
    if (r->phase != REPLICA_ONLINE || !r->awaits_ack) return;
    replicaStartStream(r);
    checkReplica(r);
    streamBegun(r);
}

static void fileCompleted(replicaState *r, bool ok) {
    if (ok) fullSyncCompleted(r, false);
    else clientCloseAsap(r->c);
}

static void sendFile(replicaState *r, const char *file) {
    struct stat st;
    static const rdbTransferEnds ends = {.completed = fileCompleted};
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "snapshots that could not be opened",
                    "Failed to open the RDB file for replica %s: %s", replicaName(r), strerror(errno));
        if (fd >= 0) close(fd);
        clientCloseAsap(r->c);
        return;
    }
    char header[32];
    debugAssert(r->phase == REPLICA_WAIT_END);
    int n = snprintf(header, sizeof(header), "$%llu\r\n", (unsigned long long)st.st_size);
    addReplyProto(r->c, header, (size_t)n);
    r->phase = REPLICA_SEND_FILE;
    rdbTransferStart(fd, (uint64_t)st.st_size, &r, 1, &ends);
}

/* Called when a child that writes a snapshot file has ended, also if it was not forked for replicas. */
static void fileEnded(bool ok, const char *file) {
    if (this_round.kind != ROUND_FILE) return;
    this_round.kind = ROUND_NONE;
    FOR_ALL_IN(REPLICA_WAIT_END, r) {
        if (ok) sendFile(r, file);
        else clientCloseAsap(r->c);
    }
    if (ok) syncFileRelease(file);
    fullSyncCheck();
}

/* Ends a DIRECT round if the child has ended and all that it wrote was sent. */
static void endDirect(void) {
    if (this_round.child_runs || !this_round.all_sent) return;
    this_round.kind = ROUND_NONE;
    FOR_ALL_IN(REPLICA_WAIT_END, r) {
        if (this_round.child_ok) fullSyncCompleted(r, true);
        else clientCloseAsap(r->c);
    }
    fullSyncCheck();
}

static void directCompleted(replicaState *r, bool ok) {
    if (!ok) clientCloseAsap(r->c);
}

static void directSent(void) {
    size_t up = 0;
    debugAssert(this_round.kind == ROUND_DIRECT && !this_round.all_sent);
    FOR_ALL_IN(REPLICA_WAIT_END, r) up++;
    LOG_LIMITED(LL_NOTICE, LINES_PER_ROUND, "RDB transfers were read to their end",
                "Diskless rdb transfer, done reading from pipe, %zu replicas still up.", up);
    this_round.all_sent = true;
    endDirect();
}

static void directEnded(void *arg, const childEnd *how) {
    unused(arg);
    debugAssert(this_round.kind == ROUND_DIRECT && this_round.child_runs);
    this_round.child_runs = false;
    this_round.child_ok = how->ok;
    if (how->ok)
        LOG_LIMITED(LL_NOTICE, LINES_PER_ROUND, "RDB transfers succeeded",
                    "Background RDB transfer terminated with success");
    else if (how->signal)
        LOG_LIMITED(LL_WARNING, LINES_PER_ROUND, "RDB transfers were ended by a signal",
                    "Background transfer terminated by signal %d", how->signal);
    else LOG_LIMITED(LL_WARNING, LINES_PER_ROUND, "RDB transfers failed", "Background transfer error");
    endDirect();
}

/* ---- Replicas that wait ---- */

/* Returns a replica of the present round that still has its cursor, or NULL. */
static const replicaState *replicaWithCursor(void) {
    FOR_ALL_IN(REPLICA_WAIT_END, r)
    if (r->has_cursor) return r;
    return NULL;
}

/* Adds a replica to the present round if it can use that snapshot and the backlog still has the bytes from the fork
 * on. Returns whether it did. */
static bool joinRound(replicaState *r) {
    const replicaState *other = this_round.kind == ROUND_FILE && !isDirect(r) ? replicaWithCursor() : NULL;
    if (!other) return false;
    LOG_LIMITED(LL_NOTICE, LOG_LIMIT_FEW, "replicas that wait for the BGSAVE in progress",
                "Waiting for end of BGSAVE for SYNC");
    addToRound(r, other->at.offset);
    return true;
}

/* Returns whether the replica is to wait until a file has been sent to another one. The network or the disk is the
 * limit then: a second snapshot beside it would make both take longer, and more be kept for both. A slow replica does
 * not hold others up for more than repl-timeout, nor a client that only copies the dataset at all. */
static bool waitsForTransfer(const replicaState *r) {
    if (clockMonotonicMs() - r->waits_since_ms >= (uint64_t)repl_settings.timeout_s * 1000) return false;
    FOR_ALL_IN(REPLICA_SEND_FILE, other)
    if (!other->snapshot_only) return true;
    return false;
}

static bool mayBegin(void) { return this_round.kind == ROUND_NONE && childRunning() == CHILD_NONE; }

void fullSyncRequest(replicaState *r) {
    assertMainThread();
    debugAssert(r->node && r->phase == REPLICA_NONE);
    fullSyncCheck();
    r->phase = REPLICA_WAIT_START;
    r->waits_since_ms = clockMonotonicMs();
    if (!replStreamIsKept()) {
        replStreamNewId();
        replStreamKeep();
        serverLog(LL_NOTICE, "Replication backlog created, my new replication IDs are '%s' and '%s'",
                  replicationIds()->id, replicationIds()->id2);
    }
    if (joinRound(r)) {
        fullSyncCheck();
        return;
    }
    if (this_round.kind == ROUND_DIRECT) {
        LOG_LIMITED(LL_NOTICE, LOG_LIMIT_FEW, "replicas that wait for the next BGSAVE",
                    "Current BGSAVE has socket target. Waiting for next BGSAVE for SYNC");
    } else if (!mayBegin()) {
        LOG_LIMITED(LL_NOTICE, LOG_LIMIT_FEW, "replicas that wait for another background operation",
                    "No BGSAVE in progress, but another BG operation is active. BGSAVE for replication delayed");
    } else if (waitsForTransfer(r)) {
        LOG_LIMITED(
            LL_NOTICE, LOG_LIMIT_FEW, "replicas that wait for an RDB transfer",
            "An RDB file is being sent to another replica. Waiting for its end, or for %lld seconds, before the "
            "next BGSAVE for SYNC",
            repl_settings.timeout_s);
    } else if (isDirect(r) && repl_settings.diskless_sync && repl_settings.diskless_delay_s) {
        LOG_LIMITED(LL_NOTICE, LOG_LIMIT_FEW, "replicas for which the BGSAVE was delayed",
                    "Delay next BGSAVE for diskless SYNC");
    } else {
        fullSyncBegin(r);
    }
    fullSyncCheck();
}

/* Returns whether a child is to be forked now for `first` and the replicas that can share its snapshot. Only
 * repl-diskless-sync delays it: until enough of them wait, or one has waited for repl-diskless-sync-delay. */
static bool isDue(replicaState *first) {
    if (waitsForTransfer(first)) return false;
    if (!isDirect(first) || !repl_settings.diskless_sync) return true;
    uint64_t since_ms = UINT64_MAX;
    long long waiting = 0;
    FOR_ALL_IN(REPLICA_WAIT_START, r) {
        if (!sameSnapshot(r, first)) continue;
        waiting++;
        if (r->waits_since_ms < since_ms) since_ms = r->waits_since_ms;
    }
    if (repl_settings.diskless_max_replicas && waiting >= repl_settings.diskless_max_replicas) return true;
    return clockMonotonicMs() - since_ms >= (uint64_t)repl_settings.diskless_delay_s * 1000;
}

void fullSyncTick(void) {
    assertMainThread();
    fullSyncCheck();
    if (!mayBegin()) return;
    FOR_ALL_IN(REPLICA_WAIT_START, r) {
        if (!isDue(r)) continue;
        fullSyncBegin(r);
        break;
    }
    fullSyncCheck();
}

void fullSyncForget(replicaState *r) {
    assertMainRole();
    debugAssert(!r->node && !r->has_cursor); /* replicas.c has removed it from the list, so nextIn() skips it */
    rdbTransfersForget(r);
    if (r->phase != REPLICA_WAIT_END || nextIn(REPLICA_WAIT_END, NULL)) return;
    /* No replica waits for the child any more. A file is still written to its end if there are save points. In DIRECT
     * the child may have ended while its output is being sent, and the present child may have another purpose. */
    bool direct = this_round.kind == ROUND_DIRECT && this_round.child_runs;
    if (direct || (this_round.kind == ROUND_FILE && !snapshotHasSavePoints())) childKill();
    fullSyncCheck();
}

bool fullSyncIsDirect(void) { return this_round.kind == ROUND_DIRECT; }

/* shutdown.c -- orderly shutdown, by command or signal, and the effect of other signals.
 *
 * The dataset is saved if the settings or the command say so. With FAILOVER a node of a cluster first lets a replica
 * take over. The server keeps running if saving fails, or if the append-only file cannot be written. Otherwise replies
 * that are still due are sent as far as sockets accept them, listeners are closed, the pid file and the Unix socket's
 * path are removed, and threads are joined.
 *
 * Not here    SIGALRM, for which a thread waits (watchdog.c).
 * Owns        the signal that the handler stores and cron reads; the pending shutdown.
 * Threads     main, the handler as well: I/O and background threads block these signals.
 * Tests       tests/server/process.tcl, tests/server/signals.tcl, tests/cluster/shutdown.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shutdown.h"

#include "aof.h"
#include "aof_rewrite.h"
#include "bio.h"
#include "blocking.h"
#include "client_describe.h"
#include "clock.h"
#include "cluster.h"
#include "hand_over.h"
#include "daemon.h"
#include "listen.h"
#include "loading.h"
#include "log.h"
#include "log_limit.h"
#include "net.h"
#include "pause.h"
#include "rdb_load.h"
#include "replication.h"
#include "replicas.h"
#include "reply.h"
#include "script_run.h"
#include "server_settings.h"
#include "script_debug.h"
#include "snapshot.h"
#include "web.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Signals ---- */

static volatile sig_atomic_t signaled; /* the signal that requested a shutdown; 0: none */

static void onShutdown(int signo) {
    if (signaled && signo == SIGINT) {
        serverLogFromSignal(LL_WARNING, "You insist... exiting now.");
        snapshotAbandonFromSignal();
        _exit(1);
    }
    serverLogFromSignal(LL_WARNING, signo == SIGINT ? "Received SIGINT scheduling shutdown..."
                                                    : "Received SIGTERM scheduling shutdown...");
    signaled = signo;
}

void shutdownInstallSignals(void) {
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* writing beyond the file size limit then fails with an error */
    signal(SIGUSR2, SIG_IGN);
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &watched, NULL);
    const struct sigaction act = {.sa_handler = onShutdown};
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
}

/* ---- The end ---- */

/* Writes all acknowledged changes to the append-only file. With FORCE or NOSAVE a failure is ignored. */
static bool logIsWritten(int flags) {
    if (aofWriteAll() || flags & (STOP_FORCE | STOP_NOSAVE)) return true;
    serverLog(LL_WARNING, "Writing the append-only file failed, can't exit.");
    return false;
}

/* Saves the dataset if it must be saved. Returns false if that fails, or if the first append-only file is still being
 * written: it was requested, and without it the dataset may be lost. A child that is writing a snapshot is ended,
 * because its dataset is older. While a dataset is being loaded nothing is saved: a part must not replace the complete
 * file. */
static bool saveBeforeExit(int flags) {
    bool wanted = flags & STOP_SAVE || (!(flags & STOP_NOSAVE) && snapshotAtShutdown());
    if (aofRewriteIsFirst() && !(flags & STOP_FORCE)) {
        serverLog(LL_WARNING, "Writing initial AOF, can't exit.");
        daemonNotifyStatus("Writing initial AOF, can't exit.");
        return false;
    }
    snapshotAbandon();
    aofRewriteAbandon();
    if (!wanted || loadingIsActive()) return true;
    serverLog(LL_NOTICE, "Saving the final RDB snapshot before exiting.");
    daemonNotifyStatus("Saving the final RDB snapshot");
    if (snapshotWriteNow()) return true;
    if (flags & STOP_FORCE) {
        serverLog(LL_WARNING, "Error trying to save the DB. Exiting anyway.");
        return true;
    }
    serverLog(LL_WARNING, "Error trying to save the DB, can't exit.");
    daemonNotifyStatus("Error trying to save the DB, can't exit.");
    return false;
}

/* Ends the process. Returns false if it may not end now. */
static bool shutdownFinish(int flags) {
    if (!logIsWritten(flags) || !saveBeforeExit(flags)) return false;
    daemonNotifyStopping();
    clusterEnd();
    listenClose();
    webStop();
    scriptDebugEndChildren();
    rdbLoadAbort();
    aofStop();
    bioDrain(BIO_CLOSE_FILE); /* deletes temporary files of a child that was ended */
    daemonRemovePidFile();
    netShutdown();
    logLimitsReport(clockMonotonicMs() + LOG_LIMIT_MS);
    serverLog(LL_WARNING, "Valkey is now ready to exit, bye bye...");
    exit(0);
}

/* ---- Waiting for replicas ------- */

/* A pending shutdown: writes are paused until replicas have all earlier writes, with FAILOVER also until one has taken
 * over, or the timeout has passed. */
static struct {
    bool waits;
    bool hands_over; /* a replica has been asked to take over */
    int flags;
    uint64_t until_ms; /* monotonic */
    list *waiting;     /* owns: the clients that sent SHUTDOWN, borrowed */
} pending;

static void replyFailed(client *c, void *wait) {
    unused(wait);
    addReplyError(c, "Errors trying to SHUTDOWN. Check logs.");
}

static void removeWaiting(client *c, void *wait) {
    unused(wait);
    listNode *n = listSearchValue(pending.waiting, c);
    if (n) listDelNode(pending.waiting, n);
}

static void addWaiting(client *c) {
    static const blockOwner owner = {.reply = replyFailed, .forget = removeWaiting};
    if (!pending.waiting) pending.waiting = listCreate();
    listAddNodeTail(pending.waiting, c);
    blockOnOwner(c, &owner, c, 0);
}

/* Cancels the pending shutdown. */
static void stopWaiting(void) {
    pending.waits = pending.hands_over = false;
    unpauseClients(PAUSE_DURING_SHUTDOWN);
    while (pending.waiting && listLength(pending.waiting)) blockingEnd(listNodeValue(listFirst(pending.waiting)), NULL);
    signaled = 0;
}

static void beginWaiting(int flags) {
    pending.waits = true;
    pending.flags = flags;
    pending.until_ms = clockMonotonicMs() + (uint64_t)server_settings.shutdown_timeout_s * 1000;
    pauseClients(PAUSE_DURING_SHUTDOWN, PAUSE_WRITES, PAUSE_WITHOUT_END);
}

static bool mayWait(int flags) { return !(flags & STOP_NOW) && server_settings.shutdown_timeout_s; }

/* Shuts down, or with FAILOVER begins to wait for the successor. Without a wait, the successor may still win: the votes
 * of others are enough. Returns false if the process does not end now. */
static bool endOrHandOver(int flags) {
    replicasLogLag();
    if (flags & STOP_FAILOVER && clusterHandOver()) {
        replFeed();
        if (mayWait(flags)) {
            if (!pending.waits) beginWaiting(flags);
            pending.hands_over = true;
            return false;
        }
    }
    return shutdownFinish(flags);
}

/* Shuts down, or begins to wait for replicas. Returns false if the process does not end now. `flags` are STOP_ of
 * server_settings.h; `requester` is NULL for a signal, which has been logged already. */
static bool shutDown(int flags, const client *requester) {
    sds client_text = requester ? clientCatIdentity(sdsEmpty(), requester, log_hide_user_data) : NULL;
    if (requester) serverLog(LL_NOTICE, "User requested shutdown... (SHUTDOWN was sent by client %s)", client_text);
    else serverLog(LL_NOTICE, "User requested shutdown...");
    sdsFree(client_text);
    if (!mayWait(flags) || replicasHaveAll()) return endOrHandOver(flags);
    serverLog(LL_NOTICE, "Waiting for replicas before shutting down.");
    beginWaiting(flags);
    replRequestAcks();
    return false;
}

/* Logs how the failover has ended. Returns false while it runs. */
static bool handOverHasEnded(bool is_late) {
    if (clusterIsHandedOver()) serverLog(LL_NOTICE, "A replica has taken over.");
    else if (is_late) serverLog(LL_WARNING, "No replica has taken over within shutdown-timeout.");
    else return false;
    return true;
}

static void checkPending(void) {
    bool is_late = clockMonotonicMs() >= pending.until_ms;
    if (pending.hands_over) {
        if (!handOverHasEnded(is_late)) return;
        shutdownFinish(pending.flags);
    } else {
        if (!is_late && !replicasHaveAll()) return;
        endOrHandOver(pending.flags);
        if (pending.hands_over) return;
    }
    serverLog(LL_WARNING, "Errors trying to shut down the server. Check the logs for more information.");
    stopWaiting();
}

int64_t shutdownInMs(void) {
    if (!pending.waits) return -1;
    uint64_t now_ms = clockMonotonicMs();
    return now_ms < pending.until_ms ? (int64_t)(pending.until_ms - now_ms) : 0;
}

void shutdownCron(void) {
    if (pending.waits) {
        checkPending();
        return;
    }
    if (!signaled) return;
    if (shutDown(signaled == SIGINT ? server_settings.shutdown_on_sigint : server_settings.shutdown_on_sigterm, NULL))
        return;
    if (pending.waits) return;
    serverLog(LL_WARNING, "Errors trying to shut down the server. Check the logs for more information.");
    signaled = 0;
}

/* Parses the arguments of SHUTDOWN to flags. Returns false if they exclude each other or one is unknown. */
static bool parseWords(client *c, int *flags, bool *abort) {
    for (uint32_t i = 1; i < c->argc; i++) {
        slice word = c->argv[i];
        if (sliceIs(word, "nosave")) *flags |= STOP_NOSAVE;
        else if (sliceIs(word, "save")) *flags |= STOP_SAVE;
        else if (sliceIs(word, "now")) *flags |= STOP_NOW;
        else if (sliceIs(word, "force")) *flags |= STOP_FORCE;
        else if (sliceIs(word, "safe")) *flags |= STOP_SAFE;
        else if (sliceIs(word, "failover")) *flags |= STOP_FAILOVER;
        else if (sliceIs(word, "abort")) *abort = true;
        else return false;
    }
    if (*abort && *flags) return false;
    return !(*flags & STOP_NOSAVE && *flags & STOP_SAVE);
}

void shutdownCommand(client *c) {
    int flags = 0;
    bool abort = false;
    if (!parseWords(c, &flags, &abort)) {
        addReplySyntaxError(c);
        return;
    }
    if (abort) {
        if (pending.hands_over) {
            addReplyError(c, "A replica is taking over already, and the shutdown cannot be aborted any more.");
        } else if (pending.waits) {
            serverLog(LL_NOTICE, "Shutdown manually aborted.");
            stopWaiting();
            addReplyOk(c);
        } else {
            addReplyError(c, "No shutdown in progress.");
        }
        return;
    }
    if (scriptBusyError() && !(flags & STOP_NOSAVE)) { /* the effects of a half-run script must not be saved */
        addReplyError(c, scriptBusyError());
        return;
    }
    if (flags & STOP_FAILOVER && !clusterIsEnabled()) {
        addReplyError(c, "SHUTDOWN FAILOVER is only supported in cluster mode.");
        return;
    }
    if (!pending.waits && shutDown(flags, c)) return;
    if (pending.waits && !(flags & STOP_NOW) && !(c->flags & CLIENT_DENY_BLOCKING)) addWaiting(c);
    else if (!pending.waits || !shutdownFinish(flags)) addReplyError(c, "Errors trying to SHUTDOWN. Check logs.");
}

/* shutdown.c -- the orderly end of the process.
 *
 * What clients are owed is sent as far as their sockets take it, listeners are closed, the pid file and the
 * Unix socket's path removed, threads joined.
 *
 * Threads     main.
 * Tests       tests/server/process.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shutdown.h"

#include "daemon.h"
#include "log.h"
#include "net.h"
#include "reply.h"
#include "server_settings.h"
#include "signals.h"

#include <signal.h>
#include <stdlib.h>

bool serverShutdown(int flags) {
    unused(flags);
    serverLog(LL_NOTICE, "User requested shutdown...");
    daemonNotifyStopping();
    netStopListening();
    daemonRemovePidFile();
    netShutdown();
    serverLog(LL_WARNING, "Valkey is now ready to exit, bye bye...");
    exit(0);
}

void shutdownCron(void) {
    int signo = signalsShutdownAsked();
    if (!signo) return;
    if (serverShutdown(signo == SIGINT ? server_settings.shutdown_on_sigint : server_settings.shutdown_on_sigterm))
        return;
    serverLog(LL_WARNING, "Errors trying to shut down the server. Check the logs for more information.");
    signalsShutdownAnswered();
}

/* Words of SHUTDOWN as flags; false when they do not go together. */
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
    if (abort) { /* a shutdown is never under way between two commands: there are no replicas to wait for */
        addReplyError(c, "No shutdown in progress.");
        return;
    }
    if (!serverShutdown(flags)) addReplyError(c, "Errors trying to SHUTDOWN. Check logs.");
}

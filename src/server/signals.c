/* signals.c -- the effect of SIGTERM, SIGINT and other signals on the server.
 *
 * Owns        one flag, which the handler sets and cron reads.
 * Not here    SIGALRM, for which a thread waits (watchdog.c).
 * Threads     handlers run on main: I/O and background threads block these signals.
 * Tests       tests/server/process.tcl, tests/server/signals.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shutdown.h"

#include "log.h"
#include "snapshot.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t shutdown_asked;

static void onShutdown(int signo) {
    if (shutdown_asked && signo == SIGINT) {
        serverLogFromSignal(LL_WARNING, "You insist... exiting now.");
        snapshotAbandonFromSignal();
        _exit(1);
    }
    serverLogFromSignal(LL_WARNING, signo == SIGINT ? "Received SIGINT scheduling shutdown..."
                                                    : "Received SIGTERM scheduling shutdown...");
    shutdown_asked = signo;
}

void signalsInstall(void) {
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* writing beyond the file size limit then fails with an error */
    signal(SIGUSR2, SIG_IGN);
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &watched, NULL);
    struct sigaction act;
    memset(&act, 0, sizeof(act));
    sigemptyset(&act.sa_mask);
    act.sa_handler = onShutdown;
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
}

int signalsShutdownAsked(void) { return shutdown_asked; }

void signalsShutdownAnswered(void) { shutdown_asked = 0; }

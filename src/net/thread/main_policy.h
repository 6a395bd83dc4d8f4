/* main_policy.h -- when it pays to wake whom, to wait for whom, and to keep main on a thread of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_MAIN_POLICY_H
#define NET_MAIN_POLICY_H

#include "io_owner.h"
#include "clock.h"

/* --- an I/O thread, about itself ------------------------------------------------------------------ */

/* What a thread remembers between its looks at main. */
typedef struct mainWatch {
    unsigned reads_seen, commands_seen; /* of the holder's counters, at the last look */
    unsigned iterations;                /* that found something */
    monotime told_at;                   /* another thread was told of commands then; 0: no answer is due */
} mainWatch;

/* Behind a socket: enough has come that main should get it now, before the rest of the sockets. Counts as a look. */
bool mainWatchIsDue(mainWatch *w, const ioOwner *h);
/* What the thread has handed over is with another thread. */
void mainWatchAdd(mainWatch *w, const ioOwner *h);
/* A turn has found something to do (`took`: messages), so the next one may as well: look at the sockets once more
 * before saying that the thread sleeps. */
bool mainWatchLooksAgain(mainWatch *w, const ioOwner *h, bool took);
/* Such a turn is one in which what was written is reported. */
bool mainWatchReports(const mainWatch *w);
/* An answer of another thread is due within microseconds: go on looking at the sockets. */
bool mainWatchSpins(mainWatch *w);
/* The turn is over: the holder's counters start again. */
void mainWatchTurned(mainWatch *w, ioOwner *h);

/* --- who executes ------------------------------------------------------------------------------------ */

/* A thread that has these commands should wake main's own thread rather than execute them. Any thread. */
bool mainPolicyWakes(const ioOwner *h);
/* The load, as main sees it after a turn. */
typedef struct mainLoad {
    bool threads_full;          /* those that may take part all do, and have no time left */
    uint64_t busy_ns;           /* time that main has worked since boot, on any thread */
    long long commands;         /* executed since boot */
    long long (*idle_ms)(void); /* of all processors since some time, or -1: clockIdleMs(), but in tests */
} mainLoad;

/* Main, once a turn: look at the load, at most every few milliseconds. */
void mainPolicyCheck(monotime now, const mainLoad *load);
/* Whether main is kept on its own thread. Main. */
bool mainPolicyIsDedicated(void);
/* Whether main's own thread may lend the role when it waits. Main. */
bool mainPolicyOffersRole(void);
/* A turn of main ends after each batch (tests: the role moves at every chance). Main. */
bool mainPolicyIsRestless(void);

#endif

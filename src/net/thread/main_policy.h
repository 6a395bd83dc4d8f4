/* main_policy.h -- when to wake or wait for another thread, and when main gets a thread of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_MAIN_POLICY_H
#define NET_MAIN_POLICY_H

#include "io_owner.h"
#include "clock.h"

/* --- an I/O thread, about itself ------------------------------------------------------------------ */

/* State that an I/O thread keeps between two checks of main. */
typedef struct mainWatch {
    unsigned reads_seen, commands_seen; /* values of ioOwner's counters at the last check */
    unsigned iterations;                /* loop iterations that found work */
    monotime notified_at;               /* when another thread was notified of commands; 0: no reply is due */
} mainWatch;

/* Call after each socket. Returns whether enough commands have been read to hand them to main now, before the other
 * sockets are read. If so, it counts as a check. */
bool mainWatchIsDue(mainWatch *w, const ioOwner *h);
/* Records that the commands handed over are with another thread now. */
void mainWatchAdd(mainWatch *w, const ioOwner *h);
/* Returns whether this loop iteration found work, sockets or messages, so that the next one probably will: poll the
 * sockets once more before going to sleep. */
bool mainWatchPollsAgain(mainWatch *w, const ioOwner *h, bool got_messages);
/* Returns whether such an iteration also reports what was written. */
bool mainWatchReports(const mainWatch *w);
/* Returns whether a reply from another thread is due within microseconds: continue to poll the sockets. */
bool mainWatchSpins(mainWatch *w);
/* Resets the counters at the end of a loop iteration. */
void mainWatchReset(mainWatch *w, ioOwner *h);

/* --- who executes ------------------------------------------------------------------------------------ */

/* Returns whether a thread should wake main's own thread rather than execute the commands that it has read. For any
 * thread. */
bool mainPolicyWakes(const ioOwner *h);
/* The load as main sees it after an iteration. */
typedef struct mainLoad {
    bool threads_full;          /* all threads that may own connections do, and none has time left */
    uint64_t busy_ns;           /* time that main has worked since startup, on any thread */
    long long commands;         /* executed since startup */
    long long (*idle_ms)(void); /* idle time of all processors, or -1: clockIdleMs() except in tests */
} mainLoad;

/* Checks the load, at most every few milliseconds. Call after each iteration, on main. */
void mainPolicyCheck(monotime now, const mainLoad *load);
/* Returns whether main stays on its own thread. Runs on main. */
bool mainPolicyIsDedicated(void);
/* Returns whether main's own thread may release the role when it waits. Runs on main. */
bool mainPolicyOffersRole(void);
/* Returns whether an iteration of main ends after each batch (main-role move, for tests). Runs on main. */
bool mainPolicyMovesRole(void);

#endif

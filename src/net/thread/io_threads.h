/* io_threads.h -- the threads that hold streams, and the way of messages between them and main.
 *
 * Thread 0 is main's own. Every other thread has two rings: main -> thread and thread -> main. Between the holder of
 * main's role and itself a message is a plain call of its handler, so that one code path serves any number of threads.
 *
 * "Main" below is the holder of the role (main_role.h); "main's own thread" is thread 0.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_IO_THREADS_H
#define NET_IO_THREADS_H

#include "io_owner.h"
#include "messages.h"

#define IO_THREADS_MAX 256 /* with main; a thread's number fits robj's owner field */
/* The number of the thread that greets: it makes TLS handshakes and holds a stream no longer than that. It reads
 * nothing and never has main's role. */
#define IO_THREAD_GREETER IO_THREADS_MAX
#define IO_THREADS_ALL (IO_THREADS_MAX + 1) /* numbers are below this */

typedef struct ioThread ioThread;

/* How a turn of main on a borrowed role ended. */
typedef enum {
    ITERATION_DONE,      /* nothing is left but what comes meanwhile */
    ITERATION_LEFT_WORK, /* whoever comes next goes on, this thread too */
    ITERATION_FOR_MAIN   /* what follows is for main's own thread */
} iterationEnd;

/* What messages do, and what an I/O thread calls when its turn has places for it. Boot only. */
typedef struct ioThreadHooks {
    void (*to_session)(const ioMessage *m);        /* main */
    void (*to_io)(ioOwner *h, const ioMessage *m); /* the holder; not IO_MSG_FREE */
    void (*delivered)(ioOwner *h);                 /* the holder: behind a run of messages to it */
    void (*report)(ioOwner *h);                    /* the holder: post what was written */
    iterationEnd (*iteration)(
        void); /* main, on a thread that has taken the role; calls ioThreadsPoll() and ioThreadsFlush() */
} ioThreadHooks;

/* Boot: make thread 0 around the server's loop, which has main's role. */
void ioThreadsInit(aeEventLoop *main_loop, const ioThreadHooks *hooks);
/* Have `n` threads, main's own included. The rest retires: its streams are to be moved (rebalance.c), and then
 * ioThreadsReap() ends it. Main's own thread. */
void ioThreadsSetCount(int n);
/* Have the thread that greets, or let it retire. Main's own thread. */
void ioThreadsSetHandshaker(bool on);
int ioThreadsCount(void);           /* without the one that greets */
ioThread *ioThreadGet(unsigned id); /* NULL when it does not run */
ioThread *ioThreadMain(void);       /* main's own */
ioThread *ioThreadActing(void);     /* the one that has main's role; main */
unsigned ioThreadId(const ioThread *t);
ioOwner *ioThreadOwner(ioThread *t); /* its part that streams know */
bool ioThreadIsRetiring(const ioThread *t);
/* End the retiring threads for which `idle` says that they hold no stream. Main's own thread, from cron. */
void ioThreadsReap(bool (*idle)(const ioThread *t));
/* Have a thread that has read nothing for a second give back what the allocator keeps for it, then and whenever dead
 * objects are sent to it. Main's own thread, from cron. */
void ioThreadsTick(monotime now);
/* Have each thread let go of what it has counted for a session of HOTKEYS that is over; main's own thread does with the
 * next tick. Main. */
void ioThreadsTidyHotKeys(void);
/* Stop and join all threads (shutdown). Main's own thread. */
void ioThreadsShutdown(void);

/* Post from main to a thread. Visible to it after ioThreadsFlush(). */
void ioThreadPost(ioThread *t, const ioMessage *m);
/* Post from the thread of `h` (the caller) to main. */
void ioThreadPostToMain(ioOwner *h, const ioMessage *m);

/* Main: publish what was posted and wake those who sleep. What is dead is posted first if it has waited long enough. */
void ioThreadsFlush(void);
/* Main: deliver messages that have come, at most `max` of each thread. Returns how many. */
size_t ioThreadsPoll(size_t max);
/* Any thread: let main make a turn soon, also if there are no messages for it. */
void ioThreadsWakeMain(void);
/* Main's own thread, last before it waits: lay the role down, lend it if `lend`. False when work has come meanwhile: do
 * not wait then. */
bool ioThreadsMainSleeps(bool offer);
/* Main's own thread, after the wait: have the role again. */
void ioThreadsMainAwake(void);

/* Main: take a dead object of thread o->owner to be freed there (store's free sink), with others, a few milliseconds
 * later if need be. False: free it here. */
bool ioThreadsFreeElsewhere(robj *o);

/* Memory of requests that have not run yet, and of dead objects on the way to their threads. It is bounded and goes by
 * itself, so it does not count for eviction: a pipeline that arrives at once must not cost keys before its first
 * command has run. Main. */
size_t ioThreadsTransientMemory(void);

/* Sum over all threads, those that have ended included. Main. */
typedef struct ioTotals {
    uint64_t reads, writes, freed, polls; /* of I/O threads, main excluded */
    uint64_t caches;                      /* of the same: how often one that is idle has given back its cache */
    uint64_t net_input, net_output;
    uint64_t main_reads, main_writes;
    uint64_t dead_batches, wakes; /* to threads: messages with dead objects, ends of their sleep; since the start */
} ioTotals;
void ioThreadsTotals(ioTotals *out);
uint64_t ioThreadActiveNs(const ioThread *t);
/* Of that: as main, on a borrowed role. */
uint64_t ioThreadActingNs(const ioThread *t);

#endif

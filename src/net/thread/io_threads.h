/* io_threads.h -- the threads that own connections, and the messages between them and main.
 *
 * Thread 0 is main's own. Every other thread has two rings: main -> thread and thread -> main. If the thread that has
 * the main role sends a message to itself, the message is a plain call of its handler, so that one code path serves any
 * number of threads.
 *
 * "Main" below is the thread that has the main role (main_role.h); "main's own thread" is thread 0. An I/O thread may
 * acquire the role for one iteration of runIteration() in net.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_IO_THREADS_H
#define NET_IO_THREADS_H

#include "io_owner.h"
#include "messages.h"

#define IO_THREADS_MAX 256 /* main included; a thread's number fits robj's owner field */
/* The number of the handshake thread: it owns a connection only during its TLS handshake. It reads no requests and
 * never has the main role. */
#define IO_THREAD_HANDSHAKER IO_THREADS_MAX
#define IO_THREADS_ALL (IO_THREADS_MAX + 1) /* all thread numbers are below this */

typedef struct ioThread ioThread;

/* How a delegated iteration ended: an iteration of main on an I/O thread. */
typedef enum {
    ITERATION_DONE,      /* no work is left but what arrives meanwhile */
    ITERATION_LEFT_WORK, /* the next thread that acquires the role continues, perhaps this one */
    ITERATION_FOR_MAIN   /* the next work has to run on main's own thread */
} iterationEnd;

/* Handlers of messages, and functions that an I/O thread calls at fixed points of its loop iteration. Set at
 * startup. */
typedef struct ioThreadHooks {
    void (*to_session)(const ioMessage *m);        /* runs on main */
    void (*to_io)(ioOwner *h, const ioMessage *m); /* on the owner thread; gets all messages but IO_MSG_FREE */
    void (*delivered)(ioOwner *h);                 /* on the owner thread, after a run of messages to it */
    void (*report)(ioOwner *h);                    /* on the owner thread: post reports of what was written */
    iterationEnd (*iteration)(
        void); /* an iteration of main on an I/O thread that has the role; calls ioThreadsPoll(), ioThreadsFlush() */
} ioThreadHooks;

/* Makes thread 0 around the server's loop and gives it the main role. Call at startup. */
void ioThreadsInit(aeEventLoop *main_loop, const ioThreadHooks *hooks);
/* Starts or retires threads so that `n` remain, main's own included. A retiring thread ends in ioThreadsReap() after
 * its connections have moved (rebalance.c). For main's own thread. */
void ioThreadsSetCount(int n);
/* Starts or retires the handshake thread. For main's own thread. */
void ioThreadsSetHandshaker(bool on);
int ioThreadsCount(void);           /* without the handshake thread */
ioThread *ioThreadGet(unsigned id); /* NULL if no such thread runs */
ioThread *ioThreadMain(void);       /* main's own thread */
ioThread *ioThreadActing(void);     /* the thread that has the main role; call on main */
unsigned ioThreadId(const ioThread *t);
ioOwner *ioThreadOwner(ioThread *t);        /* the part that its connections may use */
bool ioThreadIsRetiring(const ioThread *t); /* ends as soon as it owns no connection */
/* Ends the retiring threads that own no connection, as `idle` reports. For main's own thread, from cron. */
void ioThreadsReap(bool (*idle)(const ioThread *t));
/* Makes threads that have read nothing for a second return the allocator's cached blocks, once and then with each batch
 * of dead objects. For main's own thread, from cron. */
void ioThreadsTick(monotime now);
/* Makes each I/O thread free its counts of a finished HOTKEYS session; main's own thread does so in the next
 * ioThreadsTick(). Runs on main. */
void ioThreadsTidyHotKeys(void);
/* Stops and joins all threads at shutdown. For main's own thread. */
void ioThreadsShutdown(void);

/* Posts a message from main to a thread, which sees it after ioThreadsFlush(). */
void ioThreadPost(ioThread *t, const ioMessage *m);
/* Posts a message from the thread of `h`, the caller, to main. */
void ioThreadPostToMain(ioOwner *h, const ioMessage *m);

/* Publishes all posted messages and wakes the sleeping threads that got some; before that, posts batches of dead
 * objects that are old enough. Runs on main. */
void ioThreadsFlush(void);
/* Delivers the messages that have arrived, at most `max` of each thread. Returns how many. Runs on main. */
size_t ioThreadsPoll(size_t max);
/* Makes main run an iteration soon, even without messages. For any thread. */
void ioThreadsWakeMain(void);
/* Call last before main's own thread waits: releases the role if `offer`, else keeps it while asleep. Returns false if
 * work has arrived meanwhile: then do not wait. For main's own thread. */
bool ioThreadsMainSleeps(bool offer);
/* Acquires the role again after the wait. For main's own thread. */
void ioThreadsMainAwake(void);

/* Queues a dead object to be freed by thread o->owner, in a batch that may wait a few milliseconds (store's free sink).
 * Returns false if the caller is to free it. Runs on main. */
bool ioThreadsFreeElsewhere(robj *o);

/* Returns the bytes of requests that have not run yet and of dead objects in transit to their threads. They are bounded
 * and are freed soon, so they do not count for eviction: a large pipeline must not evict keys before its first command
 * has run. Runs on main. */
size_t ioThreadsTransientMemory(void);
/* Returns the rest of the memory of large blocks of requests that have not run yet (requestBlockCount()). Runs on
 * main. */
size_t ioThreadsLargeRequests(void);

/* Sums over all threads, ended ones included. Call on main. */
typedef struct ioTotals {
    uint64_t reads, writes, freed, polls; /* of I/O threads, without main's own */
    uint64_t caches;                      /* of the same: how often an idle one returned its allocator cache */
    uint64_t net_input, net_output;
    uint64_t main_reads, main_writes;
    uint64_t dead_batches, wakes; /* since startup: messages with dead objects; wakeups of I/O threads */
} ioTotals;
void ioThreadsTotals(ioTotals *out);
/* Returns the time that an I/O thread has worked since it started. */
uint64_t ioThreadActiveNs(const ioThread *t);
/* Returns the part of that time in which it had the main role. */
uint64_t ioThreadActingNs(const ioThread *t);

#endif

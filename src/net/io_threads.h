/* io_threads.h -- the threads that hold streams, and the messages between them and main.
 *
 * Thread 0 is main. Every other thread has two rings: main -> thread and thread -> main. Posting to
 * thread 0, or from it to main, is a plain call of the handler, so that one code path serves any number of threads.
 *
 * A message hands over everything it points to. Messages about one stream arrive in the order of posting.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_IO_THREADS_H
#define NET_IO_THREADS_H

#include "ae.h"
#include "clock.h"
#include "request_block.h"
#include "spsc_queue.h"
#include "stream.h"

#define IO_THREADS_MAX 256 /* with main; a thread's number fits robj's owner field */

typedef enum {
    /* to main */
    MSG_REQUESTS, /* block: parsed commands; reply, written: as with MSG_WRITTEN, what is unreported of the stream */
    MSG_WRITTEN,  /* reply: written blocks; bytes: written since the last such message */
    MSG_END,      /* nothing more will come from this stream: end of file, error, or drained; number = endReason */
    MSG_LEFT,     /* the stream is attached nowhere: main may hand it to its next holder */
    MSG_GONE,     /* the connection is closed; reply: unsent and unreported output */
    /* to a holder */
    MSG_JOIN,   /* take this stream */
    MSG_LEAVE,  /* let it go: answer MSG_LEFT */
    MSG_OUTPUT, /* reply: to be written; block: executed, to be reused; number: STREAM_ flags */
    MSG_DRAIN,  /* stop reading, write all, then MSG_END */
    MSG_CLOSE,  /* close now: answer MSG_GONE */
    MSG_FREE    /* free dead objects that this thread allocated: dead */
} messageType;

typedef enum { END_EOF, END_ERROR, END_DRAINED, END_QUERY_LIMIT, END_CROSS_PROTOCOL } endReason;

#define STREAM_AUTHENTICATED 1u /* MSG_OUTPUT, MSG_JOIN: the client is authenticated */

/* Objects on the way back to the thread whose arena they came from. */
#define DEAD_BATCH 62
typedef struct deadBatch {
    size_t n;
    robj *objects[DEAD_BATCH];
} deadBatch;

typedef struct ioMessage {
    uint16_t type;
    uint16_t number;
    uint32_t written; /* MSG_REQUESTS: bytes */
    clientStream *stream;
    union {
        requestBlock *block;
        size_t bytes;
    };
    union {
        replyBlock *reply;
        deadBatch *dead;
    };
} ioMessage;
static_assert(sizeof(ioMessage) == 32, "two messages to a line");

/* One direction: a ring, and a place for what does not fit. */
typedef struct messageChannel {
    spscQueue ring;
    ioMessage *overflow; /* producer: owns */
    size_t overflow_len, overflow_cap, overflow_first;
} messageChannel;

/* Counters that one thread writes and main reads (relaxed; each is only ever shown). */
typedef struct ioThreadStats {
    _Atomic uint64_t reads, writes, freed, freed_bytes, active_ns, net_input, net_output, polls;
} ioThreadStats;

typedef struct ioThread {
    unsigned id; /* const */
    /* holder */
    aeEventLoop *loop; /* owns; main's is lent by the server */
    requestPool pool;
    requestArg *args; /* owns: scratch of the parser */
    size_t args_cap;
    clientStream *unreported; /* streams with written blocks to report */
    monotime busy_since;
    unsigned reads_unpublished, commands_unpublished; /* since the last look at the rings */
    unsigned reads_this_turn, commands_unannounced;   /* the latter since main was last woken */
    monotime owed_since;                              /* when wake_owed was set */
    unsigned busy_turns;
    monotime told_at; /* main was told of commands then and has not answered yet; 0: nothing is due */
    bool urgent;      /* something was posted that main should not sleep through */
    bool wake_owed;   /* the same was published, and main has yet to be woken if it sleeps */

    messageChannel to_main;
    messageChannel from_main;
    aeDoorbell bell; /* ends the thread's wait */
    alignas(
        CACHE_LINE) _Atomic int sleeping; /* stored by the sleeper, seq_cst; read by the producer after a full fence */
    _Atomic int stop;
    alignas(CACHE_LINE) ioThreadStats stats;

    /* main */
    alignas(CACHE_LINE) clientStream *streams; /* list of those whose home this is */
    size_t nstreams;
    deadBatch *dead;         /* owns: to be sent by MSG_FREE; NULL when there is none */
    uint64_t dead_bytes;     /* of all objects ever put there; stats.freed_bytes follows */
    uint64_t active_ns_seen; /* rebalance.c */
    bool retiring;           /* holds no new stream; ends when it holds none */
    bool published;          /* ioThreadsFlush() has made messages visible and has yet to look whether it sleeps */
    unsigned long pthread_id;
} ioThread;

/* Boot: make thread 0 around the server's loop; `deliver` handles messages to main. */
void ioThreadsInit(aeEventLoop *main_loop, void (*deliver)(const ioMessage *m));
/* Have `n` threads, main included. Streams of threads that go are moved first; the threads end when they are empty.
 * Main. */
void ioThreadsSetCount(int n);
int ioThreadsCount(void);
ioThread *ioThreadGet(unsigned id); /* NULL when it does not run */
ioThread *ioThreadMain(void);
/* End the retiring threads that hold nothing any more. Main, from cron. */
void ioThreadsReap(void);
/* A holder has read one stream and handed over `commands`: now and then, long before the turn ends, publish and take
 * messages, so that main and the thread work at the same time. The last thing a read handler does: the stream may be
 * closed by it. */
void ioThreadBreathe(ioThread *t);
/* The holder's turn ends: tell main what was written. */
void ioThreadReport(ioThread *t);
/* Stop and join all threads (shutdown). */
void ioThreadsShutdown(void);

/* Post from main to a thread. Visible to it after ioThreadsFlush(). */
void ioThreadPost(ioThread *t, const ioMessage *m);
/* Post from thread `t` (the caller) to main. */
void ioThreadPostToMain(ioThread *t, const ioMessage *m);

/* Main: publish what was posted and wake those who sleep. */
void ioThreadsFlush(void);
/* Main: deliver messages that have come, at most `max` of each thread. Returns how many. */
size_t ioThreadsPoll(size_t max);
/* Main, before it waits: say that it sleeps; false when messages have come meanwhile (do not wait then). */
bool ioThreadsMainSleeps(void);
void ioThreadsMainAwake(void);
/* Main: the doorbell that ends main's wait. */
int ioThreadsMainDoorbell(void);

/* Main: take a dead object of thread o->owner to be freed there (store's free sink). False: free it here. */
bool ioThreadsFreeElsewhere(robj *o);

/* Memory of requests that have not run yet, and of dead objects on the way to their threads. It is bounded and goes by
 * itself, so it does not count for eviction: a pipeline that arrives at once must not cost keys before its first
 * command has run. */
size_t ioThreadsTransientMemory(void);

/* Sum over all threads. */
typedef struct ioTotals {
    uint64_t reads, writes, freed, polls; /* of I/O threads, main excluded */
    uint64_t net_input, net_output;
    uint64_t main_reads, main_writes;
} ioTotals;
void ioThreadsTotals(ioTotals *out);
uint64_t ioThreadActiveNs(const ioThread *t);

static inline void ioStatAdd(_Atomic uint64_t *counter, uint64_t n) {
    /* One writer: a load and a store are enough. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

#endif

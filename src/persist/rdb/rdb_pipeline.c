/* rdb_pipeline.c -- the threads that read a snapshot.
 *
 * Batches are in a ring, by the number of their piece. Each goes through the states
 *
 *   FREE --scanner--> SCANNED --a decoder--> DECODING --> DECODED --the taker--> FREE
 *
 * and changes its owner at each arrow, under the lock. The owner needs no lock to use it. A piece is some hundred
 * microseconds of work, so the cost of a lock and a wakeup for each is negligible.
 *
 * Entries are made for main (object_main_owner), so decoders allocate from its arena: memory that main frees later
 * returns to the arena that main allocates from.
 *
 * Not here    what is done with the batches (rdb_load.c).
 * Owns        threads, batches, the scanner.
 * Threads     the taker, which has the main role; the scanner's; the decoders'.
 * Invariants  1. From `taken` on (below `scanned`) no batch is FREE; decoders have taken those below `decoding`. So
 *                taken <= decoding <= scanned <= taken + size.
 *             2. While IN_FLIGHT_MAX bytes or more are in flight the scanner waits, unless all batches were taken. So
 *                no more than that and one value are in memory twice.
 *             3. The threads block all signals but those of faults, and have ended when rdbPipelineStop() returns.
 * Tests       tests/unit/persist/rdb/rdb_load_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_pipeline.h"

#include "lru.h"
#include "panic.h"
#include "thread.h"
#include "zmalloc.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define DECODERS_MAX 16
#define BATCHES_PER_DECODER 4
#define BATCHES_MORE 4
#define IN_FLIGHT_MAX ((size_t)64 << 20)

typedef enum { BATCH_FREE, BATCH_SCANNED, BATCH_DECODING, BATCH_DECODED } batchState;

struct rdbPipeline {
    /* const while threads run */
    rdbDecodeOptions options;
    rdbScanner *scanner;     /* owns; used by its thread until that has ended */
    rdbBatch *batches;       /* owns */
    uint64_t size;           /* batches in the ring */
    const rdbSource *source; /* borrowed, or NULL */
    unsigned arena;
    /* under the lock */
    pthread_mutex_t lock; /* no other lock is taken under it */
    pthread_cond_t freed, scanned_more, decoded_more;
    uint8_t *states; /* owns: batchState of each */
    uint64_t scanned, decoding, taken;
    size_t in_flight; /* bytes of pieces that are not FREE */
    uint32_t fresh;
    bool scan_ended, stop;
    /* the taker */
    pthread_t scan_thread, decode_threads[DECODERS_MAX];
    unsigned decoders;
    bool scanning;
};

/* Asserts invariant 1. Call under the lock, whenever a batch has changed its owner. */
static void pipelineCheck(const rdbPipeline *p) {
    debugAssert(p->taken <= p->decoding && p->decoding <= p->scanned && p->scanned - p->taken <= p->size);
    debugAssert(p->scanned > p->taken || p->in_flight == 0);
#ifdef DEBUG_ASSERTIONS
    for (uint64_t i = p->taken; i < p->scanned; i++) {
        batchState state = (batchState)p->states[i % p->size];
        debugAssert(i < p->decoding ? state == BATCH_DECODING || state == BATCH_DECODED : state == BATCH_SCANNED);
    }
    for (uint64_t i = p->scanned; i < p->taken + p->size; i++) debugAssert(p->states[i % p->size] == BATCH_FREE);
#endif
}

/* ---- The scanner ------------------------------------------------------------------------------------- */

/* Waits for a batch to fill. Returns NULL if the pipeline stops. */
static rdbBatch *takeFree(rdbPipeline *p) {
    rdbBatch *b = NULL;
    pthread_mutex_lock(&p->lock);
    while (!p->stop && (p->scanned - p->taken == p->size || (p->in_flight >= IN_FLIGHT_MAX && p->scanned != p->taken)))
        pthread_cond_wait(&p->freed, &p->lock);
    if (!p->stop) b = &p->batches[p->scanned % p->size];
    pthread_mutex_unlock(&p->lock);
    return b;
}

static void scanMain(void *arg) {
    rdbPipeline *p = arg;
    zmallocUseArena(p->arena);
    bool more = true;
    for (rdbBatch *b; more && (b = takeFree(p)) != NULL;) {
        bool good = rdbScanNext(p->scanner, &b->piece);
        size_t n = b->piece.count;
        b->is_last = !good || (n && b->piece.items[n - 1].kind == RDB_ITEM_END);
        b->offset_end = b->piece.offset + b->piece.len;
        more = !b->is_last;
        pthread_mutex_lock(&p->lock);
        pipelineCheck(p);
        debugAssert(b == &p->batches[p->scanned % p->size]); /* no other thread takes a batch that is FREE */
        p->states[p->scanned % p->size] = BATCH_SCANNED;
        p->scanned++;
        p->in_flight += b->piece.len;
        p->scan_ended = !more;
        pipelineCheck(p);
        if (more) pthread_cond_signal(&p->scanned_more);
        else pthread_cond_broadcast(&p->scanned_more);
        pthread_mutex_unlock(&p->lock);
    }
}

/* ---- Decoders ---------------------------------------------------------------------------------------- */

/* Waits for a batch to decode and returns its number. Returns false if there will be none. */
static bool takeScanned(rdbPipeline *p, uint64_t *number, uint32_t *fresh) {
    pthread_mutex_lock(&p->lock);
    while (!p->stop && !p->scan_ended && p->decoding == p->scanned) pthread_cond_wait(&p->scanned_more, &p->lock);
    bool some = !p->stop && p->decoding < p->scanned;
    if (some) {
        *number = p->decoding++;
        *fresh = p->fresh;
        p->states[*number % p->size] = BATCH_DECODING;
        pipelineCheck(p);
    }
    pthread_mutex_unlock(&p->lock);
    return some;
}

static void decodeMain(void *arg) {
    rdbPipeline *p = arg;
    uint64_t number;
    uint32_t fresh;
    zmallocUseArena(p->arena);
    while (takeScanned(p, &number, &fresh)) {
        rdbBatch *b = &p->batches[number % p->size];
        rdbDecode(&b->piece, &p->options, fresh, &b->decoded);
        pthread_mutex_lock(&p->lock);
        debugAssert(p->states[number % p->size] == BATCH_DECODING);
        p->states[number % p->size] = BATCH_DECODED;
        pipelineCheck(p);
        if (number == p->taken) pthread_cond_signal(&p->decoded_more);
        pthread_mutex_unlock(&p->lock);
    }
}

/* ---- The taker --------------------------------------------------------------------------------------- */

rdbBatch *rdbPipelineTake(rdbPipeline *p, unsigned wait_ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)wait_ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    rdbBatch *b = NULL;
    int rc = 0;
    pthread_mutex_lock(&p->lock);
    size_t at = p->taken % p->size;
    while (p->states[at] != BATCH_DECODED && rc == 0) rc = pthread_cond_timedwait(&p->decoded_more, &p->lock, &until);
    if (p->states[at] == BATCH_DECODED) b = &p->batches[at];
    pthread_mutex_unlock(&p->lock);
    return b;
}

void rdbPipelineGive(rdbPipeline *p, rdbBatch *b, uint32_t fresh) {
    rdbDecodedReset(&b->decoded);
    pthread_mutex_lock(&p->lock);
    pipelineCheck(p);
    serverAssert(b == &p->batches[p->taken % p->size] && p->states[p->taken % p->size] == BATCH_DECODED);
    debugAssert(p->in_flight >= b->piece.len);
    p->states[p->taken % p->size] = BATCH_FREE;
    p->taken++;
    p->in_flight -= b->piece.len;
    p->fresh = fresh;
    pipelineCheck(p);
    pthread_cond_signal(&p->freed);
    pthread_mutex_unlock(&p->lock);
}

const rdbScanner *rdbPipelineScanner(const rdbPipeline *p) { return p->scanner; }

/* ---- Begin and end ------------------------------------------------------------------------------------- */

static void initLocks(rdbPipeline *p) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->freed, NULL);
    pthread_cond_init(&p->scanned_more, NULL);
    pthread_cond_init(&p->decoded_more, &attr);
    pthread_condattr_destroy(&attr);
}

/* Starts the scanner and up to `decoders` decoders. Fails only if there is not at least one of each. */
static int startThreads(rdbPipeline *p, unsigned decoders) {
    int rc = threadStart(&p->scan_thread, &(threadPlan){.name = "rdb_scan"}, scanMain, p);
    p->scanning = rc == 0;
    while (rc == 0 && p->decoders < decoders) {
        rc = threadStart(&p->decode_threads[p->decoders], &(threadPlan){.name = "rdb_decode"}, decodeMain, p);
        if (rc == 0) p->decoders++;
    }
    debugAssert(p->decoders == 0 || p->scanning);
    return p->decoders ? 0 : rc;
}

rdbPipeline *rdbPipelineStart(int fd, const rdbScanOptions *scan, const rdbDecodeOptions *decode, unsigned decoders) {
    if (decoders > DECODERS_MAX) decoders = DECODERS_MAX;
    if (decoders == 0) decoders = 1;
    rdbPipeline *p = zcalloc(1, sizeof(*p));
    p->options = *decode;
    p->scanner = rdbScanCreate(fd, scan);
    p->source = scan->source;
    p->size = decoders * BATCHES_PER_DECODER + BATCHES_MORE;
    p->batches = zcalloc(p->size, sizeof(*p->batches));
    p->states = zcalloc(p->size, sizeof(*p->states));
    p->arena = zmallocArena();
    p->fresh = lruInitialBits();
    initLocks(p);
    int rc = startThreads(p, decoders);
    if (rc == 0) return p;
    rdbPipelineStop(p);
    errno = rc;
    return NULL;
}

void rdbPipelineStop(rdbPipeline *p) {
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->freed);
    pthread_cond_broadcast(&p->scanned_more);
    pthread_mutex_unlock(&p->lock);
    if (p->source && p->source->stop) p->source->stop(p->source->arg);
    if (p->scanning) pthread_join(p->scan_thread, NULL);
    for (unsigned i = 0; i < p->decoders; i++) pthread_join(p->decode_threads[i], NULL);
    for (uint64_t i = 0; i < p->size; i++) {
        rdbPieceFree(&p->batches[i].piece);
        rdbDecodedFree(&p->batches[i].decoded);
    }
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->freed);
    pthread_cond_destroy(&p->scanned_more);
    pthread_cond_destroy(&p->decoded_more);
    rdbScanFree(p->scanner);
    zfree(p->batches);
    zfree(p->states);
    zfree(p);
}

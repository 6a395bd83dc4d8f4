/* generator.h -- connections that send a workload as fast as the server replies, and measure it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_GENERATOR_H
#define BENCH_GENERATOR_H

#include "histogram.h"
#include "tls_context.h"
#include "workload.h"

typedef struct generatorConfig {
    const char *ip, *unix_path; /* borrowed; unix_path is NULL for TCP */
    int port;
    bool multipath;  /* MPTCP */
    tlsContext *tls; /* NULL if without TLS */
    const char *sni; /* server name sent in the TLS handshake; NULL if none */
    int clients, threads;
    bool keep_alive, idle;
    slice setup; /* sent first on each connection (AUTH, SELECT ...); borrowed */
    int setup_replies;
    uint64_t requests; /* 0: no limit, until generatorStop() */
    uint64_t rate;     /* requests per second, on a schedule that latencies count from; 0: as fast as possible */
    uint64_t seed;
    numberSource *numbers; /* borrowed */
} generatorConfig;

/* The results so far. May be read while the run lasts, to show progress. */
typedef struct generatorCounts {
    uint64_t finished;   /* replies */
    uint64_t latency_us; /* sum over these replies */
    int connected;
} generatorCounts;

typedef enum {
    RUN_GOING,
    RUN_DONE,
    RUN_UNKNOWN_COMMAND, /* the server does not know a command of the workload */
    RUN_ERROR_REPLY,     /* the server replied with another error */
    RUN_SETUP_REFUSED,
    RUN_BROKEN /* connecting, reading or writing failed */
} runState;

typedef struct generator generator;

/* Starts the threads. `w` is copied; `config` must exist until generatorFree(). */
generator *generatorStart(const generatorConfig *config, const workload *w);
/* Waits at most `timeout_ms` for the end of the run and returns its state. After any state but RUN_GOING no more
 * requests are sent. */
runState generatorWait(generator *g, int timeout_ms);
void generatorStop(generator *g); /* sends no new requests; outstanding replies still count */
generatorCounts generatorRead(const generator *g);
const char *generatorError(const generator *g); /* the text of an error; valid until generatorFree() */
/* Returns the time from the first request to the last reply, in microseconds. Call after RUN_DONE or
 * RUN_UNKNOWN_COMMAND. */
uint64_t generatorElapsedUs(const generator *g);
/* Returns the number of requests that were due more than 10 ms before generatorStop() and not sent; 0 without a rate.
 * Call after RUN_DONE. */
uint64_t generatorUnsent(const generator *g);
/* Adds all latencies, in microseconds, to `into`, which generatorHistogram() has made. Call after RUN_DONE. */
void generatorLatencies(const generator *g, histogram *into);
histogram *generatorHistogram(void); /* creates an empty one with the right range */
void generatorFree(generator *g);    /* joins the threads */

#endif

/* generator.h -- connections that send a workload as fast as the server answers, and what they measure.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_GENERATOR_H
#define BENCH_GENERATOR_H

#include "histogram.h"
#include "tls_context.h"
#include "workload.h"

typedef struct generatorConfig {
    const char *ip, *unix_path; /* borrowed; unix_path NULL: TCP */
    int port;
    bool multipath;  /* MPTCP */
    tlsContext *tls; /* NULL: plain */
    const char *sni; /* of TLS; NULL: none */
    int clients, threads;
    bool keep_alive, idle;
    slice greeting; /* sent first on each connection (AUTH, SELECT ...); borrowed */
    int greeting_replies;
    uint64_t requests; /* 0: until generatorStop() */
    uint64_t rate;     /* requests per second, by a timetable that latencies count from; 0: as fast as they go */
    uint64_t seed;
    numberSource *numbers; /* borrowed */
} generatorConfig;

/* What has been measured so far. Read while it runs for progress. */
typedef struct generatorCounts {
    uint64_t finished;   /* replies */
    uint64_t latency_us; /* their sum */
    int connected;
} generatorCounts;

typedef enum {
    RUN_GOING,
    RUN_DONE,
    RUN_UNKNOWN_COMMAND, /* the server does not know the workload's command */
    RUN_ERROR_REPLY,     /* it answered with another error */
    RUN_GREETING_REFUSED,
    RUN_BROKEN /* connecting, reading or writing failed */
} runState;

typedef struct generator generator;

/* Start the threads. `w` is copied; `config` must stay until generatorFree(). */
generator *generatorStart(const generatorConfig *config, const workload *w);
/* Wait at most `timeout_ms` for the end; returns the state. After any state but RUN_GOING nothing more is sent. */
runState generatorWait(generator *g, int timeout_ms);
void generatorStop(generator *g); /* no new requests; replies under way still count */
generatorCounts generatorRead(const generator *g);
const char *generatorError(const generator *g); /* text of the error; valid until generatorFree() */
/* After RUN_DONE or RUN_UNKNOWN_COMMAND: microseconds from the first request to the last reply. */
uint64_t generatorElapsedUs(const generator *g);
/* With a rate and generatorStop(): requests that were due more than 10 ms before and not sent. After RUN_DONE. */
uint64_t generatorUnsent(const generator *g);
/* All latencies in microseconds, added to `into` (made with generatorHistogram()). After RUN_DONE. */
void generatorLatencies(const generator *g, histogram *into);
histogram *generatorHistogram(void);
void generatorFree(generator *g); /* joins the threads */

#endif

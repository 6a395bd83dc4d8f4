/* bench_options.h -- the options of valkey-benchmark's command line.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "platform.h"
#include "tool_tls.h"

typedef enum { FUZZ_LOG_NONE, FUZZ_LOG_ERROR, FUZZ_LOG_INFO, FUZZ_LOG_DEBUG } fuzzLog;

typedef struct benchOptions {
    const char *host, *socket, *user, *password, *tests; /* borrowed from argv or from `uri` */
    const char *json_file, *plot_file;                   /* borrowed from argv; "-" is stdout */
    int port, db, clients, threads, data_size, pipeline, precision, functions, fcall_keys;
    long long requests, duration_s, warmup_s, rate;
    uint64_t key_range, seed;
    bool keep_alive, quiet, csv, loop, idle, read_stdin, resp3, sequential, tracking, multipath;
    bool fuzz, fuzz_malformed, fuzz_config;
    fuzzLog fuzz_log;
    bool help, version;
    toolTls tls;
    tlsContext *tls_context; /* made from it by main(); NULL if without TLS */
    char **command;          /* borrowed; words of a custom command; their count is 0 if there is none */
    int command_count;
} benchOptions;

/* Fills in *o. Returns false after a message on stderr if the command line is invalid. */
bool benchOptionsParse(benchOptions *o, int argc, char **argv) must_check;
void benchUsage(void);
/* Returns true if a document is written to stdout, so that nothing else may be printed there. */
bool benchOptionsUseStdout(const benchOptions *o);

#endif

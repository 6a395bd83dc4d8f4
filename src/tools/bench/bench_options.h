/* bench_options.h -- what the benchmark's command line says.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "platform.h"
#include "tool_tls.h"

typedef enum { FUZZ_LOG_NONE, FUZZ_LOG_ERROR, FUZZ_LOG_INFO, FUZZ_LOG_DEBUG } fuzzLog;

typedef struct benchOptions {
    const char *host, *socket, *user, *password, *tests; /* borrowed from argv or from `uri` */
    const char *json_file, *plot_file;                   /* the same; "-": stdout */
    int port, db, clients, threads, data_size, pipeline, precision, functions, fcall_keys;
    long long requests, duration_s, warmup_s, rate;
    uint64_t key_range, seed;
    bool keep_alive, quiet, csv, loop, idle, read_stdin, resp3, sequential, tracking, multipath;
    bool fuzz, fuzz_malformed, fuzz_config;
    fuzzLog fuzz_log;
    bool help, version;
    toolTls tls;
    tlsContext *tls_context; /* made of it by main(); NULL: plain */
    char **command;          /* borrowed; words of a custom command, or count 0 */
    int command_count;
} benchOptions;

/* False with a message printed when the command line makes no sense. */
bool benchOptionsParse(benchOptions *o, int argc, char **argv) must_check;
void benchUsage(void);
/* Stdout is a document's: nothing else is printed there. */
bool benchOptionsUseStdout(const benchOptions *o);

#endif

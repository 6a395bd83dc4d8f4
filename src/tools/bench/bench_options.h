/* bench_options.h -- the options of valkey-benchmark's command line.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "platform.h"
#include "tool_options.h"

typedef enum { FUZZ_LOG_NONE, FUZZ_LOG_ERROR, FUZZ_LOG_INFO, FUZZ_LOG_DEBUG } fuzzLog;

typedef struct benchOptions {
    linkTarget target; /* its `tls` is made by main() */
    toolLogin login;
    toolTls tls;
    const char *tests;                 /* borrowed from argv */
    const char *json_file, *plot_file; /* borrowed from argv; "-" is stdout */
    int clients, threads, data_size, pipeline, precision, functions, fcall_keys;
    long long requests, duration_s, warmup_s, rate;
    uint64_t key_range, seed;
    bool keep_alive, quiet, csv, loop, idle, read_stdin, resp3, sequential, tracking;
    bool fuzz, fuzz_malformed, fuzz_config;
    fuzzLog fuzz_log;
    bool help, version;
    char **command; /* borrowed; words of a custom command; their count is 0 if there is none */
    int command_count;
} benchOptions;

/* Fills in *o. Prints a message and ends the program if the command line is invalid. */
void benchOptionsParse(benchOptions *o, int argc, char **argv);
void benchUsage(void); /* prints the text of --help */
/* Returns true if a document is written to stdout, so that nothing else may be printed there. */
bool benchOptionsUseStdout(const benchOptions *o);

#endif

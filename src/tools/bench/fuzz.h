/* fuzz.h -- --fuzz: sends random commands and checks that the server keeps replying.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_FUZZ_H
#define BENCH_FUZZ_H

#include "bench_options.h"
#include "server_link.h"

/* Sends random commands over options->clients connections until the number of requests or the time of the options is
 * reached. Each connection is made by `open`, which logs in, and ends the program if that fails. Returns the exit code:
 * 1 if a connection was lost or a reply did not come. */
int fuzzRun(const benchOptions *options, serverLink *(*open)(const benchOptions *));

#endif

/* fuzz.h -- random commands for a server (--fuzz): does it go on answering?
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_FUZZ_H
#define BENCH_FUZZ_H

#include "bench_options.h"
#include "server_link.h"

/* Send random commands over options->clients connections, each of which `open` makes anew (logged in; it ends the
 * program when that fails), until the number of requests or the time of the options is reached. Returns the exit
 * code: 1 when a connection was lost on the way, or no answer came. */
int fuzzRun(const benchOptions *options, serverLink *(*open)(const benchOptions *));

#endif

/* workload.h -- a pipeline of requests, built once, in which random numbers are replaced before each send.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include "rng.h"
#include "sds.h"
#include <stdatomic.h>

#define PLACEHOLDER_KINDS 10 /* __rand_int__, then __rand_1st__ to __rand_9th__ */

/* The source of the numbers for placeholders. If sequential, all threads of a run share it. */
typedef struct numberSource {
    uint64_t range; /* numbers are below it; 0: placeholders are not replaced */
    bool sequential;
    _Atomic uint64_t next[PLACEHOLDER_KINDS]; /* atomic, relaxed: only uniqueness matters */
} numberSource;

typedef struct workload workload;

/* Builds a pipeline that repeats the sequence of commands in `words` (argc of them) `depth` times. A word ";" ends a
 * command, a number before a command repeats it, __data__ is replaced by `data`, and with `patched` the __rand_...
 * placeholders by numbers. Returns NULL with *err (static text) if there is no command. */
workload *workloadFromWords(const slice *words, int argc, slice data, int depth, bool patched, const char **err);
/* Builds a pipeline that repeats `raw`, the bytes of one command (inline PING). */
workload *workloadFromRaw(slice raw, int depth);
/* Returns a copy with its own buffer, for another thread. */
workload *workloadDup(const workload *w);
void workloadFree(workload *w);

int workloadCommands(const workload *w); /* commands in one sequence */
int workloadDepth(const workload *w);
/* Puts new numbers into the first `sequences` of the pipeline and returns their bytes, valid until the next call. */
slice workloadNext(workload *w, int sequences, numberSource *numbers, rng *r);

#endif

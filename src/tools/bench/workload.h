/* workload.h -- one pipeline of requests, built once and patched at its random places before each send.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include "rng.h"
#include "sds.h"
#include <stdatomic.h>

#define PLACEHOLDER_KINDS 10 /* __rand_int__, then __rand_1st__ to __rand_9th__ */

/* Where the numbers for placeholders come from. Shared by all threads of a run when sequential. */
typedef struct numberSource {
    uint64_t range; /* numbers are below it; 0: placeholders stay as they are */
    bool sequential;
    _Atomic uint64_t next[PLACEHOLDER_KINDS]; /* atomic, relaxed: only uniqueness matters */
} numberSource;

typedef struct workload workload;

/* The sequence of commands in `words` (argc of them), `depth` times over. A word ";" ends a command, a number before a
 * command repeats it, __data__ becomes `data`. NULL with *err (static text) when there is no command. */
workload *workloadFromWords(const slice *words, int argc, slice data, int depth, bool patched, const char **err);
/* `raw` bytes as one command (inline PING). */
workload *workloadFromRaw(slice raw, int depth);
/* A copy with a buffer of its own, for another thread. */
workload *workloadDup(const workload *w);
void workloadFree(workload *w);

int workloadCommands(const workload *w); /* commands in one sequence */
int workloadDepth(const workload *w);
/* Patch the first `sequences` of the pipeline and return their bytes, valid until the next call. */
slice workloadNext(workload *w, int sequences, numberSource *numbers, rng *r);

#endif

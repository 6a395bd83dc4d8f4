/* result_files.h -- --json and --plot: results written into files.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESULT_FILES_H
#define BENCH_RESULT_FILES_H

#include "bench_options.h"
#include "results.h"

/* Ends the program when a file that is asked for cannot be written: before there is a load. */
void resultFilesCheck(const benchOptions *o);
/* Write what there is so far, each file whole or not at all. Stdout and pipes only when it is the `last` of the run.
 * False with a message printed. */
bool resultFilesWrite(const benchOptions *o, const hostSettings *host, const resultList *results, bool last);
static inline bool resultFilesAreWanted(const benchOptions *o) {
    return o->json_file || o->plot_file;
}

#endif

/* report.h -- prints the progress and the results: distributions, summary, CSV.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "generator.h"
#include "bench_options.h"
#include "results.h"

/* The line that shows the progress while a test runs. */
typedef struct rateLine {
    int width; /* characters in the line */
    generatorCounts last;
    uint64_t started_us, last_us;
} rateLine;

void rateLineStart(rateLine *line); /* initializes the line and starts its clock */
/* Draws the line. With `shows_time` it ends with the time that has passed, otherwise with the number of requests. */
void rateLineShow(rateLine *line, const char *title, generatorCounts counts, bool shows_time);
void rateLineClear(rateLine *line); /* overwrites it with blanks */

/* Print the header of CSV, and a result in the format that the options choose; nothing if a document goes to stdout. */
void reportCsvHeader(void);
void reportResult(const benchOptions *o, const hostSettings *host, const testResult *result);

#endif

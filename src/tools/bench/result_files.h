/* result_files.h -- --json and --plot: writes the results to files.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESULT_FILES_H
#define BENCH_RESULT_FILES_H

#include "bench_options.h"
#include "results.h"

/* Checks before the test that the requested files can be written, and ends the program if not. */
void resultFilesCheck(const benchOptions *o);
/* Writes the results so far, replacing each file completely or not at all. Stdout and pipes are written only if this is
 * the `last` call of the run. Returns false after a message. */
bool resultFilesWrite(const benchOptions *o, const hostSettings *host, const resultList *results, bool last);
static inline bool resultFilesAreWanted(const benchOptions *o) { return o->json_file || o->plot_file; }

/* Returns the results as a JSON document (json_report.c), and as a self-contained SVG picture (svg_report.c). */
sds jsonReport(const benchOptions *o, const hostSettings *host, const resultList *results);
sds svgReport(const benchOptions *o, const hostSettings *host, const resultList *results);

/* --- Bytes as text of both formats; bytes that are not UTF-8 become the replacement character (text_escape.c) --- */
/* Appends a JSON string with its quotes; null if `s` is NULL. */
sds catJsonString(sds out, const char *s);
/* Appends text that is valid in an element and in a quoted attribute. */
sds catXmlText(sds out, const char *s);

#endif

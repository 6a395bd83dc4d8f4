/* svg_report.h -- the results of a run as an SVG picture: latencies and rate over time of each test.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_SVG_REPORT_H
#define BENCH_SVG_REPORT_H

#include "bench_options.h"
#include "results.h"

/* Returns a self-contained SVG document. */
sds svgReport(const benchOptions *o, const hostSettings *host, const resultList *results);

#endif

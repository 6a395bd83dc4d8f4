/* json_report.h -- the results of a run as one JSON document.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_JSON_REPORT_H
#define BENCH_JSON_REPORT_H

#include "bench_options.h"
#include "results.h"

sds jsonReport(const benchOptions *o, const hostSettings *host, const resultList *results);

#endif

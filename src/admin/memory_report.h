/* memory_report.h -- where the memory is: figures for INFO memory, MEMORY STATS and MEMORY DOCTOR.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_MEMORY_REPORT_H
#define ADMIN_MEMORY_REPORT_H

#include "zmalloc.h"

typedef struct memoryReport {
    size_t used, peak, startup, rss, total_system;
    allocatorInfo allocator; /* where the allocator tells nothing: `used` and `rss` stand in */
    size_t clients_normal, clients_replicas;
    size_t clients_normal_count, clients_replicas_count;
    size_t tables;           /* of all databases, keys and expires; 0 without a key */
    size_t tables_rehashing; /* of these: being left */
    size_t databases_rehashing;
    size_t aof_buffer;         /* what is to be written */
    size_t scripts, functions; /* what keeping their texts takes */
    size_t overhead;           /* all that is not data: startup, and the above */
    size_t dataset;            /* used - overhead */
    size_t keys;
    float dataset_percent, peak_percent;
    float frag_ratio, rss_ratio, rss_overhead_ratio, total_ratio;
    long long frag_bytes, rss_bytes, rss_overhead_bytes, total_bytes;
} memoryReport;

void memoryReportMake(memoryReport *out);

#endif

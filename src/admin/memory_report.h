/* memory_report.h -- figures about memory for INFO memory, MEMORY STATS and MEMORY DOCTOR.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_MEMORY_REPORT_H
#define ADMIN_MEMORY_REPORT_H

#include "zmalloc.h"

typedef struct memoryReport {
    size_t used, peak, startup, rss, total_system;
    allocatorInfo allocator; /* `used` and `rss` if the allocator has no statistics */
    size_t clients_normal, clients_replicas;
    size_t clients_normal_count, clients_replicas_count;
    size_t tables;           /* of all databases, for keys and expires; 0 if there are no keys */
    size_t tables_rehashing; /* part of `tables`: tables from which a rehash moves entries */
    size_t databases_rehashing;
    size_t aof_buffer;         /* bytes that are not yet written */
    size_t scripts, functions; /* memory of their texts */
    size_t overhead;           /* everything but the dataset: startup, and the fields above */
    size_t dataset;            /* used - overhead */
    size_t keys;
    float dataset_percent, peak_percent;
    float frag_ratio, rss_ratio, rss_overhead_ratio, total_ratio;
    long long frag_bytes, rss_bytes, rss_overhead_bytes, total_bytes;
} memoryReport;

/* Where most of the resident memory is that is not in use. */
typedef enum {
    WASTE_NONE,       /* it is not far above what is in use */
    WASTE_GAPS,       /* between values, in pages that are in use */
    WASTE_FREE_PAGES, /* which the allocator has not given back yet */
    WASTE_OUTSIDE     /* not the allocator's */
} memoryWaste;
/* Returns the largest part, and its bytes in *bytes, if resident memory is more than 1.4 times, and 64 MB above what is
 * in use. Takes only the figures of the system and the allocator from the report. */
memoryWaste memoryWasteOf(const memoryReport *r, long long *bytes);
/* Call from cron once a minute: logs the cause when resident memory is far above what is in use, at most once an
 * hour. */
void memoryWasteTick(void);
/* Sets all figures; those of the system and the allocator may be a tenth of a second old. */
void memoryReportMake(memoryReport *out);

#endif

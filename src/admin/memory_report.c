/* memory_report.c -- figures about memory for INFO memory, MEMORY STATS and MEMORY DOCTOR.
 *
 *   system's view      |<------------------------------ rss ----------------------------->|
 *   allocator's        |<-------------------- resident ------------------->| process      |
 *                      |<-------------- active --------------->| free pages|
 *                      |<------- allocated ----->| free in runs|
 *   ours               | startup clients tables  | dataset     |  (used: both)
 *
 * Owns        the last sample of the figures of system and allocator.
 * Threads     main.
 * Cost        visits each client and each database; at most ten times a second the allocator refreshes its
 *             statistics.
 * Tests       tests/server/info.tcl, tests/unit/admin/memory_report_test.c, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "memory_report.h"

#include "client.h"
#include "aof.h"
#include "client_describe.h"
#include "clock.h"
#include "db_walk.h"
#include "eval_cache.h"
#include "functions.h"
#include "hot_keys.h"
#include "log.h"
#include "metrics.h"
#include "shared_pages.h"
#include "tracking.h"

static void addClients(memoryReport *r) {
    listIter it = listBegin(client_state.clients, false);
    listNode *node;
    while ((node = listNext(&it)) != NULL) {
        const client *c = listNodeValue(node);
        bool replica = clientTypeOf(c) == CLIENT_TYPE_REPLICA;
        *(replica ? &r->clients_replicas : &r->clients_normal) += clientMemUsage(c);
        (*(replica ? &r->clients_replicas_count : &r->clients_normal_count))++;
    }
}

static void addDatabases(memoryReport *r) {
    for (int i = 0; i < dbCount(); i++) {
        dbFigures f = dbGetFigures(dbGet(i));
        r->keys += f.keys;
        r->tables += f.tables_bytes; /* the rest of a dict counts as startup memory */
        r->tables_rehashing += f.rehashing_bytes;
        r->databases_rehashing += f.rehashing;
    }
}

/* Getting the figures of system and allocator takes 25 us, so a sample is reused for this long. Valkey takes one ten
 * times a second, too. */
#define SAMPLE_MS 100

static struct {
    int64_t taken_ms; /* 0: no sample yet */
    size_t rss;
    allocatorInfo allocator;
} sample;

static void takeSample(void) {
    int64_t now_ms = clockMonotonicMs();
    if (sample.taken_ms && now_ms - sample.taken_ms < SAMPLE_MS) return;
    sample.taken_ms = now_ms;
    sample.rss = zmallocRss();
    zmallocAllocatorInfo(&sample.allocator);
}

static void addAllocator(memoryReport *r) {
    r->allocator = sample.allocator;
    allocatorInfo *a = &r->allocator;
    if (a->allocated == 0) a->allocated = r->used;
    if (a->active == 0) a->active = r->rss;
    if (a->resident == 0) a->resident = r->rss;
    r->frag_ratio = (float)a->active / (float)a->allocated;
    r->frag_bytes = (long long)a->active - (long long)a->allocated;
    r->rss_ratio = (float)a->resident / (float)a->active;
    r->rss_bytes = (long long)a->resident - (long long)a->active;
    r->rss_overhead_ratio = (float)r->rss / (float)a->resident;
    r->rss_overhead_bytes = (long long)r->rss - (long long)a->resident;
    r->total_ratio = (float)r->rss / (float)r->used;
    r->total_bytes = (long long)r->rss - (long long)r->used;
}

void memoryReportMake(memoryReport *out) {
    takeSample();
    *out = (memoryReport){
        .used = zmallocUsed(),
        .peak = metricsPeakMemory(),
        .startup = metricsStartupMemory(),
        .rss = sample.rss,
        .total_system = zmallocTotalSystemMemory(),
        .aof_buffer = aofFiguresNow().buffer_memory,
        .scripts = evalCacheTotals().memory,
        .functions = functionTableMemory(functionsInUse()),
    };
    addAllocator(out);
    addClients(out);
    addDatabases(out);
    out->overhead = out->startup + out->clients_normal + out->clients_replicas + out->tables + trackingMemory() +
                    out->aof_buffer + out->scripts + out->functions + hotKeysMemory();
    out->dataset = out->used > out->overhead ? out->used - out->overhead : 0;
    size_t grown = out->used > out->startup ? out->used - out->startup : 0;
    out->dataset_percent = grown ? (float)out->dataset * 100 / (float)grown : 0;
    out->peak_percent = out->peak ? (float)out->used * 100 / (float)out->peak : 100;
}

/* ---- Waste ---- */

#define WASTE_RATIO 1.4F
#define WASTE_MIN (64LL << 20)
#define WASTE_LOG_EVERY_MS ((int64_t)3600 * 1000)

memoryWaste memoryWasteOf(const memoryReport *r, long long *bytes) {
    *bytes = 0;
    if (r->total_ratio <= WASTE_RATIO || r->total_bytes < WASTE_MIN) return WASTE_NONE;
    const long long parts[] = {
        [WASTE_GAPS] = r->frag_bytes, [WASTE_FREE_PAGES] = r->rss_bytes, [WASTE_OUTSIDE] = r->rss_overhead_bytes};
    memoryWaste largest = WASTE_GAPS;
    for (memoryWaste i = WASTE_GAPS; i <= WASTE_OUTSIDE; i++)
        if (parts[i] > parts[largest]) largest = i;
    *bytes = parts[largest];
    return largest;
}

static const char *const waste_causes[] = {
    [WASTE_NONE] = "",
    [WASTE_GAPS] = "gaps between values, of a peak or of values that have changed their size. activedefrag yes closes "
                   "them; new data fills them",
    [WASTE_FREE_PAGES] =
        "free pages that the allocator has not given back yet. It does so within seconds; MEMORY PURGE "
        "does it at once",
    [WASTE_OUTSIDE] = "memory outside the allocator: page tables, stacks, libraries, engines of scripts",
};

void memoryWasteTick(void) {
    static int64_t logged_ms;
    memoryReport r = {.used = zmallocUsed()};
    int64_t now_ms = clockMonotonicMs();
    if (sharedPages() || (logged_ms && now_ms - logged_ms < WASTE_LOG_EVERY_MS)) return;
    takeSample();
    r.rss = sample.rss;
    addAllocator(&r);
    long long bytes;
    memoryWaste waste = memoryWasteOf(&r, &bytes);
    if (waste == WASTE_NONE) return;
    logged_ms = now_ms;
    serverLog(LL_NOTICE, "%zu MB are resident and %zu MB in use. %lld MB of the difference are %s.", r.rss >> 20,
              r.used >> 20, bytes >> 20, waste_causes[waste]);
}

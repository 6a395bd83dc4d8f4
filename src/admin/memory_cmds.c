/* memory_cmds.c -- the MEMORY command.
 *
 * Not here    the figures (memory_report.c), what a value costs (object/).
 * Threads     main.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "memory_cmds.h"

#include "db.h"
#include "memory_report.h"
#include "reply.h"

#include <stdio.h>

/* ---- USAGE ----------------------------------------------------------------------------------------- */

#define SAMPLES_DEFAULT 5

/* MEMORY USAGE key [SAMPLES count]: the entry and its value; the place in the tables is overhead of the database. */
void memoryUsageCommand(client *c) {
    long long samples = SAMPLES_DEFAULT;
    for (uint32_t i = 3; i < c->argc; i++) {
        if (!sliceIs(c->argv[i], "samples") || i + 1 >= c->argc) {
            addReplySyntaxError(c);
            return;
        }
        if (!getLongLongFromArg(c, ++i, &samples, NULL)) return;
        if (samples < 0) {
            addReplySyntaxError(c);
            return;
        }
    }
    const robj *o = lookupKeyReadWithFlags(c->db, clientKeyAt(c, 2), LOOKUP_NOTOUCH | LOOKUP_NOSTATS | LOOKUP_NONOTIFY);
    if (!o) {
        addReplyNull(c);
        return;
    }
    addReplyLongLong(c, (long long)objectMemUsage(o, samples ? (size_t)samples : SIZE_MAX));
}

/* ---- STATS ----------------------------------------------------------------------------------------- */

static void field(client *c, const char *name, size_t value) {
    addReplyBulkCString(c, name);
    addReplyLongLong(c, (long long)value);
}

static void signedField(client *c, const char *name, long long value) {
    addReplyBulkCString(c, name);
    addReplyLongLong(c, value);
}

static void ratioField(client *c, const char *name, float value) {
    addReplyBulkCString(c, name);
    addReplyDouble(c, (double)value);
}

/* "db.N" with the size of its tables, for each database that holds keys. Returns how many. */
static long long databaseFields(client *c) {
    long long count = 0;
    for (int i = 0; i < dbCount(); i++) {
        const serverDb *db = dbGet(i);
        if (dictSize(db->keys) == 0) continue;
        char name[32];
        snprintf(name, sizeof(name), "db.%d", i);
        addReplyBulkCString(c, name);
        addReplyMapLen(c, 2);
        field(c, "overhead.hashtable.main", dictMemUsage(db->keys));
        field(c, "overhead.hashtable.expires", dictMemUsage(db->expires));
        count++;
    }
    return count;
}

void memoryStatsCommand(client *c) {
    memoryReport r;
    memoryReportMake(&r);
    void *length = addReplyDeferredLen(c);
    field(c, "peak.allocated", r.peak);
    field(c, "total.allocated", r.used);
    field(c, "startup.allocated", r.startup);
    field(c, "replication.backlog", 0);
    field(c, "replicas.repl.buffer", 0);
    field(c, "clients.slaves", r.clients_replicas);
    field(c, "clients.normal", r.clients_normal);
    field(c, "cluster.links", 0);
    field(c, "cluster.slot_import", 0);
    field(c, "cluster.slot_export", 0);
    field(c, "aof.buffer", 0);
    field(c, "lua.caches", 0);
    field(c, "functions.caches", 0);
    long long databases = databaseFields(c);
    field(c, "overhead.db.hashtable.lut", r.tables);
    field(c, "overhead.db.hashtable.rehashing", r.tables_rehashing);
    field(c, "overhead.total", r.overhead);
    field(c, "db.dict.rehashing.count", r.databases_rehashing);
    field(c, "keys.count", r.keys);
    field(c, "keys.bytes-per-key", r.keys ? r.dataset / r.keys : 0);
    field(c, "dataset.bytes", r.dataset);
    ratioField(c, "dataset.percentage", r.dataset_percent);
    ratioField(c, "peak.percentage", r.peak_percent);
    field(c, "allocator.allocated", r.allocator.allocated);
    field(c, "allocator.active", r.allocator.active);
    field(c, "allocator.resident", r.allocator.resident);
    field(c, "allocator.muzzy", r.allocator.muzzy);
    ratioField(c, "allocator-fragmentation.ratio", r.frag_ratio);
    signedField(c, "allocator-fragmentation.bytes", r.frag_bytes);
    ratioField(c, "allocator-rss.ratio", r.rss_ratio);
    signedField(c, "allocator-rss.bytes", r.rss_bytes);
    ratioField(c, "rss-overhead.ratio", r.rss_overhead_ratio);
    signedField(c, "rss-overhead.bytes", r.rss_overhead_bytes);
    ratioField(c, "fragmentation", r.total_ratio);
    signedField(c, "fragmentation.bytes", r.total_bytes);
    setDeferredMapLen(c, length, 34 + databases);
}

/* ---- DOCTOR ---------------------------------------------------------------------------------------- */

#define REPORT_USED_MIN (5u << 20) /* below, ratios mean nothing */
#define WASTE_BYTES (10 << 20)     /* a ratio is bad only when it stands for so much */

#define ADVICE_PEAK                                                                                           \
    " * Peak memory: In the past this instance used more than 150% the memory that is currently using. The"   \
    " allocator is normally not able to release memory after a peak, so you can expect to see a big"          \
    " fragmentation ratio, however this is actually harmless and is only due to the memory peak, and if the"  \
    " Valkey instance Resident Set Size (RSS) is currently bigger than expected, the memory will be used as"  \
    " soon as you fill the Valkey instance with more data. If the memory peak was only occasional and you"    \
    " want to try to reclaim memory, please try the MEMORY PURGE command, otherwise the only other option is" \
    " to shutdown and restart the instance.\n\n"
#define ADVICE_TOTAL_FRAG                                                                                   \
    " * High total RSS: This instance has a memory fragmentation and RSS overhead greater than 1.4 (this"   \
    " means that the Resident Set Size of the Valkey process is much larger than the sum of the logical"    \
    " allocations Valkey performed). This problem is usually due either to a large peak memory (check if"   \
    " there is a peak memory entry above in the report) or may result from a workload that causes the"      \
    " allocator to fragment memory a lot. If the problem is a large peak memory, then there is no issue."   \
    " Otherwise, make sure you are using the Jemalloc allocator and not the default libc malloc. Note: The" \
    " currently used allocator is \"%s\".\n\n"
#define ADVICE_ALLOCATOR_FRAG                                                                                  \
    " * High allocator fragmentation: This instance has an allocator external fragmentation greater than 1.1." \
    " This problem is usually due either to a large peak memory (check if there is a peak memory entry above"  \
    " in the report) or may result from a workload that causes the allocator to fragment memory a lot. You"    \
    " can try enabling 'activedefrag' config option.\n\n"
#define ADVICE_ALLOCATOR_RSS                                                                                   \
    " * High allocator RSS overhead: This instance has an RSS memory overhead is greater than 1.1 (this means" \
    " that the Resident Set Size of the allocator is much larger than the sum what the allocator actually"     \
    " holds). This problem is usually due to a large peak memory (check if there is a peak memory entry above" \
    " in the report), you can try the MEMORY PURGE command to reclaim it.\n\n"
#define ADVICE_PROCESS_RSS                                                                                    \
    " * High process RSS overhead: This instance has non-allocator RSS memory overhead is greater than 1.1"   \
    " (this means that the Resident Set Size of the Valkey process is much larger than the RSS the allocator" \
    " holds). This problem may be due to Lua scripts or Modules.\n\n"
#define ADVICE_REPLICA_BUFFERS                                                                                \
    " * Big replica buffers: The replica output buffers in this instance are greater than 10MB for each"      \
    " replica (on average). This likely means that there is some replica instance that is struggling"         \
    " receiving data, either because it is too slow or because of networking issues. As a result, data piles" \
    " on the primary output buffers. Please try to identify what replica is not receiving data correctly and" \
    " why. You can use the INFO output in order to check the replicas delays and the CLIENT LIST command to"  \
    " check the output buffers of each replica.\n\n"
#define ADVICE_CLIENT_BUFFERS                                                                                  \
    " * Big client buffers: The clients output buffers in this instance are greater than 200K per client (on"  \
    " average). This may result from different causes, like Pub/Sub clients subscribed to channels bot not"    \
    " receiving data fast enough, so that data piles on the Valkey instance output buffer, or clients sending" \
    " commands with large replies or very large sequences of commands in the same pipeline. Please use the"    \
    " CLIENT LIST command in order to investigate the issue if it causes problems in your instance, or to"     \
    " understand better why certain clients are using a big amount of memory.\n\n"

static bool wasteful(float ratio, float limit, long long bytes) {
    return ratio > limit && bytes > WASTE_BYTES;
}

static sds doctorReport(const memoryReport *r) {
    if (r->used < REPORT_USED_MIN)
        return sdsNew("Hi Sam, this instance is empty or is using very little memory, my issues detector can't be "
                      "used in these conditions. Please, leave for your mission on Earth and fill it with some data. "
                      "The new Sam and I will be back to our programming as soon as I finished rebooting.\n");
    sds found = sdsEmpty();
    if ((float)r->peak / (float)r->used > 1.5F) found = sdsCat(found, ADVICE_PEAK);
    if (wasteful(r->total_ratio, 1.4F, r->total_bytes))
        found = sdsCatPrintf(found, ADVICE_TOTAL_FRAG, zmallocLibrary());
    if (wasteful(r->frag_ratio, 1.1F, r->frag_bytes)) found = sdsCat(found, ADVICE_ALLOCATOR_FRAG);
    if (wasteful(r->rss_ratio, 1.1F, r->rss_bytes)) found = sdsCat(found, ADVICE_ALLOCATOR_RSS);
    if (wasteful(r->rss_overhead_ratio, 1.1F, r->rss_overhead_bytes)) found = sdsCat(found, ADVICE_PROCESS_RSS);
    if (r->clients_replicas_count && r->clients_replicas / r->clients_replicas_count > 10 << 20)
        found = sdsCat(found, ADVICE_REPLICA_BUFFERS);
    if (r->clients_normal_count && r->clients_normal / r->clients_normal_count > 200 << 10)
        found = sdsCat(found, ADVICE_CLIENT_BUFFERS);
    if (sdsLen(found) == 0)
        return sdsCat(found, "Hi Sam, I can't find any memory issue in your instance. "
                             "I can only account for what occurs on this base.\n");
    sds report = sdsNew("Sam, I detected a few issues in this Valkey instance memory implants:\n\n");
    report = sdsCatSlice(report, sdsSlice(found));
    sdsFree(found);
    return sdsCat(report, "I'm here to keep you safe, Sam. I want to help you.\n");
}

void memoryDoctorCommand(client *c) {
    memoryReport r;
    memoryReportMake(&r);
    sds report = doctorReport(&r);
    addReplyVerbatim(c, sdsSlice(report), "txt");
    sdsFree(report);
}

/* ---- The allocator --------------------------------------------------------------------------------- */

static void catText(void *arg, const char *text) {
    sds *s = arg;
    *s = sdsCat(*s, text);
}

void memoryMallocStatsCommand(client *c) {
    sds text = sdsEmpty();
    zmallocStats(catText, &text);
    addReplyVerbatim(c, sdsSlice(text), "txt");
    sdsFree(text);
}

void memoryPurgeCommand(client *c) {
    if (zmallocPurge() == 0) addReplyOk(c);
    else addReplyError(c, "Error purging dirty pages");
}

void memoryHelpCommand(client *c) {
    const char *lines[] = {
        "DOCTOR",
        "    Return memory problems reports.",
        "MALLOC-STATS",
        "    Return internal statistics report from the memory allocator.",
        "PURGE",
        "    Attempt to purge dirty pages for reclamation by the allocator.",
        "STATS",
        "    Return information about the memory usage of the server.",
        "USAGE <key> [SAMPLES <count>]",
        "    Return memory in bytes used by <key> and its value. Nested values are",
        "    sampled up to <count> times (default: 5, 0 means sample all).",
        NULL,
    };
    addReplyHelp(c, lines);
}

/* memory_cmds.c -- the MEMORY command.
 *
 * Not here    the figures (memory_report.c), the memory of a value (object/).
 * Threads     main.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "admin.h"

#include "db_walk.h"
#include "memory_report.h"
#include "reply.h"

#include <stdio.h>

/* ---- USAGE ----------------------------------------------------------------------------------------- */

#define SAMPLES_DEFAULT 5

/* MEMORY USAGE key [SAMPLES count]: counts the entry and its value. Its slot in the tables is overhead of the
 * database. */
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

static void memoryField(client *c, const char *name, size_t value) {
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

/* Adds "db.N" with the size of its dicts, for each database in use. Returns their number. */
static long long databaseFields(client *c) {
    long long count = 0;
    for (int i = 0; i < dbCount(); i++) {
        dbFigures f = dbGetFigures(dbGet(i));
        if (!f.in_use) continue;
        char name[32];
        snprintf(name, sizeof(name), "db.%d", i);
        addReplyBulkCString(c, name);
        addReplyMapLen(c, 2);
        memoryField(c, "overhead.hashtable.main", f.keys_bytes);
        memoryField(c, "overhead.hashtable.expires", f.expires_bytes);
        count++;
    }
    return count;
}

void memoryStatsCommand(client *c) {
    memoryReport r;
    memoryReportMake(&r);
    void *length = addReplyDeferredLen(c);
    memoryField(c, "peak.allocated", r.peak);
    memoryField(c, "total.allocated", r.used);
    memoryField(c, "startup.allocated", r.startup);
    memoryField(c, "replication.backlog", 0);
    memoryField(c, "replicas.repl.buffer", 0);
    memoryField(c, "clients.slaves", r.clients_replicas);
    memoryField(c, "clients.normal", r.clients_normal);
    memoryField(c, "cluster.links", 0);
    memoryField(c, "cluster.slot_import", 0);
    memoryField(c, "cluster.slot_export", 0);
    memoryField(c, "aof.buffer", r.aof_buffer);
    memoryField(c, "lua.caches", r.scripts);
    memoryField(c, "functions.caches", r.functions);
    long long databases = databaseFields(c);
    memoryField(c, "overhead.db.hashtable.lut", r.tables);
    memoryField(c, "overhead.db.hashtable.rehashing", r.tables_rehashing);
    memoryField(c, "overhead.total", r.overhead);
    memoryField(c, "db.dict.rehashing.count", r.databases_rehashing);
    memoryField(c, "keys.count", r.keys);
    memoryField(c, "keys.bytes-per-key", r.keys ? r.dataset / r.keys : 0);
    memoryField(c, "dataset.bytes", r.dataset);
    ratioField(c, "dataset.percentage", r.dataset_percent);
    ratioField(c, "peak.percentage", r.peak_percent);
    memoryField(c, "allocator.allocated", r.allocator.allocated);
    memoryField(c, "allocator.active", r.allocator.active);
    memoryField(c, "allocator.resident", r.allocator.resident);
    memoryField(c, "allocator.muzzy", r.allocator.muzzy);
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

#define REPORT_USED_MIN (5u << 20) /* with less used memory, ratios are meaningless */
#define WASTE_BYTES (10 << 20)     /* a ratio is bad only if it stands for at least this much memory */

#define ADVICE_PEAK                                                                                               \
    " * Peak: once, more than one and a half times of today's memory was in use. Pages that the peak left behind" \
    " are scattered, so the system gets few of them back and the resident size stays high; new data will fill"    \
    " them. MEMORY PURGE returns what can be returned.\n\n"
#define ADVICE_TOTAL_FRAG                                                                                       \
    " * Resident size: the system has given the process more than 1.4 times the memory that is in use. After a" \
    " peak (see above) that does no harm. Otherwise the sizes of values change so that gaps remain; jemalloc"   \
    " keeps them smallest, and this server was built with %s.\n\n"
#define ADVICE_CAUSE \
    " * Cause: %zu MB are resident and %zu MB in use; the largest part of the difference, %lld MB, is %s.\n\n"
#define ADVICE_ALLOCATOR_FRAG                                                                                    \
    " * Gaps: more than a tenth of what the allocator's pages hold is free but too scattered to be returned. It" \
    " comes of a peak (see above) or of values that grow and shrink a lot. New data fills the gaps first;"       \
    " activedefrag yes closes them while clients are served.\n\n"
#define ADVICE_ALLOCATOR_RSS                                                                                   \
    " * Kept pages: the allocator holds on to more than a tenth of its pages without need, as it does after a" \
    " peak. MEMORY PURGE returns them.\n\n"
#define ADVICE_PROCESS_RSS                                                                                        \
    " * Outside the allocator: more than a tenth of the resident size is not the allocator's: stacks of threads," \
    " libraries, engines of scripts.\n\n"
#define ADVICE_REPLICA_BUFFERS                                                                                   \
    " * Replicas: on average more than 10 MB wait to be sent to each. One of them, or its network, is too slow:" \
    " INFO replication shows which lags behind, CLIENT LIST TYPE replica how much waits (omem).\n\n"
#define ADVICE_CLIENT_BUFFERS                                                                                   \
    " * Clients: on average more than 200 KB of replies wait to be read by each. Look in CLIENT LIST for large" \
    " omem: subscribers that cannot keep up, very long pipelines, very large replies."                          \
    " client-output-buffer-limit sets bounds.\n\n"

static bool wasteful(float ratio, float limit, long long bytes) { return ratio > limit && bytes > WASTE_BYTES; }

/* Names the largest part of resident memory that is not in use; the paragraphs below it say more. */
static sds catCause(sds text, const memoryReport *r) {
    static const char *const causes[] = {[WASTE_GAPS] = "gaps between values (Gaps)",
                                         [WASTE_FREE_PAGES] = "free pages that were not given back yet (Kept pages)",
                                         [WASTE_OUTSIDE] = "not the allocator's (Outside the allocator)"};
    long long bytes;
    memoryWaste waste = memoryWasteOf(r, &bytes);
    if (waste == WASTE_NONE) return text;
    return sdsCatPrintf(text, ADVICE_CAUSE, r->rss >> 20, r->used >> 20, bytes >> 20, causes[waste]);
}

static sds doctorReport(const memoryReport *r) {
    if (r->used < REPORT_USED_MIN)
        return sdsNew("With so little data there is nothing to be found: what any server needs outweighs it. Ask again "
                      "when 5 MB are in use.\n");
    sds found = sdsEmpty();
    if ((float)r->peak / (float)r->used > 1.5F) found = sdsCat(found, ADVICE_PEAK);
    if (wasteful(r->total_ratio, 1.4F, r->total_bytes))
        found = sdsCatPrintf(found, ADVICE_TOTAL_FRAG, zmallocLibrary());
    found = catCause(found, r);
    if (wasteful(r->frag_ratio, 1.1F, r->frag_bytes)) found = sdsCat(found, ADVICE_ALLOCATOR_FRAG);
    if (wasteful(r->rss_ratio, 1.1F, r->rss_bytes)) found = sdsCat(found, ADVICE_ALLOCATOR_RSS);
    if (wasteful(r->rss_overhead_ratio, 1.1F, r->rss_overhead_bytes)) found = sdsCat(found, ADVICE_PROCESS_RSS);
    if (r->clients_replicas_count && r->clients_replicas / r->clients_replicas_count > 10 << 20)
        found = sdsCat(found, ADVICE_REPLICA_BUFFERS);
    if (r->clients_normal_count && r->clients_normal / r->clients_normal_count > 200 << 10)
        found = sdsCat(found, ADVICE_CLIENT_BUFFERS);
    if (sdsLen(found) == 0) return sdsCat(found, "No waste of memory was found.\n");
    sds report = sdsNew("Memory may be wasted here:\n\n");
    report = sdsCatSlice(report, sdsSlice(found));
    sdsFree(found);
    return report;
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

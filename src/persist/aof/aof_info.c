/* aof_info.c -- INFO fields about the append-only file.
 *
 * Threads     main; also a thread that crashes, for the INFO sections of the crash report.
 * Tests       tests/persist/aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof.h"

#include "aof_rewrite.h"
#include "info_table.h"
#include "persist_settings.h"

static void enabled(infoOut *o) { infoLine(o, "aof_enabled:%d", aofIsEnabled()); }

static void rewriting(infoOut *o) {
    aofRewriteFigures f = aofRewriteFiguresNow();
    infoLine(o, "aof_rewrite_in_progress:%d", f.in_progress);
    infoLine(o, "aof_rewrite_scheduled:%d", f.scheduled);
    infoLine(o, "aof_last_rewrite_time_sec:%lld", f.last_took_s);
    infoLine(o, "aof_current_rewrite_time_sec:%lld", f.current_took_s);
    infoLine(o, "aof_last_bgrewrite_status:%s", f.last_ok ? "ok" : "err");
    infoLine(o, "aof_rewrites:%lld", f.started);
    infoLine(o, "aof_rewrites_consecutive_failures:%lld", f.failures);
}

static void copied(infoOut *o) { infoLine(o, "aof_last_cow_size:%zu", aofRewriteFiguresNow().last_cow_bytes); }

static void writeStatus(infoOut *o) {
    infoLine(o, "aof_last_write_status:%s", aofFiguresNow().write_ok ? "ok" : "err");
}

/* These INFO fields exist only if appendonly is yes. Before the log's thread starts they are 0. */
static void sizes(infoOut *o) {
    aofFigures f = aofFiguresNow();
    if (!persist_settings.appendonly) return;
    infoLine(o, "aof_current_size:%lld", (long long)f.current_size);
    infoLine(o, "aof_base_size:%lld", (long long)f.base_size);
    infoLine(o, "aof_pending_rewrite:%d", aofRewriteFiguresNow().scheduled);
    infoLine(o, "aof_buffer_length:%zu", f.buffer_length);
    infoLine(o, "aof_pending_bio_fsync:%d", f.pending_sync);
    infoLine(o, "aof_delayed_fsync:%lld", f.delayed_sync);
}

static void bufferMemory(infoOut *o) { infoLine(o, "mem_aof_buffer:%zu", aofFiguresNow().buffer_memory); }

static void resetStats(void) {
    aofResetStats();
    aofRewriteResetStats();
}

static const infoMetric metrics[] = {
    {"aof_enabled", NULL, INFO_GAUGE, 0, "Whether there is an append-only file."},
    {"aof_rewrite_in_progress", NULL, INFO_GAUGE, 0, "Whether the append-only file is being rewritten."},
    {"aof_rewrite_scheduled", NULL, INFO_GAUGE, 0,
     "Whether it will be rewritten when the snapshot under way is written."},
    {"aof_last_rewrite_time_sec", "aof_last_rewrite_time_seconds", INFO_GAUGE, 0,
     "How long the last rewrite took; -1: there was none."},
    {"aof_current_rewrite_time_sec", "aof_current_rewrite_time_seconds", INFO_GAUGE, 0,
     "How long the rewrite under way has taken; -1: there is none."},
    {"aof_last_bgrewrite_status", "aof_last_bgrewrite_ok", INFO_OK, 0, "Whether the last rewrite succeeded."},
    {"aof_rewrites", NULL, INFO_COUNTER, 0, "Rewrites of the append-only file."},
    {"aof_rewrites_consecutive_failures", NULL, INFO_GAUGE, 0,
     "Rewrites that have failed since the last that did not."},
    {"aof_last_cow_size", "aof_last_cow_size_bytes", INFO_GAUGE, 0, "Memory that was copied for the last rewrite."},
    {"aof_last_write_status", "aof_last_write_ok", INFO_OK, 0,
     "Whether the last write to the append-only file succeeded."},
    {"aof_current_size", "aof_current_size_bytes", INFO_GAUGE, 0, "Size of the append-only file."},
    {"aof_base_size", "aof_base_size_bytes", INFO_GAUGE, 0, "Size of the append-only file after its last rewrite."},
    {"aof_pending_rewrite", NULL, INFO_GAUGE, 0, "Whether a rewrite waits for a snapshot."},
    {"aof_buffer_length", "aof_buffer_length_bytes", INFO_GAUGE, 0,
     "Bytes that are to be written to the append-only file."},
    {"aof_pending_bio_fsync", NULL, INFO_GAUGE, 0, "Syncs of the append-only file that are under way or wait."},
    {"aof_delayed_fsync", NULL, INFO_COUNTER, 0, "Writes that had to wait for a sync."},
    {"mem_aof_buffer", "mem_aof_buffer_bytes", INFO_GAUGE, 0,
     "Memory of what is to be written to the append-only file."},
    {.field = NULL},
};

void aofInfoRegister(void) {
    static const infoFields fields[] = {{"persistence", 190, .write = enabled},
                                        {"persistence", 200, .write = rewriting},
                                        {"persistence", 270, .write = writeStatus},
                                        {"persistence", 280, .write = copied},
                                        {"persistence", 320, .write = sizes},
                                        {"memory", 510, .write = bufferMemory},
                                        {.section = NULL}};
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
    infoTableAddMetrics(metrics);
}

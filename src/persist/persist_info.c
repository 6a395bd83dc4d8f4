/* persist_info.c -- INFO fields about snapshots and forked children.
 *
 * Threads     main; also a thread that crashes, for the INFO sections of the crash report.
 * Tests       tests/persist/snapshot.tcl, tests/server/info.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "persist.h"

#include "child.h"
#include "info_table.h"
#include "snapshot.h"

static void persistInfoProgress(infoOut *o) {
    childFigures f = childFiguresNow();
    double percent = f.keys_total ? (double)f.keys_done * 100 / (double)f.keys_total : 0;
    infoLine(o, "current_cow_peak:%zu", f.cow_peak_bytes);
    infoLine(o, "current_cow_size:%zu", f.cow_bytes);
    infoLine(o, "current_cow_size_age:%llu", (unsigned long long)f.cow_age_s);
    infoLine(o, "current_fork_perc:%.2f", percent);
    infoLine(o, "current_save_keys_processed:%zu", f.keys_done);
    infoLine(o, "current_save_keys_total:%zu", f.keys_total);
}

static void snapshots(infoOut *o) {
    snapshotFigures f = snapshotFiguresNow();
    infoLine(o, "rdb_bgsave_in_progress:%d", f.in_progress);
    infoLine(o, "rdb_last_save_time:%lld", (long long)f.last_save_s);
    infoLine(o, "rdb_last_bgsave_status:%s", f.last_ok ? "ok" : "err");
    infoLine(o, "rdb_last_bgsave_time_sec:%lld", f.last_took_s);
    infoLine(o, "rdb_current_bgsave_time_sec:%lld", f.current_took_s);
    infoLine(o, "rdb_saves:%lld", f.saves);
    infoLine(o, "rdb_last_cow_size:%zu", f.last_cow_bytes);
}

static void forks(infoOut *o) {
    infoLine(o, "latest_fork_usec:%llu", (unsigned long long)childLastForkUs());
    infoLine(o, "total_forks:%lld", childForks());
}

static void resetStats(void) {
    childResetStats();
    snapshotResetStats();
}

static const infoMetric metrics[] = {
    {"current_cow_peak", "current_cow_peak_bytes", INFO_GAUGE, 0,
     "Most memory that was copied for the child that is writing."},
    {"current_cow_size", "current_cow_size_bytes", INFO_GAUGE, 0,
     "Memory that was copied for the child that is writing."},
    {"current_cow_size_age", "current_cow_size_age_seconds", INFO_GAUGE, 0,
     "How old the figure of memory copied for the child is."},
    {"current_fork_perc", NULL, INFO_GAUGE, 0, "How far the child that is writing has come, in percent."},
    {"current_save_keys_processed", NULL, INFO_GAUGE, 0, "Keys that the child that is writing has written."},
    {"current_save_keys_total", "current_save_keys", INFO_GAUGE, 0,
     "Keys that the child that is writing has to write."},
    {"rdb_bgsave_in_progress", NULL, INFO_GAUGE, 0, "Whether a snapshot is being written."},
    {"rdb_last_save_time", NULL, INFO_GAUGE, 0, "When the last snapshot was written, in seconds since 1970."},
    {"rdb_last_bgsave_status", "rdb_last_bgsave_ok", INFO_OK, 0, "Whether the last snapshot could be written."},
    {"rdb_last_bgsave_time_sec", "rdb_last_bgsave_time_seconds", INFO_GAUGE, 0,
     "How long the last snapshot took; -1: there was none."},
    {"rdb_current_bgsave_time_sec", "rdb_current_bgsave_time_seconds", INFO_GAUGE, 0,
     "How long the snapshot under way has taken; -1: there is none."},
    {"rdb_saves", NULL, INFO_COUNTER, 0, "Snapshots that were written."},
    {"rdb_last_cow_size", "rdb_last_cow_size_bytes", INFO_GAUGE, 0, "Memory that was copied for the last snapshot."},
    {"latest_fork_usec", NULL, INFO_GAUGE, 0, "How long the last fork took, in microseconds."},
    {"total_forks", "forks", INFO_COUNTER, 0, "Children that were forked."},
    {.field = NULL},
};

void persistInfoRegister(void) {
    static const infoFields fields[] = {{"persistence", 30, .write = persistInfoProgress},
                                        {"persistence", 100, .write = snapshots},
                                        {"stats", 340, .write = forks},
                                        {.section = NULL}};
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
    infoTableAddMetrics(metrics);
}

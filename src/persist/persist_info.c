/* persist_info.c -- INFO fields about snapshots and forked children.
 *
 * Threads     main; also a thread that crashes, for the INFO sections of the crash report.
 * Tests       tests/persist/snapshot.tcl, tests/server/info.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "persist.h"

#include "child.h"
#include "fork_outlook.h"
#include "info_table.h"
#include "quiet_moment.h"
#include "snapshot.h"

static void writeProgress(infoOut *o) {
    childFigures f = childFiguresNow();
    double percent = f.keys_total ? (double)f.keys_done * 100 / (double)f.keys_total : 0;
    infoSize(o, "current_cow_peak", f.cow_peak_bytes, "Most memory that was copied for the child that is writing.");
    infoSize(o, "current_cow_size", f.cow_bytes, "Memory that was copied for the child that is writing.");
    infoGauge(o, "current_cow_size_age", f.cow_age_s, "How old the figure of memory copied for the child is.",
              .family = "current_cow_size_age_seconds");
    infoGauge(o, "current_fork_perc", percent, "How far the child that is writing has come, in percent.");
    infoGauge(o, "current_save_keys_processed", f.keys_done, "Keys that the child that is writing has written.");
    infoGauge(o, "current_save_keys_total", f.keys_total, "Keys that the child that is writing has to write.",
              .family = "current_save_keys");
}

static void writeSnapshots(infoOut *o) {
    snapshotFigures f = snapshotFiguresNow();
    infoGauge(o, "rdb_bgsave_in_progress", f.in_progress, "Whether a snapshot is being written.");
    infoGauge(o, "rdb_last_save_time", f.last_save_s, "When the last snapshot was written, in seconds since 1970.");
    INFO_FIELD(o, "rdb_last_bgsave_status", f.last_ok ? "ok" : "err", INFO_OK,
               .help = "Whether the last snapshot could be written.", .family = "rdb_last_bgsave_ok");
    infoGauge(o, "rdb_last_bgsave_time_sec", f.last_took_s, "How long the last snapshot took; -1: there was none.",
              .family = "rdb_last_bgsave_time_seconds");
    infoGauge(o, "rdb_current_bgsave_time_sec", f.current_took_s,
              "How long the snapshot under way has taken; -1: there is none.",
              .family = "rdb_current_bgsave_time_seconds");
    infoCounter(o, "rdb_saves", f.saves, "Snapshots that were written.");
    infoSize(o, "rdb_last_cow_size", f.last_cow_bytes, "Memory that was copied for the last snapshot.");
}

static void writeNextFork(infoOut *o) {
    forkForecast f = forkOutlookNow();
    quietFigures q = quietFiguresNow();
    infoGauge(o, "next_fork_expected_usec", f.stall_us,
              "How long all clients are expected to wait for the next fork, in microseconds.");
    infoSize(o, "next_fork_expected_memory", f.memory,
             "Memory that the next child is expected to take, at the present rate of changes.");
    infoSize(o, "next_fork_memory_limit", f.memory_limit,
             "Memory that the next child takes if every page is written to while it lives.");
    infoGauge(o, "fork_waits_for_quiet", q.waiting, "Whether a snapshot or rewrite waits for a quiet moment.");
    infoCounter(o, "forks_at_quiet_moment", q.found, "Forks that waited for a quiet moment and found one.");
    infoCounter(o, "forks_at_quiet_bound", q.missed,
                "Forks that waited for a quiet moment as long as save-when-quiet allows.");
}

static void writeForks(infoOut *o) {
    infoGauge(o, "latest_fork_usec", childLastForkUs(), "How long the last fork took, in microseconds.");
    infoCounter(o, "total_forks", childForks(), "Children that were forked.", .family = "forks");
}

static void resetStats(void) {
    childResetStats();
    quietResetStats();
    snapshotResetStats();
}

void persistInfoRegister(void) {
    static const infoFields fields[] = {{"persistence", 30, writeProgress},
                                        {"persistence", 100, writeSnapshots},
                                        {"persistence", 165, writeNextFork},
                                        {"stats", 340, writeForks},
                                        {.section = NULL}};
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
}

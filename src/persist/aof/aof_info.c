/* aof_info.c -- INFO fields about the append-only file.
 *
 * Threads     main; also a thread that crashes, for the INFO sections of the crash report.
 * Tests       tests/persist/aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof.h"

#include "aof_rewrite.h"
#include "backup_commands.h"
#include "clock.h"
#include "info_table.h"
#include "persist_settings.h"

static void writeEnabled(infoOut *o) {
    infoGauge(o, "aof_enabled", aofIsEnabled(), "Whether there is an append-only file.");
}

static void writeRewrites(infoOut *o) {
    aofRewriteFigures f = aofRewriteFiguresNow();
    infoGauge(o, "aof_rewrite_in_progress", f.in_progress, "Whether the append-only file is being rewritten.");
    infoGauge(o, "aof_rewrite_scheduled", f.scheduled,
              "Whether it will be rewritten when the snapshot under way is written.");
    infoGauge(o, "aof_last_rewrite_time_sec", f.last_took_s, "How long the last rewrite took; -1: there was none.",
              .family = "aof_last_rewrite_time_seconds");
    infoGauge(o, "aof_current_rewrite_time_sec", f.current_took_s,
              "How long the rewrite under way has taken; -1: there is none.",
              .family = "aof_current_rewrite_time_seconds");
    INFO_FIELD(o, "aof_last_bgrewrite_status", f.last_ok ? "ok" : "err", INFO_OK,
               .help = "Whether the last rewrite succeeded.", .family = "aof_last_bgrewrite_ok");
    infoCounter(o, "aof_rewrites", f.started, "Rewrites of the append-only file.");
    infoGauge(o, "aof_rewrites_consecutive_failures", f.failures,
              "Rewrites that have failed since the last that did not.");
}

static void writeCopied(infoOut *o) {
    infoSize(o, "aof_last_cow_size", aofRewriteFiguresNow().last_cow_bytes,
             "Memory that was copied for the last rewrite.");
}

static void writeStatus(infoOut *o) {
    INFO_FIELD(o, "aof_last_write_status", aofFiguresNow().write_ok ? "ok" : "err", INFO_OK,
               .help = "Whether the last write to the append-only file succeeded.", .family = "aof_last_write_ok");
}

/* These INFO fields exist only if appendonly is yes. Before the log's thread starts they are 0. */
static void writeSizes(infoOut *o) {
    aofFigures f = aofFiguresNow();
    if (!persist_settings.appendonly) return;
    infoSize(o, "aof_current_size", f.current_size, "Size of the append-only file.");
    infoSize(o, "aof_base_size", f.base_size, "Size of the append-only file after its last rewrite.");
    infoGauge(o, "aof_pending_rewrite", aofRewriteFiguresNow().scheduled, "Whether a rewrite waits for a snapshot.");
    infoSize(o, "aof_buffer_length", f.buffer_length, "Bytes that are to be written to the append-only file.");
    infoGauge(o, "aof_pending_bio_fsync", f.pending_sync, "Syncs of the append-only file that are under way or wait.");
    infoCounter(o, "aof_delayed_fsync", f.delayed_sync, "Writes that had to wait for a sync.");
}

/* INFO fields of our own. */
static void writeBackups(infoOut *o) {
    const aofBackup *b = backupNow();
    bool on = aofBackupHolds(b);
    infoGauge(o, "aof_backup_in_progress", on, "Whether a backup of the append-only file is under way (BACKUP START).");
    infoGauge(o, "aof_backup_time_sec", on ? (clockWallMs() - b->began_ms) / 1000 : -1,
              "How long that backup has taken; -1: there is none.", .family = "aof_backup_time_seconds");
    infoSize(o, "aof_backup_bytes", on ? b->bytes : 0, "Bytes of the files that it copies.");
    infoGauge(o, "aof_last_backup_time", b->completed_s, "When the last backup ended; -1: there was none.",
              .family = "aof_last_backup_timestamp_seconds");
    infoCounter(o, "aof_backups", b->completed, "Backups of the append-only file that have ended after a seal.");
    infoCounter(o, "aof_backups_given_up", b->given_up, "Backups that were given up after backup-timeout seconds.");
}

static void writeBufferMemory(infoOut *o) {
    infoSize(o, "mem_aof_buffer", aofFiguresNow().buffer_memory,
             "Memory of what is to be written to the append-only file.");
}

static void resetStats(void) {
    backupResetStats();
    aofResetStats();
    aofRewriteResetStats();
}

void aofInfoRegister(void) {
    static const infoFields fields[] = {{"persistence", 190, writeEnabled}, {"persistence", 200, writeRewrites},
                                        {"persistence", 270, writeStatus},  {"persistence", 280, writeCopied},
                                        {"persistence", 315, writeBackups}, {"persistence", 320, writeSizes},
                                        {"memory", 510, writeBufferMemory}, {.section = NULL}};
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
}

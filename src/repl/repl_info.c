/* repl_info.c -- the INFO fields of replication.
 *
 * Threads     main.
 * Tests       tests/repl/sync.tcl, tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "replication.h"

#include "clock.h"
#include "failover.h"
#include "info_table.h"
#include "keep_dataset.h"
#include "one_line.h"
#include "panic.h"
#include "primary_link.h"
#include "psync.h"
#include "repl_settings.h"
#include "replicas.h"
#include "sync_cause.h"
#include "repl_stream.h"
#include "target_link.h"
#include "rdb_copier.h"

#include <string.h>

#define ADDRESS_BYTES 256

/* ---- Section replication ---- */

static void writeSync(infoOut *o, const primaryFigures *f) {
    long long left = f->sync_total < 0 ? -1 : f->sync_total - f->sync_read;
    double percent = f->sync_total > 0 ? (double)f->sync_read * 100 / (double)f->sync_total : 0;
    infoGauge(o, "master_sync_total_bytes", f->sync_total,
              "Size of the dataset that the primary is sending; -1 if unknown.", .family = "master_sync_size_bytes");
    infoGauge(o, "master_sync_read_bytes", f->sync_read, "Bytes of the dataset that were received from the primary.");
    infoGauge(o, "master_sync_left_bytes", left, "Bytes of the dataset that are not yet received from the primary.");
    infoGauge(o, "master_sync_perc", f->sync_total < 0 ? -0.0 : percent,
              "Part of the dataset that was received from the primary, in percent.");
    infoGauge(o, "master_sync_last_io_seconds_ago", f->sync_input_ago_s,
              "Seconds since bytes of the dataset were last received from the primary.");
}

static void writeReplica(infoOut *o) {
    primaryFigures f = primaryLinkFigures();
    keepFigures kept = keepDatasetFigures();
    infoLabel(o, "master_host", repl_settings.primary_host);
    infoLabel(o, "master_port", repl_settings.primary_port);
    INFO_FIELD(o, "master_link_status", f.state == PRIMARY_UP ? "up" : "down", INFO_UP,
               .help = "Whether this replica is connected to its primary.", .family = "master_link_up");
    infoGauge(o, "master_last_io_seconds_ago", f.last_input_ago_s,
              "Seconds since the last input from the primary; -1 without a connection.");
    infoGauge(o, "master_sync_in_progress", f.syncing, "Whether the primary is sending the whole dataset.");
    infoGauge(o, "slave_read_repl_offset", f.read_offset, "Offset in the primary's stream up to which it was read.");
    infoGauge(o, "slave_repl_offset", f.applied_offset, "Offset in the primary's stream up to which it was executed.");
    infoSize(o, "replicas_repl_buffer_size", f.buffered,
             "Size of the stream buffer while this replica loads a snapshot.");
    infoSize(o, "replicas_repl_buffer_peak", f.buffered_peak, "Peak of the stream buffer of this replica.");
    if (f.syncing) writeSync(o, &f);
    if (f.state != PRIMARY_UP)
        infoGauge(o, "master_link_down_since_seconds", f.down_since_s,
                  "Seconds since the connection to the primary was lost; -1 if there was none.");
    infoGauge(o, "replica_keeping_from_empty_primary", kept.keeps,
              "Whether this replica keeps its dataset, because the primary is a new one and has no keys.");
    infoGauge(o, "replica_keeping_from_empty_primary_seconds", kept.since_s,
              "Seconds since it has kept its dataset for that reason; -1 if it does not.");
    infoGauge(o, "slave_priority", repl_settings.priority,
              "Priority for promotion by Sentinel: the lowest first, 0 never.");
    infoGauge(o, "slave_read_only", repl_settings.read_only, "Whether clients may not write to this replica.");
    infoGauge(o, "replica_announced", repl_settings.announced, "Whether Sentinel shows this replica to clients.");
}

static const char *kindOf(const replicaState *r) {
    if (r->is_rdb_channel) return "rdb-channel";
    return r->phase == REPLICA_LOADS_BESIDE ? "main-channel" : "replica";
}

static void writeReplicas(infoOut *o) {
    int i = 0;
    uint64_t now_ms = clockMonotonicMs();
    for (const replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        char ip[ADDRESS_BYTES];
        replicaAddress(r, ip, sizeof(ip));
        oneWord(ip, strlen(ip)); /* the replica has sent it, so it may have any characters */
        long long lag_s = r->phase == REPLICA_ONLINE ? (long long)((now_ms - r->acked_ms) / 1000) : 0;
        infoLine(o, "slave%d:ip=%s,port=%lld,state=%s,offset=%lld,lag=%lld,type=%s", i++, ip, r->port,
                 replicaPhaseName(r->phase), r->acked, lag_s, kindOf(r));
    }
}

static void writeStream(infoOut *o) {
    const replIds *names = replicationIds();
    bool kept = replStreamIsKept();
    unsigned long long begin = kept ? backlogBegin(replStreamBacklog()) : 0, end = replStreamOffset();
    infoGauge(o, "replicas_waiting_psync", replicasWaitingPsync(),
              "Replicas that receive a snapshot on a second connection.");
    infoLine(o, "master_failover_state:%s", failoverText());
    infoLabel(o, "master_replid", names->id);
    infoLabel(o, "master_replid2", names->id2);
    infoGauge(o, "master_repl_offset", end, "Offset of the replication stream.");
    infoGauge(o, "second_repl_offset", names->id2_until, "Offset up to which master_replid2 is valid; -1 without one.");
    infoGauge(o, "repl_backlog_active", kept, "Whether there is a backlog.");
    infoSize(o, "repl_backlog_size", repl_settings.backlog_size, "Size of the backlog for replicas that reconnect.");
    infoGauge(o, "repl_backlog_first_byte_offset", kept ? begin + 1 : 0, "Offset of the oldest byte in the backlog.");
    infoSize(o, "repl_backlog_histlen", kept ? end - begin : 0, "Bytes in the backlog.");
}

static void writeReplication(infoOut *o) {
    bool replica = primaryLinkIsOn();
    infoLine(o, "role:%s", replica ? "slave" : "master");
    if (replica) writeReplica(o);
    infoGauge(o, "connected_slaves", replicasCount(), "Replicas that are connected.");
    if (repl_settings.min_replicas && repl_settings.min_replicas_max_lag_s)
        infoGauge(o, "min_slaves_good_slaves", replicasGood(),
                  "Replicas that are no further behind than min-replicas-max-lag.");
    writeReplicas(o);
    writeStream(o);
}

/* ---- INFO fields in other sections ---- */

static void writeMemory(infoOut *o) {
    size_t all = replStreamIsKept() ? replStreamBacklog()->memory : 0;
    size_t own = all < (size_t)repl_settings.backlog_size ? all : (size_t)repl_settings.backlog_size;
    infoSize(o, "mem_replication_backlog", own, "Memory of the backlog, up to repl-backlog-size.");
    infoGauge(o, "mem_total_replication_buffers", all, "Memory of the whole backlog, also for slow replicas.",
              .family = "mem_replication_buffers_bytes");
    infoSize(o, "mem_replicas_repl_buffer", primaryLinkFigures().buffered,
             "Memory of the stream buffer while this replica loads a snapshot.");
}

replTraffic replTrafficNow(void) {
    assertMainRole();
    return (replTraffic){.input = primaryLinkFigures().input_bytes, .output = replicasSent() + rdbCopiersSent()};
}

static replTraffic traffic_at_reset;

static void writeTraffic(infoOut *o) {
    replTraffic t = replTrafficNow(), from = traffic_at_reset;
    infoCounter(o, "total_net_repl_input_bytes", t.input - from.input, "Bytes that the primary has sent.",
                .family = "net_repl_input_bytes");
    infoCounter(o, "total_net_repl_output_bytes", t.output - from.output, "Bytes that replicas were sent.",
                .family = "net_repl_output_bytes");
}

static void writeSyncs(infoOut *o) {
    infoCounter(o, "sync_full", psync_stats.full, "Full synchronizations of replicas.");
    infoCounter(o, "sync_partial_ok", psync_stats.partial_ok, "Partial synchronizations of replicas.");
    infoCounter(o, "sync_partial_err", psync_stats.partial_err,
                "Partial synchronizations that were requested and refused.");
    const unsigned long long *n = sync_causes;
    infoCounter(o, "sync_full_new_replica", n[SYNC_NEW], "Full synchronizations, because the replica had no dataset.");
    infoCounter(o, "sync_full_other_history", n[SYNC_OTHER_ID] + n[SYNC_DIVERGED] + n[SYNC_AHEAD],
                "Full synchronizations, because the dataset of the replica was not an older state of this one.");
    infoCounter(o, "sync_full_backlog_size", n[SYNC_BACKLOG_SMALL],
                "Full synchronizations that a larger repl-backlog-size would have avoided.");
    infoCounter(o, "sync_full_backlog_new", n[SYNC_BACKLOG_NEW],
                "Full synchronizations, because the backlog was begun too late.");
    infoCounter(o, "sync_full_output_limit", n[SYNC_OUTPUT_LIMIT],
                "Full synchronizations, because the replica had been disconnected at its output limit.");
}

static void writeTargets(infoOut *o) {
    infoGauge(o, "migrate_cached_sockets", targetsCached(), "Connections that MIGRATE keeps open.");
}

static void resetStats(void) {
    psync_stats = (psyncStats){0};
    memset(sync_causes, 0, sizeof(sync_causes));
    traffic_at_reset = replTrafficNow();
}

void replInfoRegister(void) {
    static const infoSection sections[] = {{"replication", "Replication", 70, INFO_DEFAULT}, {.name = NULL}};
    static const infoFields fields[] = {{"replication", 10, writeReplication}, {"memory", 430, writeMemory},
                                        {"stats", 60, writeTraffic},           {"stats", 150, writeSyncs},
                                        {"stats", 360, writeTargets},          {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
}

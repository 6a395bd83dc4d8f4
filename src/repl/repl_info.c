/* repl_info.c -- the INFO fields of replication.
 *
 * Threads     main.
 * Tests       tests/repl/sync.tcl, tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "repl_info.h"

#include "clock.h"
#include "failover.h"
#include "info_table.h"
#include "one_line.h"
#include "panic.h"
#include "primary_link.h"
#include "psync.h"
#include "repl_settings.h"
#include "replicas.h"
#include "repl_stream.h"
#include "target_link.h"
#include "rdb_copier.h"

#define ADDRESS_BYTES 256

/* ---- Section replication ---- */

static void writeSync(infoOut *o, const primaryFigures *f) {
    long long left = f->sync_total < 0 ? -1 : f->sync_total - f->sync_read;
    double percent = f->sync_total > 0 ? (double)f->sync_read * 100 / (double)f->sync_total : 0;
    infoLine(o, "master_sync_total_bytes:%lld", f->sync_total);
    infoLine(o, "master_sync_read_bytes:%lld", f->sync_read);
    infoLine(o, "master_sync_left_bytes:%lld", left);
    infoLine(o, "master_sync_perc:%.2f", f->sync_total < 0 ? -0.0 : percent);
    infoLine(o, "master_sync_last_io_seconds_ago:%lld", f->sync_heard_ago_s);
}

static void writeReplica(infoOut *o) {
    primaryFigures f = primaryLinkFigures();
    infoLine(o, "master_host:%s", repl_settings.primary_host);
    infoLine(o, "master_port:%lld", repl_settings.primary_port);
    infoLine(o, "master_link_status:%s", f.state == PRIMARY_UP ? "up" : "down");
    infoLine(o, "master_last_io_seconds_ago:%lld", f.heard_ago_s);
    infoLine(o, "master_sync_in_progress:%d", f.syncing);
    infoLine(o, "slave_read_repl_offset:%lld", f.read_offset);
    infoLine(o, "slave_repl_offset:%lld", f.applied_offset);
    infoLine(o, "replicas_repl_buffer_size:%zu", f.kept);
    infoLine(o, "replicas_repl_buffer_peak:%zu", f.kept_peak);
    if (f.syncing) writeSync(o, &f);
    if (f.state != PRIMARY_UP) infoLine(o, "master_link_down_since_seconds:%lld", f.down_since_s);
    infoLine(o, "slave_priority:%lld", repl_settings.priority);
    infoLine(o, "slave_read_only:%d", repl_settings.read_only);
    infoLine(o, "replica_announced:%d", repl_settings.announced);
}

static const char *kindOf(const replicaState *r) {
    if (r->is_rdb_channel) return "rdb-channel";
    return r->phase == REPLICA_LOADS_BESIDE ? "main-channel" : "replica";
}

static void writeReplicas(infoOut *o) {
    int i = 0;
    uint64_t now_ms = clockMonotonicMs();
    listIter it = listBegin(replicasAll(), false);
    for (listNode *n = listNext(&it); n; n = listNext(&it)) {
        const replicaState *r = listNodeValue(n);
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
    infoLine(o, "replicas_waiting_psync:%zu", replicasWaitingPsync());
    infoLine(o, "master_failover_state:%s", failoverText());
    infoLine(o, "master_replid:%s", names->id);
    infoLine(o, "master_replid2:%s", names->id2);
    infoLine(o, "master_repl_offset:%llu", end);
    infoLine(o, "second_repl_offset:%lld", names->id2_until);
    infoLine(o, "repl_backlog_active:%d", kept);
    infoLine(o, "repl_backlog_size:%lld", repl_settings.backlog_size);
    infoLine(o, "repl_backlog_first_byte_offset:%llu", kept ? begin + 1 : 0);
    infoLine(o, "repl_backlog_histlen:%llu", kept ? end - begin : 0);
}

static void writeReplication(infoOut *o) {
    bool replica = primaryLinkWanted();
    infoLine(o, "role:%s", replica ? "slave" : "master");
    if (replica) writeReplica(o);
    infoLine(o, "connected_slaves:%zu", replicasCount());
    if (repl_settings.min_replicas && repl_settings.min_replicas_max_lag_s)
        infoLine(o, "min_slaves_good_slaves:%zu", replicasGood());
    writeReplicas(o);
    writeStream(o);
}

/* ---- INFO fields in other sections ---- */

static void writeMemory(infoOut *o) {
    size_t all = replStreamIsKept() ? replStreamBacklog()->memory : 0;
    size_t own = all < (size_t)repl_settings.backlog_size ? all : (size_t)repl_settings.backlog_size;
    infoLine(o, "mem_replication_backlog:%zu", own);
    infoLine(o, "mem_total_replication_buffers:%zu", all);
    infoLine(o, "mem_replicas_repl_buffer:%zu", primaryLinkFigures().kept);
}

replTraffic replTrafficNow(void) {
    assertMainRole();
    return (replTraffic){.input = primaryLinkFigures().input_bytes, .output = replicasSent() + rdbCopiersSent()};
}

static replTraffic traffic_at_reset;

static void writeTraffic(infoOut *o) {
    replTraffic t = replTrafficNow(), from = traffic_at_reset;
    infoLine(o, "total_net_repl_input_bytes:%llu", (unsigned long long)(t.input - from.input));
    infoLine(o, "total_net_repl_output_bytes:%llu", (unsigned long long)(t.output - from.output));
}

static void writeSyncs(infoOut *o) {
    infoLine(o, "sync_full:%lld", psync_stats.full);
    infoLine(o, "sync_partial_ok:%lld", psync_stats.partial_ok);
    infoLine(o, "sync_partial_err:%lld", psync_stats.partial_err);
}

static void writeTargets(infoOut *o) { infoLine(o, "migrate_cached_sockets:%zu", targetsKept()); }

static void resetStats(void) {
    psync_stats = (psyncStats){0};
    traffic_at_reset = replTrafficNow();
}

static const infoMetric metrics[] = {
    {"master_sync_total_bytes", "master_sync_size_bytes", INFO_GAUGE, 0,
     "Size of the dataset that the primary is sending; -1: not known."},
    {"master_sync_read_bytes", NULL, INFO_GAUGE, 0, "Bytes of the dataset that have come from the primary."},
    {"master_sync_left_bytes", NULL, INFO_GAUGE, 0, "Bytes of the dataset that are still to come from the primary."},
    {"master_sync_perc", NULL, INFO_GAUGE, 0, "How much of the dataset has come from the primary, in percent."},
    {"master_sync_last_io_seconds_ago", NULL, INFO_GAUGE, 0,
     "Seconds since some of the dataset came from the primary."},
    {"master_host", NULL, INFO_LABEL, 0, NULL},
    {"master_port", NULL, INFO_LABEL, 0, NULL},
    {"master_link_status", "master_link_up", INFO_UP, 0, "Whether this replica is connected to its primary."},
    {"master_last_io_seconds_ago", NULL, INFO_GAUGE, 0,
     "Seconds since the primary was last heard of; -1: it is not connected."},
    {"master_sync_in_progress", NULL, INFO_GAUGE, 0, "Whether the primary is sending the whole dataset."},
    {"slave_read_repl_offset", NULL, INFO_GAUGE, 0, "Bytes of the primary's stream that were read."},
    {"slave_repl_offset", NULL, INFO_GAUGE, 0, "Bytes of the primary's stream that were executed."},
    {"replicas_repl_buffer_size", "replicas_repl_buffer_size_bytes", INFO_GAUGE, 0,
     "What this replica keeps while it reads a snapshot."},
    {"replicas_repl_buffer_peak", "replicas_repl_buffer_peak_bytes", INFO_GAUGE, 0,
     "Most that this replica has kept while it read a snapshot."},
    {"master_link_down_since_seconds", NULL, INFO_GAUGE, 0,
     "Seconds since the primary was lost; -1: it was never there."},
    {"slave_priority", NULL, INFO_GAUGE, 0, "Who becomes primary first: lower goes before higher, 0 never."},
    {"slave_read_only", NULL, INFO_GAUGE, 0, "Whether clients may not write to this replica."},
    {"replica_announced", NULL, INFO_GAUGE, 0, "Whether Sentinel tells clients of this replica."},
    {"replicas_waiting_psync", NULL, INFO_GAUGE, 0, "Replicas that read a snapshot over a second connection."},
    {"master_replid", NULL, INFO_LABEL, 0, NULL},
    {"master_replid2", NULL, INFO_LABEL, 0, NULL},
    {"master_repl_offset", NULL, INFO_GAUGE, 0, "Bytes of the stream of writes so far."},
    {"second_repl_offset", NULL, INFO_GAUGE, 0, "Up to where master_replid2 holds; -1: nowhere."},
    {"repl_backlog_active", NULL, INFO_GAUGE, 0, "Whether there is a backlog."},
    {"repl_backlog_size", "repl_backlog_size_bytes", INFO_GAUGE, 0, "Room in the backlog."},
    {"repl_backlog_first_byte_offset", NULL, INFO_GAUGE, 0, "Offset of the oldest byte in the backlog."},
    {"repl_backlog_histlen", "repl_backlog_histlen_bytes", INFO_GAUGE, 0, "Bytes in the backlog."},
    {"connected_slaves", NULL, INFO_GAUGE, 0, "Replicas that are connected."},
    {"min_slaves_good_slaves", NULL, INFO_GAUGE, 0, "Replicas that are no further behind than min-replicas-max-lag."},
    {"mem_replication_backlog", "mem_replication_backlog_bytes", INFO_GAUGE, 0,
     "Memory of the backlog from which replicas catch up."},
    {"mem_total_replication_buffers", "mem_replication_buffers_bytes", INFO_GAUGE, 0,
     "Memory of what is kept for replicas, the backlog included."},
    {"mem_replicas_repl_buffer", "mem_replicas_repl_buffer_bytes", INFO_GAUGE, 0,
     "Memory of what a replica keeps while it reads a snapshot."},
    {"total_net_repl_input_bytes", "net_repl_input_bytes", INFO_COUNTER, 0, "Bytes that the primary has sent."},
    {"total_net_repl_output_bytes", "net_repl_output_bytes", INFO_COUNTER, 0, "Bytes that replicas were sent."},
    {"sync_full", NULL, INFO_COUNTER, 0, "Times that replicas were sent the whole dataset."},
    {"sync_partial_ok", NULL, INFO_COUNTER, 0, "Times that replicas could go on where they had been."},
    {"sync_partial_err", NULL, INFO_COUNTER, 0,
     "Times that replicas asked to go on where they had been and could not."},
    {"migrate_cached_sockets", NULL, INFO_GAUGE, 0, "Connections that MIGRATE keeps open."},
    {.field = NULL},
};

void replInfoRegister(void) {
    static const infoSection sections[] = {{"replication", "Replication", 70, INFO_DEFAULT}, {.name = NULL}};
    static const infoFields fields[] = {
        {"replication", 10, .write = writeReplication}, {"memory", 430, .write = writeMemory},
        {"stats", 60, .write = writeTraffic},           {"stats", 150, .write = writeSyncs},
        {"stats", 360, .write = writeTargets},          {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
    infoTableAddMetrics(metrics);
}

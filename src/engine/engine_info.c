/* engine_info.c -- INFO fields about commands and their clients.
 *
 * Threads     main; also a thread that crashes (section Commandstats).
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include "blocking.h"
#include "call.h"
#include "histogram.h"
#include "info_table.h"
#include "pause.h"
#include "pubsub.h"
#include "sds.h"
#include "tracking.h"
#include "watch.h"

static void paused(infoOut *o) {
    infoLine(o, "paused_reason:%s", pauseReasonText());
    infoLine(o, "paused_actions:%s", pauseActionsText());
    infoLine(o, "paused_timeout_milliseconds:%lld", (long long)pauseEndsInMs());
}

static void watching(infoOut *o) { infoLine(o, "watching_clients:%zu", watch_totals.clients); }

static void watched(infoOut *o) { infoLine(o, "total_watched_keys:%zu", watch_totals.keys); }

static void waiting(infoOut *o) { infoLine(o, "clients_in_timeout_table:%zu", blocking_totals.timeouts); }

static void waitedFor(infoOut *o) {
    infoLine(o, "total_blocking_keys:%zu", blocking_totals.keys);
    infoLine(o, "total_blocking_keys_on_nokey:%zu", blocking_totals.nokey);
}

static void listenedTo(infoOut *o) {
    infoLine(o, "pubsub_channels:%zu", pubsubNames(PUBSUB_CHANNEL));
    infoLine(o, "pubsub_patterns:%zu", pubsubNames(PUBSUB_PATTERN));
    infoLine(o, "pubsubshard_channels:%zu", pubsubNames(PUBSUB_SHARD_CHANNEL));
}

static void tracked(infoOut *o) {
    trackingTotals t = trackingGetTotals();
    infoLine(o, "tracking_total_keys:%zu", t.keys);
    infoLine(o, "tracking_total_items:%zu", t.items);
    infoLine(o, "tracking_total_prefixes:%zu", t.prefixes);
}

static void processed(infoOut *o) { infoLine(o, "total_commands_processed:%lld", engine_stats.commands_processed); }

static void denied(infoOut *o) {
    infoLine(o, "acl_access_denied_auth:%lld", engine_stats.acl_denied_auth);
    infoLine(o, "acl_access_denied_cmd:%lld", engine_stats.acl_denied_cmd);
    infoLine(o, "acl_access_denied_key:%lld", engine_stats.acl_denied_key);
    infoLine(o, "acl_access_denied_channel:%lld", engine_stats.acl_denied_channel);
    infoLine(o, "acl_access_denied_tls_cert:%lld", engine_stats.acl_denied_tls_cert);
    infoLine(o, "acl_access_denied_db:%lld", engine_stats.acl_denied_db);
}

/* ---- Per command ----------------------------------------------------------------------------------- */

static void commandCounters(void *arg, serverCommand *cmd) {
    const commandStats *s = cmd->stats;
    if (s && (s->calls || s->failed_calls || s->rejected_calls))
        infoLine(arg, "cmdstat_%s:calls=%lld,usec=%lld,usec_per_call=%.2f,rejected_calls=%lld,failed_calls=%lld",
                 cmd->fullname, s->calls, (long long)(s->ns / 1000),
                 s->calls ? (double)s->ns / 1000 / (double)s->calls : 0, s->rejected_calls, s->failed_calls);
    for (int i = 0; i < cmd->nsubcommands; i++) commandCounters(arg, &cmd->subcommands[i]);
}

static void allCounters(infoOut *o) { commandEach(commandCounters, o); }

static void commandLatency(void *arg, serverCommand *cmd) {
    const struct histogram *h = cmd->stats ? cmd->stats->latency : NULL;
    if (h && histogramTotal(h)) {
        sds line = sdsEmpty();
        for (int i = 0; i < engine_settings.npercentiles; i++) {
            char name[32];
            enginePercentileText(name, sizeof(name), engine_settings.percentiles[i]);
            line = sdsCatPrintf(line, "%sp%s=%.3f", i ? "," : "", name,
                                (double)histogramPercentile(h, engine_settings.percentiles[i]) / 1000);
        }
        infoLine(arg, "latency_percentiles_usec_%s:%s", cmd->fullname, line);
        sdsFree(line);
    }
    for (int i = 0; i < cmd->nsubcommands; i++) commandLatency(arg, &cmd->subcommands[i]);
}

static void allLatencies(infoOut *o) {
    if (engine_settings.latency_tracking) commandEach(commandLatency, o);
}

static void resetStats(void) {
    /* command_ns stays, because a loop iteration measures its growth. The counters of refusals by ACL stay as well: a
     * reset must not hide that someone has tried passwords. */
    engine_stats.commands_processed = 0;
    commandStatsResetAll();
}

static const infoMetric metrics[] = {
    {"paused_timeout_milliseconds", "paused_timeout_seconds", INFO_GAUGE, 3, "Time until paused clients go on."},
    {"watching_clients", NULL, INFO_GAUGE, 0, "Clients that watch keys for a transaction."},
    {"total_watched_keys", "watched_keys", INFO_GAUGE, 0, "Keys that clients watch."},
    {"clients_in_timeout_table", NULL, INFO_GAUGE, 0, "Blocked clients whose wait has an end."},
    {"total_blocking_keys", "blocking_keys", INFO_GAUGE, 0, "Keys that clients wait for."},
    {"total_blocking_keys_on_nokey", "blocking_keys_on_nokey", INFO_GAUGE, 0,
     "Keys whose deletion clients wait for, too."},
    {"pubsub_channels", NULL, INFO_GAUGE, 0, "Channels that somebody listens to."},
    {"pubsub_patterns", NULL, INFO_GAUGE, 0, "Patterns of channels that somebody listens to."},
    {"pubsubshard_channels", NULL, INFO_GAUGE, 0, "Shard channels that somebody listens to."},
    {"tracking_total_keys", "tracking_keys", INFO_GAUGE, 0, "Keys that are tracked for clients."},
    {"tracking_total_items", "tracking_items", INFO_GAUGE, 0, "Pairs of a tracked key and a client it is tracked for."},
    {"tracking_total_prefixes", "tracking_prefixes", INFO_GAUGE, 0, "Prefixes of keys that are tracked for clients."},
    {"total_commands_processed", "commands_processed", INFO_COUNTER, 0, "Commands that were executed."},
    {"acl_access_denied_auth", NULL, INFO_COUNTER, 0, "Names and passwords that were wrong."},
    {"acl_access_denied_cmd", NULL, INFO_COUNTER, 0, "Commands that their user may not run."},
    {"acl_access_denied_key", NULL, INFO_COUNTER, 0, "Commands on a key that their user may not access."},
    {"acl_access_denied_channel", NULL, INFO_COUNTER, 0, "Commands on a channel that their user may not access."},
    {"acl_access_denied_tls_cert", NULL, INFO_COUNTER, 0, "Certificates that name no user."},
    {"acl_access_denied_db", NULL, INFO_COUNTER, 0, "Commands on a database that their user may not access."},
    {.field = NULL},
};

void engineInfoRegister(void) {
    static const infoSection sections[] = {
        {"commandstats", "Commandstats", 110, INFO_IN_CRASH}, {"latencystats", "Latencystats", 130, 0}, {.name = NULL}};
    static const infoFields fields[] = {{"clients", 90, .write = watching},
                                        {"clients", 100, .write = waiting},
                                        {"clients", 110, .write = watched},
                                        {"clients", 120, .write = waitedFor},
                                        {"clients", 140, .write = paused},
                                        {"stats", 20, .write = processed},
                                        {"stats", 310, .write = listenedTo},
                                        {"stats", 440, .write = tracked},
                                        {"stats", 680, .write = denied},
                                        {"commandstats", 10, .write = allCounters},
                                        {"latencystats", 10, .write = allLatencies},
                                        {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
    infoTableAddMetrics(metrics);
}

/* engine_info.c -- INFO fields about commands and their clients.
 *
 * Threads     main; also a thread that crashes (section Commandstats).
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include "blocking.h"
#include "call.h"
#include "event_stream.h"
#include "histogram.h"
#include "info_table.h"
#include "pause.h"
#include "pubsub.h"
#include "sds.h"
#include "slot_stats.h"
#include "tracking.h"
#include "transaction_queue.h"

static void pauseFields(infoOut *o) {
    infoLine(o, "paused_reason:%s", pauseReasonText());
    infoLine(o, "paused_actions:%s", pauseActionsText());
    infoGauge(o, "paused_timeout_milliseconds", pauseEndsInMs(), "Time until paused clients resume.",
              .family = "paused_timeout_seconds", .shift = 3);
}

static void watchingField(infoOut *o) {
    infoGauge(o, "watching_clients", watch_totals.clients, "Clients that watch keys for a transaction.");
}

static void watchedKeysField(infoOut *o) {
    infoGauge(o, "total_watched_keys", watch_totals.keys, "Keys that clients watch.", .family = "watched_keys");
}

static void timeoutsField(infoOut *o) {
    infoGauge(o, "clients_in_timeout_table", blocking_totals.timeouts, "Blocked clients whose wait has a timeout.");
}

static void blockingFields(infoOut *o) {
    infoGauge(o, "total_blocking_keys", blocking_totals.keys, "Keys that clients wait for.", .family = "blocking_keys");
    infoGauge(o, "total_blocking_keys_on_nokey", blocking_totals.nokey, "Keys whose deletion wakes clients as well.",
              .family = "blocking_keys_on_nokey");
}

static void pubsubFields(infoOut *o) {
    infoGauge(o, "pubsub_channels", pubsubNames(PUBSUB_CHANNEL), "Channels that have subscribers.");
    infoGauge(o, "pubsub_patterns", pubsubNames(PUBSUB_PATTERN), "Patterns of channels that have subscribers.");
    infoGauge(o, "pubsubshard_channels", pubsubNames(PUBSUB_SHARD_CHANNEL), "Shard channels that have subscribers.");
}

static void trackingFields(infoOut *o) {
    trackingTotals t = trackingGetTotals();
    infoGauge(o, "tracking_total_keys", t.keys, "Keys that are tracked for clients.", .family = "tracking_keys");
    infoGauge(o, "tracking_total_items", t.items, "Pairs of a tracked key and a client it is tracked for.",
              .family = "tracking_items");
    infoGauge(o, "tracking_total_prefixes", t.prefixes, "Prefixes of keys that are tracked for clients.",
              .family = "tracking_prefixes");
}

/* INFO fields of our own. */
static void eventStreamFields(infoOut *o) {
    infoCounter(o, "keyspace_event_entries", event_stream_stats.added,
                "Keyspace events that were added to streams (notify-keyspace-events-stream).");
    infoCounter(o, "keyspace_event_entries_lost", event_stream_stats.lost,
                "Keyspace events that could not be added to a stream.");
}

static void processedField(infoOut *o) {
    infoCounter(o, "total_commands_processed", engine_stats.commands_processed, "Commands that were executed.",
                .family = "commands_processed");
}

static void aclFields(infoOut *o) {
    infoCounter(o, "acl_access_denied_auth", engine_stats.acl_denied_auth, "Authentications that failed.");
    infoCounter(o, "acl_access_denied_cmd", engine_stats.acl_denied_cmd, "Commands that their user may not run.");
    infoCounter(o, "acl_access_denied_key", engine_stats.acl_denied_key,
                "Commands on a key that their user may not access.");
    infoCounter(o, "acl_access_denied_channel", engine_stats.acl_denied_channel,
                "Commands on a channel that their user may not access.");
    infoCounter(o, "acl_access_denied_tls_cert", engine_stats.acl_denied_tls_cert, "Certificates that name no user.");
    infoCounter(o, "acl_access_denied_db", engine_stats.acl_denied_db,
                "Commands on a database that their user may not access.");
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

static void slicedFields(infoOut *o) {
    infoCounter(o, "sliced_commands", engine_stats.commands_sliced,
                "Commands on large values that served other clients meanwhile.");
    infoCounter(o, "slices_between_commands", engine_stats.slices, "Times that such a command served other clients.");
}

static void resetStats(void) {
    /* command_ns stays, because a loop iteration measures its growth. The counters of refusals by ACL stay as well: a
     * reset must not hide that someone has tried passwords. */
    engine_stats.commands_processed = engine_stats.commands_sliced = engine_stats.slices = 0;
    event_stream_stats = (eventStreamStats){.added = 0};
    commandStatsResetAll();
}

void engineInfoRegister(void) {
    static const infoSection sections[] = {
        {"commandstats", "Commandstats", 110, INFO_IN_CRASH}, {"latencystats", "Latencystats", 130, 0}, {.name = NULL}};
    static const infoFields fields[] = {{"clients", 90, watchingField},     {"clients", 100, timeoutsField},
                                        {"clients", 110, watchedKeysField}, {"clients", 120, blockingFields},
                                        {"clients", 140, pauseFields},      {"stats", 20, processedField},
                                        {"stats", 310, pubsubFields},       {"stats", 335, eventStreamFields},
                                        {"stats", 440, trackingFields},     {"stats", 680, aclFields},
                                        {"stats", 745, slicedFields},       {"commandstats", 10, allCounters},
                                        {"latencystats", 10, allLatencies}, {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
    infoTableOnReset(slotStatsReset);
}

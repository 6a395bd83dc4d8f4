/* open_metrics_test.c -- a snapshot as text, to the byte; text that clients choose; malformed INFO texts.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "info_table.h"
#include "open_metrics.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>

static const webCounters counters = {.scrapes = 3, .open = 2};

static const webHotKeys *hot_keys;
static metricsNames names = METRICS_NAMES_VALKEY;

/* Returns the text of a snapshot with this INFO; the caller frees it by sdsFree(). */
static sds textOf(const char *info, size_t len, commandLatency *latencies, size_t count, metricsFormat format) {
    /* As the layers of these INFO fields have them. */
    INFO_METRIC("arch_bits", INFO_LABEL, .help = NULL);
    INFO_METRIC("config_file", INFO_LABEL, .help = NULL);
    INFO_METRIC("connected_slaves", INFO_GAUGE, .help = "Replicas that are connected.");
    INFO_METRIC("eventloop_duration_sum", INFO_COUNTER, .help = "Time that main has worked, whichever thread was main.",
                .family = "eventloop_duration_seconds", .shift = 6);
    INFO_METRIC("latest_fork_usec", INFO_GAUGE, .help = "How long the last fork took, in microseconds.");
    INFO_METRIC("maxmemory", INFO_GAUGE, .help = "Memory limit; 0 for no limit.", .family = "maxmemory_bytes");
    INFO_METRIC("total_error_replies", INFO_COUNTER, .help = "Error replies sent.", .family = "error_replies");
    INFO_METRIC("keyspace_hits", INFO_COUNTER, .help = "Keys that were looked for and found.");
    INFO_METRIC("master_link_status", INFO_UP, .help = "Whether this replica is connected to its primary.",
                .family = "master_link_up");
    INFO_METRIC("paused_timeout_milliseconds", INFO_GAUGE, .help = "Time until paused clients go on.",
                .family = "paused_timeout_seconds", .shift = 3);
    INFO_METRIC("rdb_last_bgsave_status", INFO_OK, .help = "Whether the last snapshot could be written.",
                .family = "rdb_last_bgsave_ok");
    INFO_METRIC("redis_git_sha1", INFO_LABEL, .help = NULL);
    INFO_METRIC("run_id", INFO_LABEL, .help = NULL);
    INFO_METRIC("total_commands_processed", INFO_COUNTER, .help = "Commands that were executed.",
                .family = "commands_processed");
    INFO_METRIC("uptime_in_days", INFO_LEFT_OUT, .help = NULL);
    INFO_METRIC("uptime_in_seconds", INFO_GAUGE, .help = "Seconds since the server was started.");
    INFO_METRIC("used_cpu_sys", INFO_COUNTER, .help = "Processor time in the kernel.",
                .family = "used_cpu_sys_seconds");
    INFO_METRIC("used_memory", INFO_GAUGE, .help = "Memory that is allocated.", .family = "used_memory_bytes");
    INFO_METRIC("used_memory_peak_perc", INFO_GAUGE, .help = "Allocated memory in percent of the most there ever was.");
    if (!infoMetricAt(0)) infoTableSeal();
    metricsSnapshot s = {
        .text = sdsNewLen(info, len), .latencies = latencies, .latencies_count = count, .wall_ms = 1500};
    size_t text_len;
    char *text = openMetricsWrite(&s, &counters, hot_keys, format, names, &text_len);
    sds copy = sdsNewLen(text, text_len);
    zfree(text);
    sdsFree(s.text);
    return copy;
}

/* Returns whether the text made from `info` contains `wanted`, beginning at the start of a line. */
static bool makes(const char *info, metricsFormat format, const char *wanted) {
    sds text = textOf(info, strlen(info), NULL, 0, format);
    const char *at = strstr(text, wanted);
    bool held = CHECK(at && (at == text || at[-1] == '\n'));
    if (!held) fprintf(stderr, "wanted:\n%s\ngot:\n%s\n", wanted, text);
    sdsFree(text);
    return held;
}

static bool makesNot(const char *info, const char *unwanted) {
    sds text = textOf(info, strlen(info), NULL, 0, METRICS_TEXT);
    bool held = CHECK(!strstr(text, unwanted));
    if (!held) fprintf(stderr, "unwanted: %s in\n%s\n", unwanted, text);
    sdsFree(text);
    return held;
}

TEST(open_metrics_single_fields) {
    makes("# stats\r\nkeyspace_hits:7\r\n", METRICS_TEXT,
          "# HELP valkey_keyspace_hits_total Keys that were looked for and found. (INFO: keyspace_hits)\n"
          "# TYPE valkey_keyspace_hits_total counter\nvalkey_keyspace_hits_total 7\n");
    makes("# stats\r\nkeyspace_hits:7\r\n", METRICS_OPEN,
          "# HELP valkey_keyspace_hits Keys that were looked for and found. (INFO: keyspace_hits)\n"
          "# TYPE valkey_keyspace_hits counter\nvalkey_keyspace_hits_total 7\n");
    makes("# stats\r\ntotal_commands_processed:7\r\n", METRICS_OPEN, "valkey_commands_processed_total 7\n");
    makes("# memory\r\nused_memory:1024\r\n", METRICS_OPEN,
          "# TYPE valkey_used_memory_bytes gauge\nvalkey_used_memory_bytes 1024\n");
    makes("# memory\r\nused_memory_peak_perc:99.35%\r\n", METRICS_OPEN, "valkey_used_memory_peak_perc 99.35\n");
    makes("# cpu\r\nused_cpu_sys:0.012345\r\n", METRICS_OPEN, "valkey_used_cpu_sys_seconds_total 0.012345\n");
    makes("# other\r\nbrand_new:-12.5\r\n", METRICS_TEXT,
          "# HELP valkey_brand_new (INFO: brand_new)\n# TYPE valkey_brand_new gauge\nvalkey_brand_new -12.5\n");
    makes("# persistence\r\nrdb_last_bgsave_status:ok\r\n", METRICS_OPEN, "valkey_rdb_last_bgsave_ok 1\n");
    makes("# persistence\r\nrdb_last_bgsave_status:err\r\n", METRICS_OPEN, "valkey_rdb_last_bgsave_ok 0\n");
    makes("# replication\r\nmaster_link_status:down\r\n", METRICS_OPEN, "valkey_master_link_up 0\n");
    makesNot("# memory\r\nused_memory_human:1.00M\r\n", "human");
    makesNot("# stats\r\nkeyspace_hits:-1\r\n", "hits");
}

/* The unit shifts the decimal point, for any number. */
TEST(open_metrics_units) {
    static const char *const cases[][2] = {{"0", "0.000000"},       {"1", "0.000001"},
                                           {"1234567", "1.234567"}, {"999999", "0.999999"},
                                           {"1000000", "1.000000"}, {"12345678901234567890", "12345678901234.567890"},
                                           {"12.5", "0.0000125"},   {"7654321.25", "7.65432125"}};
    for (size_t i = 0; i < array_len(cases); i++) {
        char info[100], wanted[100];
        sprintf(info, "# stats\r\neventloop_duration_sum:%s\r\n", cases[i][0]);
        sprintf(wanted, "valkey_eventloop_duration_seconds_total %s\n", cases[i][1]);
        makes(info, METRICS_OPEN, wanted);
    }
    makes("# clients\r\npaused_timeout_milliseconds:-5\r\n", METRICS_OPEN, "valkey_paused_timeout_seconds -0.005\n");
    makes("# clients\r\npaused_timeout_milliseconds:5\r\n", METRICS_OPEN,
          "# HELP valkey_paused_timeout_seconds Time until paused clients go on. (INFO: paused_timeout_milliseconds / "
          "1000)\n");
}

TEST(open_metrics_words) {
    makes("# server\r\nos:Linux\r\narch_bits:64\r\nrun_id:12345\r\nredis_git_sha1:00000000\r\nconfig_file:\r\n",
          METRICS_OPEN,
          "# HELP valkey_server Texts in this section of INFO.\n# TYPE valkey_server info\n"
          "valkey_server_info{os=\"Linux\",arch_bits=\"64\",run_id=\"12345\",redis_git_sha1=\"00000000\"} 1\n");
    makesNot("# server\r\nuptime_in_days:3\r\nuptime_in_seconds:259200\r\n", "days");
    makes("# server\r\nos:Linux\r\n", METRICS_TEXT,
          "# TYPE valkey_server_info gauge\nvalkey_server_info{os=\"Linux\"} 1\n");
    makes("# tls\r\ntls_server_cert_serial:1234\r\n", METRICS_OPEN,
          "valkey_tls_info{tls_server_cert_serial=\"1234\"} 1\n");
    /* A label occurs once. */
    makes("# module_list\r\nmodule:name=a\r\nmodule:name=b\r\n", METRICS_OPEN,
          "valkey_module_list_info{module=\"name=a\"} 1\n");
}

TEST(open_metrics_groups) {
    makes("# "
          "keyspace\r\ndb0:keys=3,expires=1,avg_ttl=1500,keys_with_volatile_items=2\r\ndb9:keys=1,expires=0,avg_ttl="
          "0\r\n",
          METRICS_OPEN,
          "# HELP valkey_db_keys Keys in the database.\n# TYPE valkey_db_keys gauge\n"
          "valkey_db_keys{db=\"0\"} 3\nvalkey_db_keys{db=\"9\"} 1\n"
          "# HELP valkey_db_expires Keys in the database that have a time to live.\n# TYPE valkey_db_expires gauge\n"
          "valkey_db_expires{db=\"0\"} 1\nvalkey_db_expires{db=\"9\"} 0\n"
          "# HELP valkey_db_avg_ttl_seconds Estimated average time to live of the keys that have one.\n"
          "# TYPE valkey_db_avg_ttl_seconds gauge\n"
          "valkey_db_avg_ttl_seconds{db=\"0\"} 1.500\nvalkey_db_avg_ttl_seconds{db=\"9\"} 0.000\n"
          "# HELP valkey_db_keys_with_volatile_items Keys in the database with fields that have a time to live.\n"
          "# TYPE valkey_db_keys_with_volatile_items gauge\nvalkey_db_keys_with_volatile_items{db=\"0\"} 2\n");
    const char *commands =
        "# commandstats\r\n"
        "cmdstat_get:calls=2,usec=15,usec_per_call=7.50,rejected_calls=1,failed_calls=0\r\n"
        "cmdstat_config|get:calls=1,usec=1000000,usec_per_call=1.00,rejected_calls=0,failed_calls=4\r\n";
    makes(commands, METRICS_OPEN,
          "valkey_command_calls_total{cmd=\"get\"} 2\nvalkey_command_calls_total{cmd=\"config|get\"} 1\n");
    makes(commands, METRICS_OPEN,
          "valkey_command_seconds_total{cmd=\"get\"} 0.000015\nvalkey_command_seconds_total{cmd=\"config|get\"} "
          "1.000000\n");
    makes(commands, METRICS_OPEN, "valkey_command_rejected_calls_total{cmd=\"get\"} 1\n");
    makes(commands, METRICS_OPEN, "valkey_command_failed_calls_total{cmd=\"config|get\"} 4\n");
    makesNot(commands, "cmdstat");
    makes("# threads\r\nthread_io1:active=0.5,acting=0.25,turns=3\r\n", METRICS_OPEN,
          "valkey_thread_busy_seconds_total{thread=\"io1\"} 0.5\n");
    const char *replicas = "# replication\r\nrole:master\r\nconnected_slaves:2\r\n"
                           "slave0:ip=10.0.0.1,port=6379,state=online,offset=42,lag=1,type=replica\r\n"
                           "slave1:ip=::1,port=7,state=wait_bgsave,offset=0,lag=0,type=replica\r\n";
    makes(replicas, METRICS_OPEN,
          "valkey_connected_replica_offset_bytes{replica=\"0\",addr=\"10.0.0.1:6379\"} 42\n"
          "valkey_connected_replica_offset_bytes{replica=\"1\",addr=\"[::1]:7\"} 0\n");
    makes(replicas, METRICS_OPEN,
          "valkey_connected_replica_info{replica=\"0\",addr=\"10.0.0.1:6379\",state=\"online\",type=\"replica\"} 1\n");
    makes(replicas, METRICS_OPEN, "valkey_replication_info{role=\"master\"} 1\n");
    makes(replicas, METRICS_OPEN, "valkey_connected_slaves 2\n");
}

TEST(open_metrics_escapes) {
    makes("# errorstats\r\nerrorstat_a\"b\\c:count=1\r\n", METRICS_OPEN,
          "valkey_errors_total{err=\"a\\\"b\\\\c\"} 1\n");
    makes("# errorstats\r\nerrorstat_\xc3\xa4\xc3\x01\xff\xed\xa0\x80:count=1\r\n", METRICS_OPEN,
          "valkey_errors_total{err=\"\xc3\xa4???\?\?\?\"} 1\n");
    makes("# errorstats\r\nerrorstat_\xf0\x9f\x98\x80\xf4\x90\x80\x80:count=1\r\n", METRICS_OPEN,
          "valkey_errors_total{err=\"\xf0\x9f\x98\x80????\"} 1\n");
    makesNot("# errorstats\r\nerrorstat_ERR:count=x\r\nerrorstat_X:count=-1\r\n", "errors");
}

/* A family occurs once, whichever layer has it; no line breaks the following ones. */
TEST(open_metrics_oddities) {
    makes("# a\r\nx:1\r\n# b\r\nx:2\r\ny:3\r\n", METRICS_OPEN,
          "valkey_x 1\n# HELP valkey_y (INFO: y)\n# TYPE valkey_y gauge\nvalkey_y 3\n");
    makes("\r\n# a\r\n\r\nno colon\r\n:5\r\n9x:1\r\nx y:1\r\nz:1", METRICS_OPEN, "valkey_z 1\n# EOF\n");
    makesNot("# a\r\nx y:1\r\n9x:1\r\n", "9x");
    makesNot("# a\r\nx:1e5\r\n", "valkey_x");
    makesNot("# a\r\nx:0x5\r\ny:007\r\nz:.5\r\nu:5.\r\n", "gauge\nvalkey_x");
    makes("# a\r\ny:007\r\n", METRICS_OPEN, "valkey_a_info{y=\"007\"} 1\n");
    makes("", METRICS_OPEN, "# EOF\n");
    makes("", METRICS_TEXT, "valkey_snapshot_timestamp_seconds 1.500\n");
    makesNot("", "EOF");
}

TEST(open_metrics_histograms) {
    histogram *h = histogramCreate(1, 1000000000, 2);
    histogramRecordMany(h, 1500, 3); /* ns */
    histogramRecord(h, 900);
    histogramRecord(h, 600000000);
    histogram *copy = histogramCopyInto(zmalloc(histogramCopyBytes(h)), h);
    commandLatency latencies[] = {{"get", h}, {"config|set", copy}};
    sds text = textOf("", 0, latencies, 2, METRICS_OPEN);
    CHECK(strstr(text, "# TYPE valkey_command_duration_seconds histogram\n"
                       "valkey_command_duration_seconds_bucket{cmd=\"get\",le=\"1e-06\"} 1\n"
                       "valkey_command_duration_seconds_bucket{cmd=\"get\",le=\"2e-06\"} 4\n"
                       "valkey_command_duration_seconds_bucket{cmd=\"get\",le=\"4e-06\"} 4\n"));
    CHECK(strstr(text, "{cmd=\"config|set\",le=\"0.524288\"} 4\n"
                       "valkey_command_duration_seconds_bucket{cmd=\"config|set\",le=\"1.048576\"} 5\n"
                       "valkey_command_duration_seconds_bucket{cmd=\"config|set\",le=\"+Inf\"} 5\n"
                       "valkey_command_duration_seconds_sum{cmd=\"config|set\"} 0.60"));
    CHECK(strstr(text, "valkey_command_duration_seconds_count{cmd=\"get\"} 5\n"));
    int lines = 0;
    for (const char *at = text; (at = strstr(at, "_bucket{cmd=\"get\"")) != NULL; at++) lines++;
    CHECK_EQ_INT(lines, 22);
    histogramFree(h);
    zfree(copy);
    sdsFree(text);
}

/* Names, units and labels are the exporter's where it has the figure. */
TEST(open_metrics_names_of_the_exporter) {
    names = METRICS_NAMES_REDIS;
    makes("", METRICS_OPEN, "redis_up 1\n");
    makes("", METRICS_OPEN, "# TYPE redis_exporter_build info\nredis_exporter_build_info{version=");
    makes("", METRICS_TEXT, "redis_exporter_scrapes_total 3\n");
    makes("", METRICS_TEXT, "redis_exporter_last_scrape_error{err=\"\"} 0\n");
    makes("# stats\r\nkeyspace_hits:7\r\n", METRICS_OPEN,
          "# HELP redis_keyspace_hits Keys that were looked for and found. (INFO: keyspace_hits)\n"
          "# TYPE redis_keyspace_hits counter\nredis_keyspace_hits_total 7\n");
    makes("# memory\r\nused_memory:1024\r\n", METRICS_TEXT,
          "# TYPE redis_memory_used_bytes gauge\nredis_memory_used_bytes 1024\n");
    makes("# cpu\r\nused_cpu_sys:0.5\r\n", METRICS_TEXT, "redis_cpu_sys_seconds_total 0.5\n");
    makes("# stats\r\nlatest_fork_usec:1234567\r\n", METRICS_OPEN, "redis_latest_fork_seconds 1.234567\n");
    makes("# stats\r\nbrand_new:5\r\n", METRICS_OPEN, "redis_brand_new 5\n");
    makes("# persistence\r\nrdb_last_bgsave_status:ok\r\n", METRICS_OPEN, "redis_rdb_last_bgsave_status 1\n");
    /* Two names for one figure, and a counter that is not called as one. */
    makes("# memory\r\nmaxmemory:9\r\n", METRICS_OPEN, "redis_config_maxmemory 9\n");
    makes("# memory\r\nmaxmemory:9\r\n", METRICS_OPEN, "redis_memory_max_bytes 9\n");
    makes("# stats\r\ntotal_error_replies:4\r\n", METRICS_OPEN,
          "# TYPE redis_total_error_replies unknown\nredis_total_error_replies 4\n");
    makes("# stats\r\ntotal_error_replies:4\r\n", METRICS_TEXT, "# TYPE redis_total_error_replies untyped\n");
    /* Groups. */
    makes("# keyspace\r\ndb0:keys=3,expires=1,avg_ttl=1500\r\n", METRICS_OPEN, "redis_db_keys{db=\"db0\"} 3\n");
    makes("# keyspace\r\ndb0:keys=3,expires=1,avg_ttl=1500\r\n", METRICS_OPEN,
          "redis_db_keys_expiring{db=\"db0\"} 1\n");
    const char *commands = "# commandstats\r\n"
                           "cmdstat_get:calls=2,usec=15,usec_per_call=7.50,rejected_calls=1,failed_calls=4\r\n";
    makes(commands, METRICS_OPEN, "redis_commands_total{cmd=\"get\"} 2\n");
    makes(commands, METRICS_OPEN, "redis_commands_duration_seconds_total{cmd=\"get\"} 0.000015\n");
    makes(commands, METRICS_OPEN, "redis_commands_rejected_calls_total{cmd=\"get\"} 1\n");
    makes(commands, METRICS_OPEN, "redis_commands_failed_calls_total{cmd=\"get\"} 4\n");
    makes("# errorstats\r\nerrorstat_ERR:count=1\r\n", METRICS_TEXT, "redis_errors_total{err=\"ERR\"} 1\n");
    makes("# replication\r\nslave0:ip=10.0.0.1,port=6379,state=online,offset=42,lag=1\r\n", METRICS_OPEN,
          "redis_connected_slave_offset_bytes{replica=\"0\",slave_ip=\"10.0.0.1\",slave_port=\"6379\",slave_state="
          "\"online\"} 42\n");
    /* Families of several fields. */
    const char *replica = "# server\r\nredis_version:7.2.4\r\nserver_mode:standalone\r\nuptime_in_seconds:1\r\n"
                          "# replication\r\nrole:slave\r\nmaster_host:a\"b\r\nmaster_port:6379\r\n"
                          "master_link_status:up\r\nslave_read_only:1\r\n";
    makes(replica, METRICS_OPEN,
          "# TYPE redis_instance info\nredis_instance_info{role=\"slave\",redis_version=\"7.2.4\",redis_mode="
          "\"standalone\",redis_build_id=\"\",");
    makes(replica, METRICS_OPEN, "redis_slave_info{master_host=\"a\\\"b\",master_port=\"6379\",read_only=\"1\"} 1\n");
    makes(replica, METRICS_OPEN, "redis_master_link_up{master_host=\"a\\\"b\",master_port=\"6379\"} 1\n");
    makes(replica, METRICS_OPEN, "redis_start_time_seconds 0\n");
    makesNot("# replication\r\nrole:master\r\n", "slave_info");
    makesNot(replica, "valkey_");
    names = METRICS_NAMES_VALKEY;
    makesNot(replica, "redis_instance");
}

TEST(open_metrics_histograms_of_the_exporter) {
    histogram *h = histogramCreate(1, 1000000000, 2);
    histogramRecordMany(h, 1500, 3); /* ns */
    commandLatency latency = {"get", h};
    names = METRICS_NAMES_REDIS;
    sds text = textOf("", 0, &latency, 1, METRICS_OPEN);
    names = METRICS_NAMES_VALKEY;
    CHECK(strstr(text, "# TYPE redis_commands_latencies_usec histogram\n"
                       "redis_commands_latencies_usec_bucket{cmd=\"get\",le=\"1.0\"} 0\n"
                       "redis_commands_latencies_usec_bucket{cmd=\"get\",le=\"2.0\"} 3\n"));
    CHECK(strstr(text, "redis_commands_latencies_usec_sum{cmd=\"get\"} 4.5"));
    CHECK(strstr(text, "redis_commands_latencies_usec_count{cmd=\"get\"} 3\n"));
    histogramFree(h);
    sdsFree(text);
}

/* With random bytes at random positions, the text is made and each of its lines is well-formed. */
TEST(open_metrics_random_text) {
    static const char *const parts[] = {
        "# ",       "stats",  "keyspace",   "commandstats", "replication",   "\r\n",   "\n",    ":", "=", ",", "db0",
        "cmdstat_", "slave0", "ip",         "port",         "keys",          "calls",  "1",     "-", ".", "x", "\xff",
        "\"",       "%",      "errorstat_", "count",        "keyspace_hits", "run_id", "_human"};
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 3000; round++) {
        sds info = sdsEmpty();
        for (int i = 0; i < 60; i++) info = sdsCat(info, parts[unitRandom(&rng) % array_len(parts)]);
        names = round % 2 ? METRICS_NAMES_REDIS : METRICS_NAMES_VALKEY;
        const char *prefix = names == METRICS_NAMES_REDIS ? "redis_" : "valkey_";
        size_t prefix_len = strlen(prefix);
        sds text = textOf(info, sdsLen(info), NULL, 0, METRICS_OPEN);
        int count;
        sds *lines = sdsSplitLen(text, sdsLen(text), "\n", 1, &count);
        bool good = !strcmp(lines[count - 2], "# EOF") && !*lines[count - 1];
        for (int i = 0; i < count - 2; i++)
            good &= !strncmp(lines[i] + (lines[i][0] == '#' ? strlen("# HELP ") : 0), prefix, prefix_len);
        if (!CHECK(good)) fprintf(stderr, "%s", text);
        sdsFreeSplitRes(lines, count);
        sdsFree(text);
        sdsFree(info);
    }
    names = METRICS_NAMES_VALKEY;
}

/* For any bytes in a key, its label is valid text, and differs from that of other keys. */
TEST(open_metrics_hot_keys) {
    webHotKeys hot = {.count = {[HOT_KEYS_CPU] = 3, [HOT_KEYS_NET] = 2}};
    char long_key[300];
    memset(long_key, 'a', sizeof(long_key));
    hot.keys[HOT_KEYS_CPU][0] = (heavyKey){sdsNew("user:1"), 1234567890};
    hot.keys[HOT_KEYS_CPU][1] = (heavyKey){sdsNewLen("\x01\"\xff", 3), 5};
    hot.keys[HOT_KEYS_CPU][2] = (heavyKey){sdsNew("\\x01\"\\xff"), 4};
    hot.keys[HOT_KEYS_NET][0] = (heavyKey){sdsNewLen(long_key, 300), 77};
    hot.keys[HOT_KEYS_NET][1] = (heavyKey){sdsNewLen(long_key, 299), 76};
    hot_keys = &hot;
    makes("", METRICS_TEXT,
          "# TYPE valkey_hot_key_cpu_seconds gauge\n"
          "valkey_hot_key_cpu_seconds{key=\"user:1\"} 1.234567890\n"
          "valkey_hot_key_cpu_seconds{key=\"\\\\x01\\\\\\\"\\\\xff\"} 0.000000005\n"
          "valkey_hot_key_cpu_seconds{key=\"\\\\\\\\x01\\\\\\\"\\\\\\\\xff\"} 0.000000004\n");
    sds text = textOf("", 0, NULL, 0, METRICS_TEXT);
    const char *first = strstr(text, "valkey_hot_key_net_bytes{key=\"aaa"),
               *second = strstr(strchr(first, '}'), "{key=\"aaa");
    CHECK(first && second && strcspn(first, "}") < 260);
    CHECK(second && strncmp(strchr(first, '{'), second, strcspn(second, "}")) != 0);
    sdsFree(text);
    hot_keys = NULL;
    makesNot("", "hot_key");
    for (size_t m = 0; m < HOT_KEYS_METRICS; m++) heavyKeysFree(hot.keys[m], hot.count[m]);
}

/* admin_info.c -- the INFO fields about the process, its memory and its rates.
 *
 * Not here    the command (info.c); the figures (memory_report.c, metrics.c); INFO fields of other layers, which
 *             register them.
 * Threads     main; for Server, Stats and CPU also a thread that crashes.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "admin.h"

#include "admin_settings.h"
#include "clock.h"
#include "identity.h"
#include "info.h"
#include "info_table.h"
#include "memory_report.h"
#include "metrics.h"
#include "setting_file.h"
#include "version.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- Server ---------------------------------------------------------------------------------------- */

static void version(infoOut *o) {
    infoLine(o, "redis_version:%s", REDIS_COMPATIBLE_VERSION);
    infoLine(o, "server_name:valkey");
    infoLine(o, "valkey_version:%s", VALKEY_VERSION);
    infoLine(o, "valkey_release_stage:%s", VALKEY_RELEASE_STAGE);
    infoLine(o, "redis_git_sha1:00000000");
    infoLine(o, "redis_git_dirty:0");
}

static void machine(infoOut *o) {
    struct utsname name;
    uname(&name);
    infoLine(o, "server_mode:standalone");
    infoLine(o, "os:%s %s %s", name.sysname, name.release, name.machine);
    infoLine(o, "arch_bits:%zu", sizeof(long) * 8);
    infoLine(o, "monotonic_clock:%s", clockMonotonicInfo());
}

static void process(infoOut *o) {
#ifdef __clang__
    infoLine(o, "gcc_version:0.0.0");
#else
    infoLine(o, "gcc_version:%d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
    infoLine(o, "process_id:%ld", (long)getpid());
}

static void runId(infoOut *o) { infoLine(o, "run_id:%s", identityRunId()); }

static void uptime(infoOut *o) {
    int64_t now_us = clockWallUs();
    int64_t uptime_s = now_us / 1000000 - infoStartedAt();
    infoLine(o, "server_time_usec:%lld", (long long)now_us);
    infoLine(o, "uptime_in_seconds:%lld", (long long)uptime_s);
    infoLine(o, "uptime_in_days:%lld", (long long)(uptime_s / 86400));
}

static void file(infoOut *o) { infoLine(o, "config_file:%s", settingFilePath() ? settingFilePath() : ""); }

static void zone(infoOut *o) {
    infoLine(o, "availability_zone:%s", admin_settings.availability_zone ? admin_settings.availability_zone : "");
}

/* ---- Memory ---------------------------------------------------------------------------------------- */

/* Filled by the first INFO field of the section, for the other ones. */
static memoryReport report;

static void used(infoOut *o) {
    const memoryReport *r = &report;
    memoryReportMake(&report);
    infoBytes(o, "used_memory", r->used);
    infoBytes(o, "used_memory_rss", r->rss);
    infoBytes(o, "used_memory_peak", r->peak);
    infoLine(o, "used_memory_peak_perc:%.2f%%", (double)r->peak_percent);
    infoLine(o, "used_memory_overhead:%zu", r->overhead);
    infoLine(o, "used_memory_startup:%zu", r->startup);
    infoLine(o, "used_memory_dataset:%zu", r->dataset);
    infoLine(o, "used_memory_dataset_perc:%.2f%%", (double)r->dataset_percent);
    infoLine(o, "allocator_allocated:%zu", r->allocator.allocated);
    infoLine(o, "allocator_active:%zu", r->allocator.active);
    infoLine(o, "allocator_resident:%zu", r->allocator.resident);
    infoLine(o, "allocator_muzzy:%zu", r->allocator.muzzy);
    infoBytes(o, "total_system_memory", r->total_system);
}

static void adminInfoRatio(infoOut *o, const char *name, float value, long long bytes) {
    infoLine(o, "%s_ratio:%.2f", name, (double)value);
    infoLine(o, "%s_bytes:%lld", name, bytes);
}

static void ratios(infoOut *o) {
    adminInfoRatio(o, "allocator_frag", report.frag_ratio, report.frag_bytes);
    adminInfoRatio(o, "allocator_rss", report.rss_ratio, report.rss_bytes);
    adminInfoRatio(o, "rss_overhead", report.rss_overhead_ratio, report.rss_overhead_bytes);
    adminInfoRatio(o, "mem_fragmentation", report.total_ratio, report.total_bytes);
}

static void clientMemory(infoOut *o) {
    infoLine(o, "mem_clients_slaves:%zu", report.clients_replicas);
    infoLine(o, "mem_clients_normal:%zu", report.clients_normal);
}

static void allocator(infoOut *o) {
    infoLine(o, "mem_allocator:%s", zmallocLibrary());
    infoLine(o, "mem_overhead_db_hashtable_rehashing:%zu", report.tables_rehashing);
}

/* ---- Stats, CPU ------------------------------------------------------------------------------------ */

static void commandRate(infoOut *o) { infoLine(o, "instantaneous_ops_per_sec:%lld", metricsRate(METRIC_COMMANDS)); }

static void trafficRate(infoOut *o) {
    infoLine(o, "instantaneous_input_kbps:%.2f", (double)metricsRate(METRIC_NET_INPUT) / 1024);
    infoLine(o, "instantaneous_output_kbps:%.2f", (double)metricsRate(METRIC_NET_OUTPUT) / 1024);
}

static void replicationRate(infoOut *o) {
    infoLine(o, "instantaneous_input_repl_kbps:%.2f", (double)metricsRate(METRIC_REPL_INPUT) / 1024);
    infoLine(o, "instantaneous_output_repl_kbps:%.2f", (double)metricsRate(METRIC_REPL_OUTPUT) / 1024);
}

static void cycleRate(infoOut *o) {
    infoLine(o, "instantaneous_eventloop_cycles_per_sec:%lld", metricsRate(METRIC_CYCLES));
    infoLine(o, "instantaneous_eventloop_duration_usec:%lld", metricsRate(METRIC_CYCLE_DURATION) / 1000);
}

static void cpuTime(infoOut *o, const struct rusage *u, const char *suffix) {
    infoLine(o, "used_cpu_sys%s:%ld.%06ld", suffix, (long)u->ru_stime.tv_sec, (long)u->ru_stime.tv_usec);
    infoLine(o, "used_cpu_user%s:%ld.%06ld", suffix, (long)u->ru_utime.tv_sec, (long)u->ru_utime.tv_usec);
}

static void cpuTimes(infoOut *o) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    cpuTime(o, &u, "");
    getrusage(RUSAGE_CHILDREN, &u);
    cpuTime(o, &u, "_children");
    metricsMainThreadUsage(&u);
    cpuTime(o, &u, "_main_thread");
}

static const infoMetric metrics[] = {
    {"redis_version", NULL, INFO_LABEL, 0, NULL},
    {"server_name", NULL, INFO_LABEL, 0, NULL},
    {"valkey_version", NULL, INFO_LABEL, 0, NULL},
    {"redis_git_sha1", NULL, INFO_LABEL, 0, NULL},
    {"redis_git_dirty", NULL, INFO_LABEL, 0, NULL},
    {"arch_bits", NULL, INFO_LABEL, 0, NULL},
    {"gcc_version", NULL, INFO_LABEL, 0, NULL},
    {"process_id", NULL, INFO_GAUGE, 0, "Number of the server's process."},
    {"run_id", NULL, INFO_LABEL, 0, NULL},
    {"server_time_usec", NULL, INFO_GAUGE, 0,
     "The server's clock when the figures were taken, in microseconds since 1970."},
    {"uptime_in_seconds", NULL, INFO_GAUGE, 0, "Seconds since the server was started."},
    {"uptime_in_days", NULL, INFO_LEFT_OUT, 0, NULL},
    {"config_file", NULL, INFO_LABEL, 0, NULL},
    {"availability_zone", NULL, INFO_LABEL, 0, NULL},
    {"used_memory", "used_memory_bytes", INFO_GAUGE, 0, "Memory that is allocated."},
    {"used_memory_rss", "used_memory_rss_bytes", INFO_GAUGE, 0, "Memory that the system has given to the process."},
    {"used_memory_peak", "used_memory_peak_bytes", INFO_GAUGE, 0, "Most memory that was ever allocated."},
    {"used_memory_peak_perc", NULL, INFO_GAUGE, 0, "Allocated memory in percent of the most there ever was."},
    {"used_memory_peak_time", NULL, INFO_GAUGE, 0, "When allocated memory was at its most, in seconds since 1970."},
    {"used_memory_overhead", "used_memory_overhead_bytes", INFO_GAUGE, 0,
     "Memory for everything but keys and values: buffers, tables, clients."},
    {"used_memory_startup", "used_memory_startup_bytes", INFO_GAUGE, 0,
     "Memory that was allocated when the server was ready."},
    {"used_memory_dataset", "used_memory_dataset_bytes", INFO_GAUGE, 0, "Memory for keys and values."},
    {"used_memory_dataset_perc", NULL, INFO_GAUGE, 0,
     "Memory for keys and values in percent of what was allocated since the start."},
    {"allocator_allocated", "allocator_allocated_bytes", INFO_GAUGE, 0,
     "Bytes in the allocator's blocks that are in use."},
    {"allocator_active", "allocator_active_bytes", INFO_GAUGE, 0,
     "Bytes in pages of the allocator with a block in use."},
    {"allocator_resident", "allocator_resident_bytes", INFO_GAUGE, 0,
     "Bytes in pages that the allocator holds in memory."},
    {"allocator_muzzy", "allocator_muzzy_bytes", INFO_GAUGE, 0, "Bytes in pages that the system may take back."},
    {"total_system_memory", "system_memory_bytes", INFO_GAUGE, 0, "Memory of the machine."},
    {"allocator_frag_bytes", NULL, INFO_GAUGE, 0, "Active less allocated bytes of the allocator."},
    {"allocator_frag_ratio", NULL, INFO_GAUGE, 0,
     "Active by allocated bytes of the allocator: above 1 is room lost between blocks."},
    {"allocator_rss_bytes", NULL, INFO_GAUGE, 0, "Resident less active bytes of the allocator."},
    {"allocator_rss_ratio", NULL, INFO_GAUGE, 0, "Resident by active bytes of the allocator."},
    {"rss_overhead_bytes", NULL, INFO_GAUGE, 0, "Memory of the process less what the allocator holds."},
    {"rss_overhead_ratio", NULL, INFO_GAUGE, 0, "Memory of the process by what the allocator holds."},
    {"mem_fragmentation_bytes", NULL, INFO_GAUGE, 0, "Memory of the process less allocated memory."},
    {"mem_fragmentation_ratio", NULL, INFO_GAUGE, 0, "Memory of the process by allocated memory."},
    {"mem_clients_slaves", "mem_clients_slaves_bytes", INFO_GAUGE, 0, "Memory of connections of replicas."},
    {"mem_clients_normal", "mem_clients_normal_bytes", INFO_GAUGE, 0, "Memory of connections of clients."},
    {"mem_overhead_db_hashtable_rehashing", "mem_overhead_db_hashtable_rehashing_bytes", INFO_GAUGE, 0,
     "Memory of tables that are being replaced by larger or smaller ones."},
    {"instantaneous_ops_per_sec", "instantaneous_ops_per_second", INFO_GAUGE, 0, "Commands a second, of late."},
    {"instantaneous_input_kbps", NULL, INFO_GAUGE, 0, "Kibibytes a second from clients, of late."},
    {"instantaneous_output_kbps", NULL, INFO_GAUGE, 0, "Kibibytes a second to clients, of late."},
    {"instantaneous_input_repl_kbps", NULL, INFO_GAUGE, 0, "Kibibytes a second from the primary, of late."},
    {"instantaneous_output_repl_kbps", NULL, INFO_GAUGE, 0, "Kibibytes a second to replicas, of late."},
    {"instantaneous_eventloop_cycles_per_sec", "instantaneous_eventloop_cycles_per_second", INFO_GAUGE, 0,
     "Turns of main a second, of late."},
    {"instantaneous_eventloop_duration_usec", NULL, INFO_GAUGE, 0,
     "How long a turn of main takes, of late, in microseconds."},
    {"used_cpu_sys", "used_cpu_sys_seconds", INFO_COUNTER, 0, "Processor time in the kernel."},
    {"used_cpu_sys_children", "used_cpu_sys_children_seconds", INFO_COUNTER, 0,
     "Processor time of children in the kernel."},
    {"used_cpu_sys_main_thread", "used_cpu_sys_main_thread_seconds", INFO_COUNTER, 0,
     "Processor time of the main thread in the kernel."},
    {"used_cpu_user", "used_cpu_user_seconds", INFO_COUNTER, 0, "Processor time outside of the kernel."},
    {"used_cpu_user_children", "used_cpu_user_children_seconds", INFO_COUNTER, 0,
     "Processor time of children outside of the kernel."},
    {"used_cpu_user_main_thread", "used_cpu_user_main_thread_seconds", INFO_COUNTER, 0,
     "Processor time of the main thread outside of the kernel."},
    {.field = NULL},
};

void adminInfoRegister(void) {
    static const infoSection sections[] = {{"server", "Server", 10, INFO_DEFAULT | INFO_IN_CRASH},
                                           {"memory", "Memory", 40, INFO_DEFAULT},
                                           {"stats", "Stats", 60, INFO_DEFAULT | INFO_IN_CRASH},
                                           {"cpu", "CPU", 80, INFO_DEFAULT | INFO_IN_CRASH},
                                           {.name = NULL}};
    static const infoFields fields[] = {{"server", 10, .write = version},
                                        {"server", 80, .write = machine},
                                        {"server", 130, .write = process},
                                        {"server", 160, .write = runId},
                                        {"server", 180, .write = uptime},
                                        {"server", 260, .write = file},
                                        {"server", 280, .write = zone},
                                        {"memory", 10, .write = used},
                                        {"memory", 340, .write = ratios},
                                        {"memory", 460, .write = clientMemory},
                                        {"memory", 520, .write = allocator},
                                        {"stats", 30, .write = commandRate},
                                        {"stats", 100, .write = trafficRate},
                                        {"stats", 120, .write = replicationRate},
                                        {"stats", 660, .write = cycleRate},
                                        {"cpu", 10, .write = cpuTimes},
                                        {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(metricsReset);
    infoTableAddMetrics(metrics);
}

/* admin_info.c -- the INFO fields about the process, its memory and its rates.
 *
 * Not here    the command (info.c); the figures (memory_report.c, metrics.c); INFO fields of other layers, which
 *             register them.
 * Threads     main; for Server, Stats and CPU also a thread that crashes.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "admin.h"

#include "slot_table.h"
#include "admin_settings.h"
#include "clock.h"
#include "cluster_settings.h"
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
    infoLabel(o, "redis_version", REDIS_COMPATIBLE_VERSION);
    infoLabel(o, "server_name", "valkey");
    infoLabel(o, "valkey_version", VALKEY_VERSION);
    infoLine(o, "valkey_release_stage:%s", VALKEY_RELEASE_STAGE);
    infoLabel(o, "redis_git_sha1", "00000000");
    infoLabel(o, "redis_git_dirty", "0");
}

static void machine(infoOut *o) {
    struct utsname name;
    uname(&name);
    infoLine(o, "server_mode:%s", slots_enabled ? "cluster" : "standalone");
    infoLine(o, "os:%s %s %s", name.sysname, name.release, name.machine);
    infoLabel(o, "arch_bits", sizeof(long) * 8);
    infoLine(o, "monotonic_clock:%s", clockMonotonicInfo());
}

static void process(infoOut *o) {
#ifdef __clang__
    infoLabel(o, "gcc_version", "0.0.0");
#else
    infoLine(o, "gcc_version:%d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
    infoGauge(o, "process_id", getpid(), "ID of the server's process.");
}

static void runId(infoOut *o) { infoLabel(o, "run_id", identityRunId()); }

static void uptime(infoOut *o) {
    int64_t now_us = clockWallUs();
    int64_t uptime_s = now_us / 1000000 - infoStartedAt();
    infoGauge(o, "server_time_usec", now_us,
              "The server's clock when the figures were taken, in microseconds since 1970.");
    infoGauge(o, "uptime_in_seconds", uptime_s, "Seconds since the server was started.");
    INFO_FIELD(o, "uptime_in_days", uptime_s / 86400, INFO_LEFT_OUT, .help = NULL);
}

static void file(infoOut *o) { infoLabel(o, "config_file", settingFilePath() ? settingFilePath() : ""); }

static void zone(infoOut *o) {
    infoLabel(o, "availability_zone", cluster_settings.availability_zone ? cluster_settings.availability_zone : "");
}

/* ---- Memory ---------------------------------------------------------------------------------------- */

/* Filled by the first INFO field of the section, for the other ones. */
static memoryReport report;

#define infoPercent(o, name, percent, help_)            \
    do {                                                \
        INFO_METRIC(name, INFO_GAUGE, .help = help_);   \
        infoLine(o, name ":%.2f%%", (double)(percent)); \
    } while (0)

static void used(infoOut *o) {
    const memoryReport *r = &report;
    memoryReportMake(&report);
    infoBytes(o, "used_memory", r->used, "Memory that is allocated.");
    infoBytes(o, "used_memory_rss", r->rss, "Memory that the system has given to the process.");
    infoBytes(o, "used_memory_peak", r->peak, "Peak of allocated memory.");
    infoPercent(o, "used_memory_peak_perc", r->peak_percent, "Allocated memory in percent of its peak.");
    infoSize(o, "used_memory_overhead", r->overhead,
             "Memory for everything but keys and values: buffers, tables, clients.");
    infoSize(o, "used_memory_startup", r->startup, "Memory that was allocated when the server was ready.");
    infoSize(o, "used_memory_dataset", r->dataset, "Memory for keys and values.");
    infoPercent(o, "used_memory_dataset_perc", r->dataset_percent,
                "Memory for keys and values in percent of what was allocated since the start.");
    infoSize(o, "allocator_allocated", r->allocator.allocated, "Bytes in the allocator's blocks that are in use.");
    infoSize(o, "allocator_active", r->allocator.active, "Bytes in pages of the allocator with a block in use.");
    infoSize(o, "allocator_resident", r->allocator.resident, "Bytes in pages that the allocator holds in memory.");
    infoSize(o, "allocator_muzzy", r->allocator.muzzy, "Bytes in pages that the system may take back.");
    infoGauge(o, "total_system_memory", r->total_system, "Memory of the machine.", .family = "system_memory_bytes");
    infoHuman(o, "total_system_memory_human", r->total_system);
}

static void ratios(infoOut *o) {
    infoGauge(o, "allocator_frag_ratio", report.frag_ratio,
              "Active divided by allocated bytes of the allocator; above 1, memory is lost between blocks.");
    infoGauge(o, "allocator_frag_bytes", report.frag_bytes, "Active minus allocated bytes of the allocator.");
    infoGauge(o, "allocator_rss_ratio", report.rss_ratio, "Resident divided by active bytes of the allocator.");
    infoGauge(o, "allocator_rss_bytes", report.rss_bytes, "Resident minus active bytes of the allocator.");
    infoGauge(o, "rss_overhead_ratio", report.rss_overhead_ratio,
              "Memory of the process divided by what the allocator holds.");
    infoGauge(o, "rss_overhead_bytes", report.rss_overhead_bytes,
              "Memory of the process minus what the allocator holds.");
    infoGauge(o, "mem_fragmentation_ratio", report.total_ratio, "Memory of the process divided by allocated memory.");
    infoGauge(o, "mem_fragmentation_bytes", report.total_bytes, "Memory of the process minus allocated memory.");
}

static void clientMemory(infoOut *o) {
    infoSize(o, "mem_clients_slaves", report.clients_replicas, "Memory of connections of replicas.");
    infoSize(o, "mem_clients_normal", report.clients_normal, "Memory of connections of clients.");
}

static void allocator(infoOut *o) {
    infoLine(o, "mem_allocator:%s", zmallocLibrary());
    infoSize(o, "mem_overhead_db_hashtable_rehashing", report.tables_rehashing,
             "Memory of tables that are being replaced by larger or smaller ones.");
}

/* ---- Stats, CPU ------------------------------------------------------------------------------------ */

static void commandRate(infoOut *o) {
    infoGauge(o, "instantaneous_ops_per_sec", metricsRate(METRIC_COMMANDS), "Commands per second, recently.",
              .family = "instantaneous_ops_per_second");
}

static void trafficRate(infoOut *o) {
    infoGauge(o, "instantaneous_input_kbps", (double)metricsRate(METRIC_NET_INPUT) / 1024,
              "Kibibytes per second from clients, recently.");
    infoGauge(o, "instantaneous_output_kbps", (double)metricsRate(METRIC_NET_OUTPUT) / 1024,
              "Kibibytes per second to clients, recently.");
}

static void replicationRate(infoOut *o) {
    infoGauge(o, "instantaneous_input_repl_kbps", (double)metricsRate(METRIC_REPL_INPUT) / 1024,
              "Kibibytes per second from the primary, recently.");
    infoGauge(o, "instantaneous_output_repl_kbps", (double)metricsRate(METRIC_REPL_OUTPUT) / 1024,
              "Kibibytes per second to replicas, recently.");
}

static void cycleRate(infoOut *o) {
    infoGauge(o, "instantaneous_eventloop_cycles_per_sec", metricsRate(METRIC_CYCLES),
              "Loop iterations of main per second, recently.", .family = "instantaneous_eventloop_cycles_per_second");
    infoGauge(o, "instantaneous_eventloop_duration_usec", metricsRate(METRIC_CYCLE_DURATION) / 1000,
              "Duration of a loop iteration of main, recently, in microseconds.");
}

static void writeSeconds(infoOut *o, const char *name, struct timeval time) {
    infoLine(o, "%s:%ld.%06ld", name, (long)time.tv_sec, (long)time.tv_usec);
}

#define infoCpuTime(o, name, time, help_)                                          \
    do {                                                                           \
        INFO_METRIC(name, INFO_COUNTER, .family = name "_seconds", .help = help_); \
        writeSeconds(o, name, time);                                               \
    } while (0)

static void cpuTimes(infoOut *o) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    infoCpuTime(o, "used_cpu_sys", u.ru_stime, "Processor time in the kernel.");
    infoCpuTime(o, "used_cpu_user", u.ru_utime, "Processor time outside of the kernel.");
    getrusage(RUSAGE_CHILDREN, &u);
    infoCpuTime(o, "used_cpu_sys_children", u.ru_stime, "Processor time of children in the kernel.");
    infoCpuTime(o, "used_cpu_user_children", u.ru_utime, "Processor time of children outside of the kernel.");
    metricsMainThreadUsage(&u);
    infoCpuTime(o, "used_cpu_sys_main_thread", u.ru_stime, "Processor time of the main thread in the kernel.");
    infoCpuTime(o, "used_cpu_user_main_thread", u.ru_utime, "Processor time of the main thread outside of the kernel.");
}

void adminInfoRegister(void) {
    static const infoSection sections[] = {{"server", "Server", 10, INFO_DEFAULT | INFO_IN_CRASH},
                                           {"memory", "Memory", 40, INFO_DEFAULT},
                                           {"stats", "Stats", 60, INFO_DEFAULT | INFO_IN_CRASH},
                                           {"cpu", "CPU", 80, INFO_DEFAULT | INFO_IN_CRASH},
                                           {.name = NULL}};
    static const infoFields fields[] = {{"server", 10, version},
                                        {"server", 80, machine},
                                        {"server", 130, process},
                                        {"server", 160, runId},
                                        {"server", 180, uptime},
                                        {"server", 260, file},
                                        {"server", 280, zone},
                                        {"memory", 10, used},
                                        {"memory", 340, ratios},
                                        {"memory", 460, clientMemory},
                                        {"memory", 520, allocator},
                                        {"stats", 30, commandRate},
                                        {"stats", 100, trafficRate},
                                        {"stats", 120, replicationRate},
                                        {"stats", 660, cycleRate},
                                        {"cpu", 10, cpuTimes},
                                        {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(metricsReset);
}

/* info_server.c -- INFO's sections about the process: Server, TLS, Clients, CPU, and what is loaded into it.
 *
 * Not here    choosing sections (info.c); memory (info_memory.c); counters (info_stats.c).
 * Threads     main.
 * Cost        Clients looks at each client once.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "info.h"
#include "info_internal.h"

#include "admin_settings.h"
#include "banner.h"
#include "clock.h"
#include "daemon.h"
#include "identity.h"
#include "io_threads.h"
#include "lru.h"
#include "metrics.h"
#include "net.h"
#include "pause.h"
#include "server_settings.h"
#include "server_stats.h"
#include "setting_file.h"
#include "version.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- Server ---------------------------------------------------------------------------------------- */

static void serverVersion(infoOut *o) {
    struct utsname name;
    uname(&name);
    infoLine(o, "redis_version:%s", REDIS_COMPATIBLE_VERSION);
    infoLine(o, "server_name:valkey");
    infoLine(o, "valkey_version:%s", VALKEY_VERSION);
    infoLine(o, "valkey_release_stage:%s", VALKEY_RELEASE_STAGE);
    infoLine(o, "redis_git_sha1:00000000");
    infoLine(o, "redis_git_dirty:0");
    infoLine(o, "redis_build_id:%s", bannerBuildId());
    infoLine(o, "server_mode:standalone");
    infoLine(o, "os:%s %s %s", name.sysname, name.release, name.machine);
    infoLine(o, "arch_bits:%zu", sizeof(long) * 8);
    infoLine(o, "monotonic_clock:%s", clockMonotonicInfo());
    infoLine(o, "multiplexing_api:%s", aeApiName(ioThreadHolder(ioThreadMain())->loop));
#ifdef __clang__
    infoLine(o, "gcc_version:0.0.0");
#else
    infoLine(o, "gcc_version:%d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

void infoServer(infoOut *o) {
    int64_t now_us = clockWallUs();
    int64_t uptime_s = now_us / 1000000 - infoStartedAt();
    serverVersion(o);
    infoLine(o, "process_id:%ld", (long)getpid());
    infoLine(o, "process_supervised:%s", daemonSupervisedName());
    infoLine(o, "run_id:%s", identityRunId());
    infoLine(o, "tcp_port:%lld", net_settings.port);
    infoLine(o, "server_time_usec:%lld", (long long)now_us);
    infoLine(o, "uptime_in_seconds:%lld", (long long)uptime_s);
    infoLine(o, "uptime_in_days:%lld", (long long)(uptime_s / 86400));
    infoLine(o, "hz:%lld", server_settings.hz);
    infoLine(o, "configured_hz:%lld", server_settings.hz);
    infoLine(o, "clients_hz:%lld", server_settings.hz);
    infoLine(o, "lru_clock:%u", (unsigned)lruClock());
    infoLine(o, "executable:%s", daemonExecutable());
    infoLine(o, "config_file:%s", settingFilePath() ? settingFilePath() : "");
    /* The field counts I/O threads at work beside main: none while main serves all clients itself. */
    infoLine(o, "io_threads_active:%d", netActiveThreads());
    infoLine(o, "availability_zone:%s", admin_settings.availability_zone ? admin_settings.availability_zone : "");
    char listener[512];
    for (int i = 0; netListenerInfo(i, listener, sizeof(listener)); i++) infoLine(o, "listener%d:%s", i, listener);
}

void infoTls(infoOut *o) {
    static const char *const certificates[] = {"server_cert", "client_cert", "ca_cert"};
    for (size_t i = 0; i < array_len(certificates); i++) {
        infoLine(o, "tls_%s_serial:none", certificates[i]);
        infoLine(o, "tls_%s_expires_in_seconds:0", certificates[i]);
    }
}

/* ---- Clients --------------------------------------------------------------------------------------- */

typedef struct clientCounts {
    size_t connected, blocked, tracking, pubsub;
} clientCounts;

static clientCounts countClients(void) {
    clientCounts n = {0};
    listIter it = listBegin(client_state.clients, false);
    listNode *node;
    while ((node = listNext(&it)) != NULL) {
        const client *c = listNodeValue(node);
        if (clientTypeOf(c) != CLIENT_TYPE_REPLICA) n.connected++;
        if (c->flags & CLIENT_BLOCKED) n.blocked++;
        if (c->flags & CLIENT_TRACKING) n.tracking++;
        if (c->flags & CLIENT_PUBSUB) n.pubsub++;
    }
    return n;
}

void infoClients(infoOut *o) {
    clientCounts n = countClients();
    infoLine(o, "connected_clients:%zu", n.connected);
    infoLine(o, "cluster_connections:0");
    infoLine(o, "maxclients:%lld", net_settings.maxclients);
    infoLine(o, "client_recent_max_input_buffer:%zu", client_state.recent_max_input);
    infoLine(o, "client_recent_max_output_buffer:%zu", client_state.recent_max_output);
    infoLine(o, "blocked_clients:%zu", n.blocked);
    infoLine(o, "tracking_clients:%zu", n.tracking);
    infoLine(o, "pubsub_clients:%zu", n.pubsub);
    infoLine(o, "watching_clients:0");
    infoLine(o, "clients_in_timeout_table:0");
    infoLine(o, "total_watched_keys:0");
    infoLine(o, "total_blocking_keys:0");
    infoLine(o, "total_blocking_keys_on_nokey:0");
    infoLine(o, "paused_reason:%s", pauseReasonText());
    infoLine(o, "paused_actions:%s", pauseActionsText());
    infoLine(o, "paused_timeout_milliseconds:%lld", (long long)pauseEndsInMs());
}

/* ---- CPU ------------------------------------------------------------------------------------------- */

static void cpuTime(infoOut *o, const struct rusage *u, const char *suffix) {
    infoLine(o, "used_cpu_sys%s:%ld.%06ld", suffix, (long)u->ru_stime.tv_sec, (long)u->ru_stime.tv_usec);
    infoLine(o, "used_cpu_user%s:%ld.%06ld", suffix, (long)u->ru_utime.tv_sec, (long)u->ru_utime.tv_usec);
}

static void activeTime(infoOut *o, const char *thread, uint64_t ns) {
    infoLine(o, "used_active_time_%s:%llu.%06llu", thread, (unsigned long long)(ns / 1000000000),
             (unsigned long long)(ns / 1000 % 1000000));
}

void infoCpu(infoOut *o) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    cpuTime(o, &u, "");
    getrusage(RUSAGE_CHILDREN, &u);
    cpuTime(o, &u, "_children");
    metricsMainThreadUsage(&u);
    cpuTime(o, &u, "_main_thread");
    activeTime(o, "main_thread", statsActiveNs(0));
    for (unsigned i = 1; i < (unsigned)ioThreadsCount(); i++) {
        char name[32];
        snprintf(name, sizeof(name), "io_thread_%u", i);
        activeTime(o, name, statsActiveNs(i));
    }
}

/* ---- What is loaded -------------------------------------------------------------------------------- */

void infoModules(infoOut *o) {
    infoLine(o, "module:name=lua,ver=1,api=1,filters=0,usedby=[],using=[],"
                "options=[handle-repl-async-load|handle-atomic-slot-migration]");
}

void infoCluster(infoOut *o) {
    infoLine(o, "cluster_enabled:0");
}

void infoClusterInfo(infoOut *o) {
    unused(o); /* the section is empty outside a cluster */
}

void infoScriptingEngines(infoOut *o) {
    infoLine(o, "engines_count:1");
    infoLine(o, "engines_total_used_memory:0");
    infoLine(o, "engines_total_memory_overhead:0");
    infoLine(o, "engine_0:name=LUA,module=lua,abi_version=4,used_memory=0,memory_overhead=0");
}

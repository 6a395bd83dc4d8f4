/* main.c -- the start of the process, from the command line to the event loop.
 *
 * Not here    registration (wiring.c), the work of a loop iteration (cron.c, net/net.c).
 * Owns        main's loop.
 * Threads     main; starts the others.
 * Tests       tests/server/process.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_file.h"
#include "admin_settings.h"
#include "bio.h"
#include "child.h"
#include "clock.h"
#include "cluster.h"
#include "cluster_settings.h"
#include "config.h"
#include "cron.h"
#include "daemon.h"
#include "db.h"
#include "db_cmds.h"
#include "fork_outlook.h"
#include "hash.h"
#include "log.h"
#include "lru.h"
#include "memory_test.h"
#include "metrics.h"
#include "net.h"
#include "net_settings.h"
#include "panic.h"
#include "primary_link.h"
#include "startup.h"
#include "replication.h"
#include "rng.h"
#include "server_settings.h"
#include "setting.h"
#include "shutdown.h"
#include "snapshot.h"
#include "thread.h"
#include "version.h"
#include "watchdog.h"
#include "web.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP_FDS_AT_START 1024 /* grows as needed */

static void onOutOfMemory(size_t size) { serverPanic("Out Of Memory allocating %zu bytes!", size); }

static void printUsage(FILE *to) {
    fputs("Usage: valkey-server [FILE] [--OPTION VALUE...]... [-]\n"
          "\n"
          "  FILE               read settings from this file; valkey.conf describes them all\n"
          "  --OPTION VALUE...  set an option, whatever the file says\n"
          "  -                  read more settings from the standard input\n"
          "  --test-memory MB   test so many megabytes of memory by writing and reading patterns\n"
          "  --check-system     report system settings that make a server slow or let it fail;\n"
          "                     the exit code is 1 if there are any\n"
          "  -v, --version      show the version\n"
          "  -h, --help         show this text\n"
          "\n"
          "Without arguments every option has its default. For example:\n"
          "\n"
          "  valkey-server /etc/valkey/valkey.conf\n"
          "  valkey-server --port 7000 --maxmemory 2gb --maxmemory-policy allkeys-lfu\n"
          "  valkey-server cache.conf --io-threads 4 --loglevel debug\n"
          "  echo 'timeout 60' | valkey-server -\n",
          to);
}

/* Handles options that print or test something and end the process. Each must be the first argument. */
static void answerAndExit(int argc, char **argv) {
    if (argc < 2) return;
    if (bannerVersion("Valkey server", argc, argv)) exit(0);
    if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
        printUsage(stdout);
        exit(0);
    }
    if (!strcmp(argv[1], "--test-memory")) exit(memoryTestMain(argc - 2, argv + 2));
    if (!strcmp(argv[1], "--check-system")) exit(systemCheckAll());
}

/* Sets a random key for all hashes; applyHashSeed() may replace it. */
static void seedHash(void) {
    uint8_t key[16];
    rngSecure(key, sizeof(key));
    hashSetKey(key);
}

/* With the same hash-seed, SCAN has the same order on several servers. */
static void applyHashSeed(void) {
    if (!server_settings.hash_seed) return;
    char hex[65];
    sha256Hex(hex, server_settings.hash_seed, strlen(server_settings.hash_seed));
    hashSetKey((const uint8_t *)hex);
}

/* Sets a child's title, and its OOM score, so that the kernel kills it rather than its parent. */
static void settleChild(childPurpose purpose) {
    const char *err;
    daemonSetChildTitle(purpose == CHILD_RDB ? "valkey-rdb-bgsave" : "valkey-aof-rewrite");
    if (!serverApplyOomScore(OOM_CHILD, &err)) serverLog(LL_WARNING, "%s", err);
}

static void notifyReady(void) {
    daemonNotifyStatus(primaryLinkIsOn() ? "Ready to accept connections in read-only mode. Waiting for MASTER <-> "
                                           "REPLICA sync"
                                         : "Ready to accept connections");
    daemonNotifyReady();
}

static const webWiring web_wiring = {.protected_mode = &net_settings.protected_mode,
                                     .keepalive_s = &net_settings.tcp_keepalive_s,
                                     .backlog = &net_settings.tcp_backlog,
                                     .cpulist = &server_settings.bio_cpulist};

int main(int argc, char **argv) {
    threadAdopt();
    daemonInit(argc, argv);
    zmallocSetOomHandler(onOutOfMemory);
    zmallocKeepReserve();
    daemonReserveStack();
    panicSetProgram("valkey " VALKEY_VERSION);
    panicSetMainThread();
    clockRefreshTimezone();
    seedHash();
    int exit_code;
    if (programsRun(argc, argv, &exit_code)) return exit_code;
    answerAndExit(argc, argv);

    wiringCommands();
    wiringSettings();
    wiringInfo();
    settingFileLoad(argc - 1, argv + 1);
    const char *err = NULL;
    if (!serverSettingsApply(&err)) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    applyHashSeed();
    keyHashSetSlots(cluster_settings.enabled); /* wiringHooks() hashes a key */
    wiringHooks();

    daemonStart();
    zmallocSetBackgroundThread(server_settings.jemalloc_bg_thread); /* after the fork, which no thread survives */
    systemCheckWarn();
    bannerStart(argc);
    clockInit();
    serverLog(LL_NOTICE, "monotonic clock: %s", clockMonotonicInfo());
    daemonAdjustFileLimit();
    shutdownInstallSignals();
    storeSetNowMs(clockWallMs());
    lruClockRefresh(storeNowMs());

    aeEventLoop *loop = aeCreateEventLoop(LOOP_FDS_AT_START);
    if (!loop) {
        serverLog(LL_WARNING, "Failed creating the event loop. Error message: '%s'", strerror(errno));
        return 1;
    }
    clientsInit();
    dbInit(cluster_settings.enabled ? (int)cluster_settings.databases : (int)store_settings.databases);
    bannerShow();
    if (!aclFileStart()) return 1;
    netInit(loop);
    childInit(loop, settleChild);
    snapshotInit();
    replInit(loop);
    flushInit(loop);
    primaryLinkOnSync(daemonNotifyStatus);
    threadSetCpuAffinity(net_settings.cpulist);
    if (!netListen()) return 1;
    bioInit(server_settings.bio_cpulist);
    watchdogStart();
    if (!webStart(&web_wiring)) return 1;
    daemonWritePidFile();
    daemonSetTitle();
    settingCheckAppliers();
    cronStart(loop);
    settingFileWarnPending();
    serverLog(LL_NOTICE, "Server initialized");
    metricsSetStartupMemory();
    if (!clusterPrepare(loop)) return 1;
    primaryLinkPrepare();
    daemonNotifyStatus("Valkey is loading...");
    if (!datasetLoadAtStart()) return 1;
    forkOutlookAtStart();
    primaryLinkBegin();
    if (!clusterBegin()) return 1;
    bannerReady();
    notifyReady();
    if (!serverApplyOomScore(OOM_PRIMARY, &err)) serverLog(LL_WARNING, "%s", err);
    aeMain(loop);
    return 0;
}

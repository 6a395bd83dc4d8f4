/* loading.c -- the state of loading a dataset: refuses commands with -LOADING, and reports progress to INFO.
 *
 * Not here    reading files (rdb_load.c); how clients are served meanwhile (engine/yield.h).
 * Owns        the figures of the running load and of the last one.
 * Threads     main.
 *   IDLE --loadingBegin(bytes, false)--> ALONE (the dataset is replaced)  --loadingEnd()--> IDLE
 *        --loadingBegin(bytes, true)--> BESIDE (the old one is served)    --loadingEnd()--> IDLE
 *
 * Invariants  1. GATE_LOADING is enabled exactly between loadingBegin() and loadingEnd().
 *             2. The progress of a load never decreases.
 * Tests       tests/persist/loading.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "loading.h"

#include "clock.h"
#include "command_table.h"
#include "info_table.h"
#include "panic.h"
#include "reply.h"
#include "transaction_queue.h"
#include "yield.h"

#include <time.h>

#define TICK_NS 100000000
#define ERROR_TEXT "-LOADING Valkey is loading the dataset in memory"

static struct {
    bool active, beside;
    time_t started;
    monotime began, ticked;
    uint64_t total, loaded;
    long long used_memory;
    long long keys_loaded, keys_expired, keys_left_out; /* of the running load, or else the last one */
    void (*tick)(void);
} loading;

static void loadingCheck(void) {
    debugAssert(loading.active == ((gates_enabled & 1u << GATE_LOADING) != 0));
    debugAssert(!loading.active || loading.ticked >= loading.began);
    debugAssert(loading.keys_loaded >= 0 && loading.keys_expired >= 0 && loading.keys_left_out >= 0);
}

void loadingBegin(uint64_t total_bytes, bool beside) {
    assertMainRole();
    serverAssert(!loading.active);
    loadingCheck();
    loading.active = true;
    loading.beside = beside;
    loading.started = time(NULL);
    loading.began = loading.ticked = clockTicks();
    loading.total = total_bytes;
    loading.loaded = 0;
    loading.used_memory = loading.keys_loaded = loading.keys_expired = loading.keys_left_out = 0;
    gateEnable(GATE_LOADING, true);
    loadingCheck();
}

void loadingEnd(void) {
    assertMainRole();
    serverAssert(loading.active);
    loadingCheck();
    loading.active = false;
    gateEnable(GATE_LOADING, false);
    loadingCheck();
}

bool loadingIsActive(void) { return loading.active; }

void loadingProgress(uint64_t bytes) {
    debugAssert(!loading.active || bytes >= loading.loaded);
    loading.loaded = bytes;
}

void loadingSetUsedMemory(long long bytes) { loading.used_memory = bytes; }

void loadingSetKeys(long long loaded, long long expired, long long left_out) {
    debugAssert(loaded >= 0 && expired >= 0 && left_out >= 0);
    loading.keys_loaded = loaded;
    loading.keys_expired = expired;
    loading.keys_left_out = left_out;
}

void loadingOnTick(void (*tick)(void)) { loading.tick = tick; }

void loadingServe(void) {
    static const yieldJob alone = {.allowed = CMD_LOADING, .error = ERROR_TEXT};
    static const yieldJob beside = {.refused = CMD_NO_ASYNC_LOADING, .error = ERROR_TEXT};
    assertMainRole();
    loadingCheck();
    yieldNow(loading.beside ? &beside : &alone);
    monotime now = clockTicks();
    if (!loading.tick || clockTicksToNs(now - loading.ticked) < TICK_NS) return;
    loading.ticked = now;
    loading.tick();
}

void loadingRefuse(client *c) { addReplyError(c, ERROR_TEXT); }

gateResult loadingGate(client *c) {
    debugAssert(loading.active);
    /* EXEC is checked with the commands that were queued before the load began. */
    if (loading.beside ? !(commandFlagsNow(c) & CMD_NO_ASYNC_LOADING) : !transactionLacks(c, CMD_LOADING))
        return GATE_PASSED;
    transactionRefuse(c, ERROR_TEXT);
    return GATE_REFUSED;
}

/* ---- INFO ---------------------------------------------------------------------------------------------- */

static void writeState(infoOut *o) {
    infoGauge(o, "loading", loading.active && !loading.beside, "Whether the dataset is being read.");
    infoGauge(o, "async_loading", loading.active && loading.beside,
              "Whether the dataset is being read while the old one is served.");
}

static void writeLast(infoOut *o) {
    infoGauge(o, "rdb_last_load_keys_expired", loading.keys_expired,
              "Keys that were over when the last snapshot was read.");
    infoGauge(o, "rdb_last_load_keys_loaded", loading.keys_loaded, "Keys that were read from the last snapshot.");
    infoGauge(o, "rdb_last_load_keys_left_out", loading.keys_left_out,
              "Keys of the last snapshot that were left out, because their type has no counterpart here.");
}

static uint64_t etaSeconds(void) {
    if (loading.loaded == 0) return 1;
    uint64_t took_s = (uint64_t)(time(NULL) - loading.started);
    uint64_t left = loading.total > loading.loaded ? loading.total - loading.loaded : 0;
    return (uint64_t)((double)took_s * (double)left / (double)loading.loaded);
}

static void writeProgress(infoOut *o) {
    if (!loading.active) return;
    double percent = loading.total ? (double)loading.loaded * 100 / (double)loading.total : 0;
    infoGauge(o, "loading_start_time", loading.started, "When reading the dataset began, in seconds since 1970.");
    infoGauge(o, "loading_total_bytes", loading.total, "Size of the file that is being read.",
              .family = "loading_size_bytes");
    infoSize(o, "loading_rdb_used_mem", loading.used_memory, "Memory that was in use where the file was written.");
    infoGauge(o, "loading_loaded_bytes", loading.loaded, "Bytes of the file that were read.");
    infoGauge(o, "loading_loaded_perc", percent, "How much of the file was read, in percent.");
    infoGauge(o, "loading_eta_seconds", etaSeconds(), "Seconds until the dataset will have been read.");
}

void loadingInfoRegister(void) {
    static const infoFields fields[] = {{"persistence", 10, writeState},
                                        {"persistence", 170, writeLast},
                                        {"persistence", 900, writeProgress},
                                        {.section = NULL}};
    infoTableAddFields(fields);
}

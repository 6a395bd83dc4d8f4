/* machine_fixture.h -- a machine for tests, made of a nodes file, whose invariants are checked after each step.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_MACHINE_FIXTURE_H
#define TESTS_MACHINE_FIXTURE_H

#include "machine_internal.h"
#include "unit.h"

/* Three primaries, and a replica of A. A has slots 0-2, B 3-5, C none. */
#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ID_C "cccccccccccccccccccccccccccccccccccccccc"
#define ID_R "0123456789012345678901234567890123456789"
#define SHARD_A "1111111111111111111111111111111111111111"
#define SHARD_B "2222222222222222222222222222222222222222"
#define SHARD_C "3333333333333333333333333333333333333333"
#define AT_A ID_A " 127.0.0.1:7001@17001,,tls-port=0,shard-id=" SHARD_A " "
#define AT_B ID_B " 127.0.0.1:7002@17002,,tls-port=0,shard-id=" SHARD_B " "
#define AT_C ID_C " 127.0.0.1:7003@17003,,tls-port=0,shard-id=" SHARD_C " "
#define AT_R ID_R " 127.0.0.1:7004@17004,,tls-port=0,shard-id=" SHARD_A " "
#define LINE_A AT_A "master - 0 0 2 connected 0-2\n"
#define LINE_B AT_B "master - 0 0 3 connected 3-5\n"
#define LINE_C AT_C "master - 0 0 1 connected\n"
#define LINE_R AT_R "slave " ID_A " 0 0 2 connected\n"
#define LINE_VARS "vars currentEpoch 7 lastVoteEpoch 6\n"
#define FILE_OF_A AT_A "myself,master - 0 0 2 connected 0-2\n" LINE_B LINE_C LINE_R LINE_VARS
#define FILE_OF_R AT_R "myself,slave " ID_A " 0 0 2 connected\n" LINE_A LINE_B LINE_C LINE_VARS

static clusterTime fixture_now;
static clusterActions fixture_actions; /* of the last step */
static clusterLocal fixture_local;

static inline nodeId fixtureId(const char *text) {
    nodeId id;
    memcpy(id.text, text, sizeof(id.text));
    return id;
}

/* Returns a machine at `port` that has read this file. */
static inline clusterMachine *fixtureMachine(const char *text, uint16_t port) {
    clusterConfig config = {.node_timeout_ms = 2000,
                            .manual_failover_timeout_ms = 5000,
                            .blacklist_ttl_s = 60,
                            .replica_validity_factor = 10,
                            .migration_barrier = 1,
                            .gossip_percent = 10,
                            .allow_replica_migration = true,
                            .require_full_coverage = true,
                            .port = port,
                            .bus_port = (uint16_t)(port + 10000)};
    nodesFile file;
    sds error;
    fixture_now = (clusterTime){.mono_ms = 1000000, .wall_ms = 1700000000000};
    fixture_local = (clusterLocal){.is_empty = true};
    if (!nodesFileParse(sliceStr(text), &file, &error)) serverPanic("%s", error);
    clusterMachine *m = clusterCreate(1, fixture_now, &config, &file);
    nodesFileFree(&file);
    clusterCheck(m);
    return m;
}

static inline void fixtureStep(clusterMachine *m, clusterEvent e) {
    clusterActionsClear(&fixture_actions);
    e.local = &fixture_local;
    clusterStep(m, fixture_now, &e, &fixture_actions);
    clusterCheck(m);
}

static inline void fixtureTick(clusterMachine *m, uint64_t ms) {
    fixture_now.mono_ms += ms;
    fixture_now.wall_ms += (int64_t)ms;
    fixtureStep(m, (clusterEvent){.kind = CLUSTER_TICK});
}

/* Writes the nodes file, as a disk that never waits. */
static inline void fixtureSave(clusterMachine *m) {
    uint64_t version;
    sdsFree(clusterFileText(m, fixture_now, &version));
    fixtureStep(m, (clusterEvent){.kind = CLUSTER_SAVED, .version = version});
}

/* Returns the first action of a kind in the last step, NULL if there is none. */
static inline const clusterAction *fixtureAction(clusterActionKind kind) {
    for (size_t i = 0; i < fixture_actions.count; i++)
        if (fixture_actions.list[i].kind == kind) return &fixture_actions.list[i];
    return NULL;
}

/* Returns the reply to a command, valid until the next step. */
static inline const char *fixtureRun(clusterMachine *m, clusterCommand c) {
    fixtureStep(m, (clusterEvent){.kind = CLUSTER_COMMAND, .command = &c});
    const clusterAction *a = fixtureAction(CLUSTER_REPLY);
    return a ? a->text : "no reply";
}

/* Returns the nodes file of a machine, valid until the next call. */
static inline const char *fixtureFile(clusterMachine *m) {
    static char text[16384];
    uint64_t version;
    sds out = clusterFileText(m, fixture_now, &version);
    snprintf(text, sizeof(text), "%s", out);
    sdsFree(out);
    return text;
}

static inline void fixtureFree(clusterMachine *m) {
    clusterActionsFree(&fixture_actions);
    clusterFree(m);
}

#endif

/* disk_gate.c -- refuses writes with MISCONF while the last snapshot has failed or the AOF cannot be written.
 *
 * PING of a client is refused too, as monitoring relies on that; PING of a script is not. The gate is enabled while a
 * snapshot or the AOF has failed. The settings that allow writes in spite of it are read at each command, so that a
 * change of them takes effect at once.
 *
 * Not here    when a save counts as failed (snapshot.c).
 * Owns        whether GATE_DISK is enabled.
 * Threads     main.
 * Invariants  1. GATE_DISK is enabled exactly while a snapshot or the append-only file has failed.
 * Tests       tests/persist/snapshot.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "disk_gate.h"

#include "command_table.h"
#include "panic.h"
#include "persist_settings.h"
#include "script_context.h"
#include "reply.h"
#include "transaction_queue.h"

#include <stdio.h>
#include <string.h>

static struct {
    const serverCommand *ping;    /* const after startup; borrowed */
    const char *(*product)(void); /* const after startup */
    bool snapshot_failed;
    int aof_error; /* errno, or 0 */
} gate;

static void diskGateCheck(void) {
    debugAssert(((gates_enabled & 1u << GATE_DISK) != 0) == (gate.snapshot_failed || gate.aof_error));
    debugAssert(gate.aof_error >= 0);
}

void diskGateInit(const char *(*product)(void)) {
    gate.ping = commandNamed("ping");
    gate.product = product;
}

static void setFailures(bool snapshot_failed, int aof_error) {
    assertMainRole();
    diskGateCheck();
    gate.snapshot_failed = snapshot_failed;
    gate.aof_error = aof_error;
    gateEnable(GATE_DISK, snapshot_failed || aof_error);
}

void diskGateSetSnapshotFailed(bool failed) { setFailures(failed, gate.aof_error); }

void diskGateSetAofError(int error) { setFailures(gate.snapshot_failed, error); }

bool diskGateSnapshotFailed(void) { return gate.snapshot_failed; }

/* Returns true if a snapshot has failed and the settings refuse writes for that. */
static bool snapshotsMatter(void) {
    return gate.snapshot_failed && persist_settings.stop_writes_on_bgsave_error &&
           persist_settings.save_point_count > 0;
}

bool diskGateIsShut(void) {
    assertMainRole();
    diskGateCheck();
    return gate.aof_error || snapshotsMatter();
}

static void formatError(char *error, size_t size) {
    debugAssert(snapshotsMatter() || gate.aof_error);
    if (!snapshotsMatter()) {
        snprintf(error, size, "-MISCONF Errors writing to the AOF file: %s", strerror(gate.aof_error));
        return;
    }
    snprintf(error, size,
             "-MISCONF %s is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands "
             "that may modify the data set are disabled, because this instance is configured to report errors during "
             "writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the %s logs for "
             "details about the RDB error.",
             gate.product(), gate.product());
}

gateResult diskGate(client *c) {
    char error[512];
    assertMainRole();
    if (!diskGateIsShut()) return GATE_PASSED;
    bool asks = c->cmd == gate.ping && !scriptContextIsClient(c);
    if (!asks && !(commandFlagsNow(c) & CMD_WRITE)) return GATE_PASSED;
    formatError(error, sizeof(error));
    transactionRefuse(c, error);
    return GATE_REFUSED;
}

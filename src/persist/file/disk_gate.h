/* disk_gate.h -- refuses writes with MISCONF while the last snapshot has failed or the AOF cannot be written.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_DISK_GATE_H
#define PERSIST_DISK_GATE_H

#include "gates.h"

/* Call at startup, after the command table is sealed. `product` returns the server's name in error texts: "Valkey". */
void diskGateInit(const char *(*product)(void));
/* Records whether the last snapshot failed. Whether writes are refused for it is decided for each command, by the
 * settings. */
void diskGateSetSnapshotFailed(bool failed);
/* Records the errno for which the append-only file cannot be written or synced; 0 if it can be. */
void diskGateSetAofError(int error);
/* Returns what diskGateSetSnapshotFailed() was called with last; false before the first call. */
bool diskGateSnapshotFailed(void);
/* Returns true if writes are refused now: the AOF has an error, or a snapshot has failed and the settings refuse writes
 * then. */
bool diskGateIsShut(void);
/* The function of GATE_DISK in the table of gates. */
gateResult diskGate(client *c);

#endif

/* disk_gate.h -- nothing is changed that the disk will not have: MISCONF while a save or an append fails.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_DISK_GATE_H
#define PERSIST_DISK_GATE_H

#include "gates.h"

/* Boot, behind the sealing of the command table. `product` says whose name the errors have: "Valkey". */
void diskGateInit(const char *(*product)(void));
/* The last snapshot has failed, or has not: whether that keeps writes out is asked of the settings at each command. */
void diskGateSetSnapshotFailed(bool failed);
/* The append-only file cannot be written or synced, for the reason `error` (errno); 0: it can. */
void diskGateSetAofError(int error);
/* Returns what diskGateSetSnapshotFailed() was called with last; false before. */
bool diskGateSnapshotFailed(void);
/* Whether the disk will not have what is written, and the settings do not say that this is no matter. */
bool diskGateIsShut(void);
/* The entry of GATE_DISK. */
gateResult diskGate(client *c);

#endif

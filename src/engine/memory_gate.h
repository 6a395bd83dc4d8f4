/* memory_gate.h -- applies maxmemory before commands: evicts keys, or refuses commands that need memory.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MEMORY_GATE_H
#define ENGINE_MEMORY_GATE_H

#include "gates.h"

/* Call when a batch of commands begins. Checks the memory if that is due, and enables GATE_MEMORY if the limit is
 * near. */
void memoryGateBatch(void);
/* Does the same immediately. Call if a command uses or may have used much memory, or the limit may have changed. */
void memoryGateUpdate(void);
/* Returns whether, for the running command of `c`, the limit is reached and nothing can be evicted. */
bool memoryGateIsFull(const client *c);
/* The check function of GATE_MEMORY. */
gateResult memoryGate(client *c);

#endif

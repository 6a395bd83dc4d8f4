/* memory_gate.h -- maxmemory before commands: make room, or refuse those that need some.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MEMORY_GATE_H
#define ENGINE_MEMORY_GATE_H

#include "gates.h"

/* A batch of commands begins: look at the memory if it is time, and arm GATE_MEMORY if the limit is near. */
void memoryGateBatch(void);
/* The same at once: a command takes, or may have taken, much, or the limit may have changed. */
void memoryGateUpdate(void);
/* Whether the limit is reached and nothing can be evicted, as the running command of `c` finds it. */
bool memoryGateIsFull(const client *c);
/* The entry of GATE_MEMORY. */
gateResult memoryGate(client *c);

#endif

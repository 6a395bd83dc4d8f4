/* memory_gate.h -- maxmemory before commands: make room, or refuse those that need some.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MEMORY_GATE_H
#define ENGINE_MEMORY_GATE_H

#include "gates.h"

/* A batch of commands begins, or the limit may have changed within one: look at the memory, and arm GATE_MEMORY if
 * there is a limit. */
void memoryGateBatch(void);
/* The entry of GATE_MEMORY. */
gateResult memoryGate(client *c);

#endif

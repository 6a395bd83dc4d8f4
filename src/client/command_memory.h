/* command_memory.h -- memory that a command reserves before it changes anything.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_COMMAND_MEMORY_H
#define CLIENT_COMMAND_MEMORY_H

#include "client.h"

/* Smaller amounts are not reserved: their allocations are assumed to succeed. A request of at least this size is
 * REQ_LARGE. */
#define COMMAND_MEMORY_LARGE ((size_t)1 << 20)

/* Call before the running command of `c` allocates `bytes`, a number that a client chose. Returns false if there is not
 * enough memory: an error was sent, and the command must not change anything. After true, allocations of up to `bytes`
 * do not fail until the command ends. */
bool commandMemoryReserve(client *c, size_t bytes) must_check;
/* Same as commandMemoryReserve(), but sends no error. */
bool commandMemoryTry(client *c, size_t bytes) must_check;
/* Call when the command has ended, if CLIENT_RESERVED is set. */
void commandMemoryEnd(client *c);

#endif

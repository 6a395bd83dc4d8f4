/* command_memory.h -- memory a command is sure of before it begins.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_COMMAND_MEMORY_H
#define CLIENT_COMMAND_MEMORY_H

#include "client.h"

/* What is smaller than this is taken without asking. A request of so many bytes is REQ_LARGE. */
#define COMMAND_MEMORY_LARGE ((size_t)1 << 20)

/* The running command of `c` is about to take `bytes`, a number that a client chose. False when they cannot be had: an
 * error was sent, nothing has been changed. True: its allocations of up to so much will not fail, until it ends. */
bool commandMemoryReserve(client *c, size_t bytes) must_check;
/* The same without the error. */
bool commandMemoryTry(client *c, size_t bytes) must_check;
/* The command has ended (CLIENT_RESERVED is set). */
void commandMemoryEnd(client *c);

#endif

/* redact.h -- arguments that logs and monitors must not show: passwords.
 *
 * Handlers that are given a secret say so while they run; commandlog.c and monitor.c, which come after, ask. Then the
 * bytes are overwritten where they lie, so that neither a core nor a later reader of the block has them.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_REDACT_H
#define ENGINE_REDACT_H

#include "client.h"

/* Hide argument `index` of the command that `c` is running. */
void redactArgument(client *c, uint32_t index);
/* Argument `index` as it may be shown: as it came, or "(redacted)". Borrowed as the request is. */
slice redactedArgument(const client *c, uint32_t index);
/* For the crash report, on any thread: would it be hidden? */
bool redactIsHidden(const client *c, uint32_t index);

/* The command has ended and nobody asks any more: CALL_AFTER_WIPE, before the request's bytes are given back. */
void redactWipe(const client *c);
/* A request has been copied to be run later: the bytes it came in are overwritten, if they may be secrets. Commands
 * that are given some are none that scripts may run, or CMD_SECRETS. */
void redactCopied(const parsedCommand *p, const parsedCommand *copy);

#endif

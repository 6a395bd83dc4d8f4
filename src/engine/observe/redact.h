/* redact.h -- hides arguments that logs and monitors must not show: passwords.
 *
 * A handler that is given a secret marks the argument while it runs; commandlog.c and monitor.c, which run later, check
 * the mark. Then the bytes are overwritten in place, so that neither a core file nor a later reader of the block has
 * them.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_REDACT_H
#define ENGINE_REDACT_H

#include "client.h"

/* Hides argument `index` of the command that `c` is running. */
void redactArgument(client *c, uint32_t index);
/* Returns argument `index` as it may be shown: itself, or "(redacted)". Borrowed as long as the request. */
slice redactedArgument(const client *c, uint32_t index);
/* Returns whether the argument is hidden. For the crash report, on any thread. */
bool redactIsHidden(const client *c, uint32_t index);

/* Overwrites hidden arguments when all readers of the command are done (CALL_AFTER_WIPE), before the request's bytes
 * are reused. */
void redactWipe(const client *c);
/* Overwrites the arguments of `p`, which has been copied to be run later, if they may be secrets: those of a command
 * with CMD_NOSCRIPT or CMD_SECRETS. Arguments that the copy shares stay. */
void redactCopied(const parsedCommand *p, const parsedCommand *copy);

#endif

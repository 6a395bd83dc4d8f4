/* redact.h -- arguments that logs and monitors must not show: passwords.
 *
 * Handlers that are given a secret say so while they run; commandlog.c and monitor.c, which come after, ask.
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

#endif

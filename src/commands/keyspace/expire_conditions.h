/* expire_conditions.h -- NX, XX, GT, LT: the conditions of EXPIRE, HEXPIRE and related commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_EXPIRE_CONDITIONS_H
#define COMMANDS_EXPIRE_CONDITIONS_H

#include "client.h"

/* Parses the words from argument `first` up to `end`. Returns false, after an error reply, if one is unknown or they
 * exclude each other. */
bool expireConditionsParse(client *c, uint32_t first, uint32_t end, unsigned *conditions) must_check;
/* Returns whether the conditions allow the expiry `when_ms` for a key or field that has `current_ms` now. -1 (no
 * expiry) is later than any. */
bool expireConditionsHold(unsigned conditions, int64_t current_ms, int64_t when_ms);

#endif

/* expire_conditions.h -- NX, XX, GT, LT: when EXPIRE and its kin, of keys and of fields, set a time.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_EXPIRE_CONDITIONS_H
#define COMMANDS_EXPIRE_CONDITIONS_H

#include "client.h"

/* The words from argument `first` up to `end`. False when one is none, or they exclude each other: an error was
 * sent. */
bool expireConditionsParse(client *c, uint32_t first, uint32_t end, unsigned *conditions) must_check;
/* Whether the time may be set where there is `current_ms` now. -1, no time, is later than any. */
bool expireConditionsHold(unsigned conditions, int64_t current_ms, int64_t when_ms);

#endif

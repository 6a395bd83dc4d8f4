/* engine_stats.c -- what the engine counts.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine_stats.h"

engineStats engine_stats;

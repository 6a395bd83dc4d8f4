/* engine_stats.c -- the counters of the engine.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine_stats.h"

engineStats engine_stats;

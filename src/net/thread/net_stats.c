/* net_stats.c -- counters of the net layer, for INFO.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net_stats.h"

netStats net_stats;

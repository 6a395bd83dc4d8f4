/* engine_stats.h -- the counters of the engine.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ENGINE_STATS_H
#define ENGINE_ENGINE_STATS_H

#include <stdint.h>

typedef struct engineStats {
    long long commands_processed;
    long long acl_denied_auth, acl_denied_cmd, acl_denied_key, acl_denied_channel, acl_denied_db;
    long long acl_denied_tls_cert;
    uint64_t command_ns; /* time spent in commands, for eventloop_duration_cmd_sum */
} engineStats;
extern engineStats engine_stats;

#endif

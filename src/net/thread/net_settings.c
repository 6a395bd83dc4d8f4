/* net_settings.c -- the values of the net layer's settings, and the copies that other threads read.
 *
 * Not here    their names, ranges and effects (net_setting_table.c).
 * Threads     main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net_settings.h"

#include "string_limits.h"

netSettings net_settings;
netShared net_shared;

void netShareSettings(void) {
    string_bytes_max = net_settings.proto_max_bulk_len;
    atomic_store_explicit(&net_shared.proto_max_bulk_len, net_settings.proto_max_bulk_len, memory_order_relaxed);
    atomic_store_explicit(&net_shared.client_query_buffer_limit, net_settings.client_query_buffer_limit,
                          memory_order_relaxed);
}

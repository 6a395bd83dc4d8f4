/* net_settings.c -- the values of the net layer's options, and the copies that other threads read.
 *
 * Not here    their names, ranges and effects (net_options.c).
 * Threads     main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net_settings.h"

#include "string_limits.h"

netSettings net_conf;
netShared net_shared;

void netShareSettings(void) {
    string_bytes_max = net_conf.proto_max_bulk_len;
    atomic_store_explicit(&net_shared.proto_max_bulk_len, net_conf.proto_max_bulk_len, memory_order_relaxed);
    atomic_store_explicit(&net_shared.client_query_buffer_limit, net_conf.client_query_buffer_limit,
                          memory_order_relaxed);
    atomic_store_explicit(&net_shared.reply_zerocopy_min_size, net_conf.reply_zerocopy_min_size, memory_order_relaxed);
}

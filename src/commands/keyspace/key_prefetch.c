/* key_prefetch.c -- overlaps the cache misses of a command that has many keys.
 *
 * A command with many keys is treated as a batch of its own. Its keys are fetched in groups: if a thousand were fetched
 * at once, the last ones would be evicted from the cache before they are used.
 *
 * Not here    batches across commands (net/session/command_batch.c); how keys are fetched (ds/memory_prefetch.c).
 * Threads     main.
 * Tests       tests/unit/commands/keyspace/key_prefetch_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine_settings.h"
#include "dict.h"
#include "typed_key.h"

uint32_t keysPrefetch(client *c, uint32_t first_arg, uint32_t step, uint32_t count) {
    dictLookup lookups[DICT_PREFETCH_MAX];
    uint32_t group = engine_settings.prefetch_batch_max_size < DICT_PREFETCH_MAX
                         ? (uint32_t)engine_settings.prefetch_batch_max_size
                         : DICT_PREFETCH_MAX;

    if (group == 0 || count < 2 || (c->req && (c->req->flags & REQ_PREFETCHED))) return count;
    if (group > count) group = count;
    for (uint32_t i = 0; i < group; i++) {
        hashedKey key = clientKeyAt(c, first_arg + i * step);
        lookups[i] = (dictLookup){.d = dbDict(c->db, key.hash), .key = key.name, .hash = key.hash, .skip_value = true};
    }
    dictPrefetch(lookups, group);
    return group;
}

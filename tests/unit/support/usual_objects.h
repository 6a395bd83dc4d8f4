/* usual_objects.h -- the default settings of encodings, for tests that create values without a table of settings.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_USUAL_OBJECTS_H
#define TESTS_USUAL_OBJECTS_H

#include "object_settings.h"

static const objectSettings usual_objects = {.hash_max_listpack_entries = 512,
                                             .hash_max_listpack_value = 64,
                                             .set_max_intset_entries = 512,
                                             .set_max_listpack_entries = 128,
                                             .set_max_listpack_value = 64,
                                             .zset_max_listpack_entries = 128,
                                             .zset_max_listpack_value = 64,
                                             .list_max_listpack_size = -2,
                                             .stream_node_max_bytes = 4096,
                                             .stream_node_max_entries = 100,
                                             .hll_sparse_max_bytes = 3000,
                                             .compression = true};

#endif

/* store_support.h -- shared by the tests of this layer: databases, keys, counting observers.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_STORE_SUPPORT_H
#define TESTS_STORE_SUPPORT_H

#include "db.h"
#include "unit.h"

#define TEST_DBS 4

/* Notifications of observers since storeReset(). */
typedef struct heard {
    int modified, by_command, events, expired, evicted, new, miss, removed, removed_by_eviction;
    int flushed, flushed_id, swapped, swapped_ids;
    size_t swapped_first_size; /* before the swap */
    char last_key[64];
} heard;
extern heard ears;
/* Pauses expiry; storeReset() sets it to false. */
extern bool stand_still;

/* Defines two tests of one body: with one dict of keys for each database, and with one for each slot. */
#define STORE_TEST(name_)                 \
    static void store_test_##name_(void); \
    TEST(name_) { store_test_##name_(); } \
    TEST(name_##_with_slots) {            \
        with_slots = true;                \
        store_test_##name_();             \
        with_slots = false;               \
    }                                     \
    static void store_test_##name_(void)
extern bool with_slots; /* for storeReset() */

/* Creates the databases at the first call; each call empties them, and resets settings, time (1,000,000 ms) and
 * counters. */
void storeReset(void);
/* Returns a key "prefixN"; the text is valid for seven more calls. */
hashedKey keyN(const char *prefix, long n);
hashedKey keyOf(const char *name);
/* Returns a string entry "valueN" padded to `len` bytes. */
robj *stringEntry(hashedKey key, long n, size_t len);

#endif

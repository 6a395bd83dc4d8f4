/* replica_expires_test.c -- keys with an expire that clients of a writable replica have set.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "replica_expires.h"

#include "db.h"
#include "store_state.h"
#include "store_support.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static int seen_count;
static char seen[64];
static const char *forgotten; /* the name that is no longer tracked */

static bool look(int dbid, slice name, int64_t when_ms) {
    size_t len = strlen(seen);
    seen_count++;
    snprintf(seen + len, sizeof(seen) - len, "%d%.*s%lld ", dbid, (int)name.len, name.ptr, (long long)when_ms);
    return !forgotten || !sliceIs(name, forgotten);
}

static const char *lookAt(size_t most) {
    seen_count = 0;
    seen[0] = '\0';
    replicaExpiresVisit(most, look);
    return seen;
}

static void note(int dbid, const char *name, int64_t when_ms) { replicaExpiresNote(dbid, sliceStr(name), when_ms); }

TEST(own_expires_are_those_of_own_clients) {
    storeReset();
    note(0, "primary", 5);
    storeSetFollowing((storeFollowing){.on = true, .imports = true});
    note(0, "imported", 5);
    storeSetFollowing((storeFollowing){.on = true});
    storeSetExpireIgnored(true);
    note(0, "sent", 5);
    storeSetExpireIgnored(false);
    CHECK_EQ_INT(replicaExpiresCount(), 0);
    CHECK_EQ_STR(lookAt(10), "");
    note(0, "own", 5);
    note(0, "own", 6);
    note(9, "own", 7);
    CHECK_EQ_INT(replicaExpiresCount(), 2);
    CHECK_EQ_STR(lookAt(10), "0own6 9own7 ");
    replicaExpiresClear();
    CHECK_EQ_INT(replicaExpiresCount(), 0);
    storeSetFollowing((storeFollowing){0});
}

TEST(own_expires_go_along_when_databases_change_places) {
    storeReset();
    CHECK(dbSwap(0, 1));
    storeSetFollowing((storeFollowing){.on = true});
    note(0, "a", 1);
    note(0, "b", 2);
    note(1, "b", 3);
    note(2, "c", 4);
    CHECK_EQ_STR(lookAt(1), "0a1 ");
    CHECK(dbSwap(0, 1));
    CHECK_EQ_STR(lookAt(10), "0b3 1a1 1b2 2c4 ");
    CHECK(dbSwap(2, 2));
    CHECK_EQ_STR(lookAt(10), "0b3 1a1 1b2 2c4 ");
    replicaExpiresClear();
    storeSetFollowing((storeFollowing){0});
}

TEST(replica_expires_are_visited_in_turn) {
    storeReset();
    storeSetFollowing((storeFollowing){.on = true});
    note(0, "a", 1);
    note(0, "b", 2);
    note(0, "c", 3);
    CHECK_EQ_STR(lookAt(2), "0a1 0b2 ");
    CHECK_EQ_STR(lookAt(2), "0c3 ");
    CHECK_EQ_STR(lookAt(2), "0a1 0b2 ");
    forgotten = "c";
    CHECK_EQ_STR(lookAt(1), "0c3 ");
    forgotten = NULL;
    CHECK_EQ_INT(replicaExpiresCount(), 2);
    CHECK_EQ_STR(lookAt(10), "0a1 0b2 ");
    replicaExpiresClear();
    storeSetFollowing((storeFollowing){0});
}

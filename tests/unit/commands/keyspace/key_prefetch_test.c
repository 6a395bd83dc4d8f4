/* key_prefetch_test.c -- how many keys each call prefetches.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine_settings.h"
#include "string_fixture.h"
#include "typed_key.h"

TEST(groups_are_as_large_as_the_setting_says) {
    fixtureSetUp();
    slice argv[101];
    for (int i = 0; i < 101; i++) argv[i] = sliceStr("key");
    client *c = fixture_client;
    c->argv = argv;
    c->argc = 101;
    long long before = engine_settings.prefetch_batch_max_size;
    engine_settings.prefetch_batch_max_size = 16;
    CHECK_EQ_INT(keysPrefetch(c, 1, 1, 100), 16);
    CHECK_EQ_INT(keysPrefetch(c, 1, 2, 50), 16);
    CHECK_EQ_INT(keysPrefetch(c, 98, 1, 3), 3);
    CHECK_EQ_INT(keysPrefetch(c, 100, 1, 1), 1);
    engine_settings.prefetch_batch_max_size = 0;
    CHECK_EQ_INT(keysPrefetch(c, 1, 1, 100), 100);
    engine_settings.prefetch_batch_max_size = 128;
    CHECK_EQ_INT(keysPrefetch(c, 1, 1, 100), 100);
    parsedCommand req = {.flags = REQ_PREFETCHED};
    engine_settings.prefetch_batch_max_size = 16;
    c->req = &req;
    CHECK_EQ_INT(keysPrefetch(c, 1, 1, 100), 100);
    c->req = NULL;
    engine_settings.prefetch_batch_max_size = before;
}

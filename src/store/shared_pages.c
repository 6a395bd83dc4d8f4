/* shared_pages.c -- avoids optional writes while a child process shares the pages of this one.
 *
 * Not here    when children start and end (persist/file/child.c); how full a table may then be (ds/dict.c); replies,
 *             which copy values instead of referring to them (client/reply.h).
 * Owns        the two conditions that determine the policy of tables.
 * Threads     main.
 * Tests       tests/unit/store/shared_pages_test.c, tests/persist/snapshot.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shared_pages.h"

#include "dict.h"
#include "lru.h"
#include "panic.h"

static struct { bool shared, fixed_tables; } pages;

static void setPolicy(void) {
    dictSetResizePolicy(pages.fixed_tables ? DICT_RESIZE_FORBID
                        : pages.shared     ? DICT_RESIZE_AVOID
                                           : DICT_RESIZE_ENABLE);
}

void sharedPagesSet(bool shared) {
    assertMainRole();
    pages.shared = shared;
    lruSetFrozen(LRU_FROZEN_BY_CHILD, shared);
    setPolicy();
}

bool sharedPages(void) { return pages.shared; }

void sharedPagesAllowResizing(bool allowed) {
    assertMainRole();
    pages.fixed_tables = !allowed;
    setPolicy();
}

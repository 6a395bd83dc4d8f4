/* script_flags_test.c -- in a cluster a script may declare that it does not run there.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_flags.h"

#include "client/client_fixture.h"
#include "slot_table.h"
#include "unit.h"

TEST(script_flags_may_exclude_a_cluster) {
    client *c = fixtureClient(2);
    CHECK(scriptMayRun(c, SCRIPT_NO_CLUSTER, false, false));
    slots_enabled = true;
    CHECK(scriptMayRun(c, SCRIPT_ALLOW_CROSS_SLOT_KEYS, false, false));
    CHECK(scriptMayRun(c, SCRIPT_UNDECLARED, true, true));
    CHECK_REPLY(c, "");
    /* Before other reasons not to run it. */
    CHECK(!scriptMayRun(c, SCRIPT_NO_CLUSTER, true, true));
    CHECK_REPLY(c, "-ERR Can not run script on cluster, 'no-cluster' flag is set.\r\n");
    slots_enabled = false;
    clientFree(c);
}

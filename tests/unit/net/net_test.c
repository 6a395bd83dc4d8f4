/* net_test.c -- how main waits, and the figures of the layer as a whole.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "main_policy.h"
#include "main_role.h"
#include "net.h"
#include "net_fixture.h"
#include "net_settings.h"
#include "rebalance.h"
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

static void useThreads(int n) {
    const char *err = NULL;
    net_settings.io_threads = n;
    net_settings.io_threads_always_active = n > 1;
    CHECK(netApplyThreads(&err));
    fixtureTurn();
    CHECK_EQ_INT(rebalanceActiveThreads(), n);
}

static bool isShared(void *arg) {
    unused(arg);
    return !mainPolicyIsDedicated();
}

/* A single helping thread that may stop does not count as active. */
TEST(active_threads_are_those_beside_main) {
    netFixtureInit();
    int role = net_settings.main_role;
    net_settings.main_role = MAIN_ROLE_KEEP; /* execution has no thread of its own, whatever the earlier load */
    CHECK(fixtureUntil(isShared, NULL, 10000));
    for (int n = 1; n <= 4; n++) {
        useThreads(n);
        CHECK_EQ_INT(netActiveThreads(), n - 1);
        net_settings.io_threads_always_active = false; /* although the number of threads has not changed yet */
        CHECK_EQ_INT(netActiveThreads(), n == 2 ? 0 : n - 1);
    }
    useThreads(1);
    CHECK(fixtureUntil(fixtureOnlyMain, NULL, 10000));
    net_settings.main_role = role;
}

/* --- how main waits ----------------------------------------------------------------------------------- */

static struct { _Atomic bool released, over; } watched;

static void *lookAtRole(void *arg) {
    unused(arg);
    unitLimit limit = unitLimitStart(20000);
    bool kept;
    while ((kept = mainRolePeek() == ROLE_KEPT) && !unitLimitOver(&limit)) poll(NULL, 0, 1);
    atomic_store(&watched.released, !kept);
    atomic_store(&watched.over, true);
    return NULL;
}

static long long onTick(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    return 100;
}

/* Otherwise no thread would wake it, and none could execute in its place. */
TEST(main_lays_its_role_down_to_wait) {
    pthread_t looks;
    netFixtureInit();
    useThreads(2);
    atomic_store(&watched.over, false);
    long long tick = aeCreateTimeEvent(fixture_loop, 100, onTick, NULL);
    CHECK(pthread_create(&looks, NULL, lookAtRole, NULL) == 0);
    while (!atomic_load(&watched.over)) aeProcessEvents(fixture_loop, AE_ALL_EVENTS);
    pthread_join(looks, NULL);
    CHECK(atomic_load(&watched.released));
    CHECK_EQ_INT(mainRolePeek(), ROLE_KEPT);
    aeDeleteTimeEvent(fixture_loop, tick);
    useThreads(1);
    CHECK(fixtureUntil(fixtureOnlyMain, NULL, 10000));
}

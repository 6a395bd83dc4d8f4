/* bus_lock_test.c -- the order in which threads get the lock.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_lock.h"
#include "thread.h"
#include "unit.h"

#include <sched.h>

static busLock lock;
static int order[8], taken; /* under the lock */

static void taker(void *arg) {
    busLockTake(&lock);
    order[taken++] = *(int *)arg;
    busLockGive(&lock);
}

static void waitForRequests(uint64_t n) {
    uint64_t asked = 0;
    while (asked < n) {
        sched_yield();
        pthread_mutex_lock(&lock.mutex);
        asked = lock.asked;
        pthread_mutex_unlock(&lock.mutex);
    }
}

TEST(bus_lock_is_given_in_the_order_of_requests) {
    pthread_t threads[3];
    int names[3] = {1, 2, 3};
    busLockInit(&lock);
    taken = 0;
    busLockTake(&lock);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(threadStart(&threads[i], &(threadPlan){.name = "taker"}, taker, &names[i]), 0);
        waitForRequests((uint64_t)i + 2);
    }
    busLockGive(&lock);
    busLockTake(&lock); /* at once, as the bus thread does: the others were first */
    order[taken++] = 4;
    busLockGive(&lock);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) CHECK_EQ_INT(order[i], i + 1);
    busLockDestroy(&lock);
}

static int counter;

static void adder(void *arg) {
    (void)arg;
    for (int i = 0; i < 5000; i++) {
        busLockTake(&lock);
        counter++;
        busLockGive(&lock);
    }
}

TEST(bus_lock_admits_one_thread) {
    pthread_t threads[3];
    busLockInit(&lock);
    counter = 0;
    for (int i = 0; i < 3; i++) CHECK_EQ_INT(threadStart(&threads[i], &(threadPlan){.name = "adder"}, adder, NULL), 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    CHECK_EQ_INT(counter, 15000);
    busLockDestroy(&lock);
}

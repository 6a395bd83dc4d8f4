/* main_role.c -- the main role as one atomic word, and the ways in which it changes threads.
 *
 *            suspend(offer)              acquire                 resume
 *     KEPT -----------------> FREE -----------------> DELEGATED ---------> WANTED
 *      |  ^                    |  ^                      |  |                 |
 *      |  '- resume, wake, ----'  '------ release -------'  | handOff         | release, handOff
 *      |     reacquire                                      v                 |
 *      |                                                   KEPT <-------------'
 *      | suspend(keep)
 *      v
 *    ASLEEP -- resume, reacquire, wake --> KEPT
 *
 * A change is a compare-and-swap or an exchange, sequentially consistent: the thread that loses the role has made all
 * its changes before, the one that gets it sees them after. The same instruction is the fence that prevents lost
 * wakeups: a thread that releases the role checks for messages after that, and a thread that has posted messages reads
 * the word after that; one of the two sees the other's store (io_threads.c keeps a bit for each thread that has
 * posted).
 *
 * Owns        the word; the lock and the condition variable with which main's own thread waits in WANTED.
 * Threads     as the header says. Main's own thread takes the lock in mainRoleResume(), and the thread with the role
 *             when it leaves WANTED, around nothing but the word and the condition variable.
 * Invariants  1. Only main's own thread changes KEPT into ASLEEP or FREE, and DELEGATED into WANTED.
 *             2. Main's own thread acts as main only in KEPT.
 *             3. object_main_owner is the number of the thread that has the role.
 * Cost        two locked instructions for each iteration; a system call only to wake main's own thread.
 * Tests       tests/unit/net/thread/main_role_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "main_role.h"

#include "object.h"
#include "panic.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static struct {
    alignas(CACHE_LINE) _Atomic int word; /* a mainRoleState */
    _Atomic int cpu;                      /* relaxed: only a hint */
    alignas(CACHE_LINE) uint64_t moves;   /* of the thread with the role */
    const aeWakeup *wakeup;               /* const after boot; borrowed */
    pthread_mutex_t lock;
    pthread_cond_t handed_over; /* signaled when the word changes from WANTED to KEPT */
} role = {.lock = PTHREAD_MUTEX_INITIALIZER, .handed_over = PTHREAD_COND_INITIALIZER};

static bool mainRoleChange(mainRoleState from, mainRoleState to) {
    int expected = (int)from;
    return atomic_compare_exchange_strong(&role.word, &expected, (int)to);
}

/* Asserts the states in which a thread may have the role: main's own in KEPT, another one in DELEGATED, or in WANTED if
 * main's own thread waits for it. Called after the role is acquired and before it is released. */
static void roleCheck(void) {
    mainRoleState state = mainRolePeek();
    debugAssert(panicHoldsMainRole());
    debugAssert(panicOnMainThread() ? state == ROLE_KEPT : state == ROLE_DELEGATED || state == ROLE_WANTED);
    debugAssert(panicOnMainThread() == (object_main_owner == 0));
    unused(state);
}

/* The caller has the role from here on. */
static void mainRoleEnter(unsigned thread) {
    panicSetMainRole(true);
    object_main_owner = thread;
    atomic_store_explicit(&role.cpu, sched_getcpu(), memory_order_relaxed);
}

void mainRoleInit(const aeWakeup *wakeup) {
    assertMainThread();
    serverAssert(wakeup && !role.wakeup);
    role.wakeup = wakeup;
    atomic_store(&role.word, ROLE_KEPT);
    mainRoleEnter(0);
    roleCheck();
}

mainRoleState mainRolePeek(void) { return (mainRoleState)atomic_load(&role.word); }

int mainRoleCpu(void) { return atomic_load_explicit(&role.cpu, memory_order_relaxed); }

uint64_t mainRoleMoves(void) {
    assertMainRole();
    return role.moves;
}

/* --- main's own thread ------------------------------------------------------------------------------ */

void mainRoleSuspend(bool offer) {
    assertMainThread();
    roleCheck();
    panicSetMainRole(false);
    int before = atomic_exchange(&role.word, offer ? ROLE_FREE : ROLE_ASLEEP);
    serverAssert(before == ROLE_KEPT);
}

bool mainRoleReacquire(void) {
    assertMainThread();
    if (!mainRoleChange(ROLE_FREE, ROLE_KEPT) && !mainRoleChange(ROLE_ASLEEP, ROLE_KEPT) && mainRolePeek() != ROLE_KEPT)
        return false;
    mainRoleEnter(0);
    roleCheck();
    return true;
}

static void waitForIteration(void) {
    pthread_mutex_lock(&role.lock);
    while (mainRolePeek() == ROLE_WANTED) pthread_cond_wait(&role.handed_over, &role.lock);
    pthread_mutex_unlock(&role.lock);
}

void mainRoleResume(void) {
    assertMainThread();
    while (!mainRoleReacquire())
        if (mainRoleChange(ROLE_DELEGATED, ROLE_WANTED)) waitForIteration();
}

/* --- I/O threads -------------------------------------------------------------------------------------- */

bool mainRoleAcquire(unsigned thread) {
    debugAssert(!panicHoldsMainRole());
    if (atomic_load_explicit(&role.word, memory_order_relaxed) != ROLE_FREE ||
        !mainRoleChange(ROLE_FREE, ROLE_DELEGATED))
        return false;
    mainRoleEnter(thread);
    roleCheck();
    role.moves++;
    return true;
}

/* Hands the role to main's own thread, which waits in mainRoleResume(). */
static void handToMain(void) {
    pthread_mutex_lock(&role.lock);
    bool handed = mainRoleChange(ROLE_WANTED, ROLE_KEPT);
    serverAssert(handed);
    pthread_cond_signal(&role.handed_over);
    pthread_mutex_unlock(&role.lock);
}

void mainRoleRelease(void) {
    roleCheck();
    panicSetMainRole(false);
    if (!mainRoleChange(ROLE_DELEGATED, ROLE_FREE)) handToMain();
}

void mainRoleHandOff(void) {
    roleCheck();
    panicSetMainRole(false);
    if (mainRoleChange(ROLE_DELEGATED, ROLE_KEPT)) aeWakeupSend(role.wakeup);
    else handToMain();
}

bool mainRoleIsWanted(void) { return atomic_load_explicit(&role.word, memory_order_relaxed) == ROLE_WANTED; }

void mainRoleWake(void) {
    if (mainRoleChange(ROLE_FREE, ROLE_KEPT) || mainRoleChange(ROLE_ASLEEP, ROLE_KEPT)) aeWakeupSend(role.wakeup);
}

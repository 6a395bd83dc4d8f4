/* main_role.c -- who acts as main: one word that says who has the role, and the ways it changes hands.
 *
 *            layDown(lend)                borrow
 *     KEPT -----------------> FREE --------------------> LENT --- resume ---> WANTED
 *      |  ^                    |  ^                      |  |                    |
 *      |  '-- resume, takeUp, -'  '----- giveBack -------'  | passOn             | giveBack, passOn
 *      |      wake                                          |                    |
 *      |  ^---------------------------------------------- KEPT <-----------------'
 *      | layDown(keep)
 *      v
 *    ASLEEP -- resume, takeUp, wake --> KEPT
 *
 * A change is a compare-and-swap or an exchange, sequentially consistent: the loser of the role has made all its
 * changes before, the winner sees them after. It is also the fence of "no wake-up is lost": who lays the role down
 * looks for messages after that, and who has posted messages looks at the word after that; one of the two sees the
 * other's store (io_threads.c keeps the bits that say who has posted).
 *
 * Owns        the word; the lock and the condition that main's own thread waits by in WANTED.
 * Threads     as the header says. Lock: taken by main's thread in resume and by a holder that leaves WANTED, around
 *             nothing but the word and the condition.
 * Invariants  1. Only main's own thread makes KEPT into ASLEEP or FREE, only it makes LENT into WANTED.
 *             2. Main's own thread acts only in KEPT.
 *             3. object_main_owner is the number of the thread that has the role.
 * Cost        two locked instructions a turn; a system call only to wake main's own thread.
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
    alignas(CACHE_LINE) _Atomic int word; /* mainRoleState */
    _Atomic int cpu;                      /* relaxed: only a hint */
    alignas(CACHE_LINE) uint64_t moves;   /* the holder's */
    const aeWakeup *wakeup;               /* const after boot; borrowed */
    pthread_mutex_t lock;
    pthread_cond_t given; /* the word went from WANTED to KEPT */
} role = {.lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER};

static bool change(mainRoleState from, mainRoleState to) {
    int expected = (int)from;
    return atomic_compare_exchange_strong(&role.word, &expected, (int)to);
}

/* Asserts what the states say about a thread that has the role: main's own has it in KEPT, another one in LENT, or in
 * WANTED when main's own waits for it. Called where the role was taken, and before it is given away. */
static void roleCheck(void) {
    mainRoleState state = mainRolePeek();
    debugAssert(panicHoldsMainRole());
    debugAssert(panicOnMainThread() ? state == ROLE_KEPT : state == ROLE_LENT || state == ROLE_WANTED);
    debugAssert(panicOnMainThread() == (object_main_owner == 0));
    unused(state);
}

/* The caller has the role from here on. */
static void enter(unsigned thread) {
    panicSetMainRole(true);
    object_main_owner = thread;
    atomic_store_explicit(&role.cpu, sched_getcpu(), memory_order_relaxed);
}

void mainRoleInit(const aeWakeup *wakeup) {
    assertMainThread();
    serverAssert(wakeup && !role.wakeup);
    role.wakeup = wakeup;
    atomic_store(&role.word, ROLE_KEPT);
    enter(0);
    roleCheck();
}

mainRoleState mainRolePeek(void) {
    return (mainRoleState)atomic_load(&role.word);
}

int mainRoleCpu(void) {
    return atomic_load_explicit(&role.cpu, memory_order_relaxed);
}

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
    if (!change(ROLE_FREE, ROLE_KEPT) && !change(ROLE_ASLEEP, ROLE_KEPT) && mainRolePeek() != ROLE_KEPT) return false;
    enter(0);
    roleCheck();
    return true;
}

static void waitForTurnToEnd(void) {
    pthread_mutex_lock(&role.lock);
    while (mainRolePeek() == ROLE_WANTED) pthread_cond_wait(&role.given, &role.lock);
    pthread_mutex_unlock(&role.lock);
}

void mainRoleResume(void) {
    assertMainThread();
    while (!mainRoleReacquire())
        if (change(ROLE_LENT, ROLE_WANTED)) waitForTurnToEnd();
}

/* --- I/O threads -------------------------------------------------------------------------------------- */

bool mainRoleAcquire(unsigned thread) {
    debugAssert(!panicHoldsMainRole());
    if (atomic_load_explicit(&role.word, memory_order_relaxed) != ROLE_FREE || !change(ROLE_FREE, ROLE_LENT))
        return false;
    enter(thread);
    roleCheck();
    role.moves++;
    return true;
}

/* Main's own thread stands in resume: what it waits for is there. */
static void handToWaiting(void) {
    pthread_mutex_lock(&role.lock);
    bool handed = change(ROLE_WANTED, ROLE_KEPT);
    serverAssert(handed);
    pthread_cond_signal(&role.given);
    pthread_mutex_unlock(&role.lock);
}

void mainRoleRelease(void) {
    roleCheck();
    panicSetMainRole(false);
    if (!change(ROLE_LENT, ROLE_FREE)) handToWaiting();
}

void mainRoleHandOff(void) {
    roleCheck();
    panicSetMainRole(false);
    if (change(ROLE_LENT, ROLE_KEPT)) aeWakeupSend(role.wakeup);
    else handToWaiting();
}

bool mainRoleIsWanted(void) {
    return atomic_load_explicit(&role.word, memory_order_relaxed) == ROLE_WANTED;
}

void mainRoleWake(void) {
    if (change(ROLE_FREE, ROLE_KEPT) || change(ROLE_ASLEEP, ROLE_KEPT)) aeWakeupSend(role.wakeup);
}

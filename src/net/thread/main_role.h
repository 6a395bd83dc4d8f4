/* main_role.h -- the main role: the right to touch sessions, the keyspace and reference counts.
 *
 * One thread has it at a time. Main's own thread has it whenever it works. Before it waits it releases the role; then a
 * thread that has commands acquires it for one iteration instead of waking main's own thread, executes them, and
 * releases it. So a light load pays for no hand-over, and under a heavy load main's own thread keeps the role as long
 * as it finds work.
 *
 * Code that "runs on main" runs on the thread that has the role.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_MAIN_ROLE_H
#define NET_MAIN_ROLE_H

#include "ae.h"

typedef enum {
    ROLE_KEPT,      /* main's own thread has it and is awake, or is being woken */
    ROLE_ASLEEP,    /* main's own thread has it and waits: wake it */
    ROLE_FREE,      /* main's own thread waits; a thread with commands may acquire the role */
    ROLE_DELEGATED, /* an I/O thread has it for one iteration */
    ROLE_WANTED     /* the same, and main's own thread waits for that iteration to end */
} mainRoleState;

/* Gives the role to main's own thread, the caller. `wakeup` ends its wait. Call at startup. */
void mainRoleInit(const aeWakeup *wakeup);
mainRoleState mainRolePeek(void); /* for any thread; sequentially consistent */
/* Returns the processor (sched_getcpu()) on which the role was last acquired. For any thread. */
int mainRoleCpu(void);

/* --- main's own thread ---------------------------------------------------------------------------- */
/* Releases the role before the wait (`offer`: FREE), or keeps it (ASLEEP). The caller must check for work once more
 * after that. */
void mainRoleSuspend(bool offer);
/* Acquires the role after the wait. If another thread is running an iteration, blocks until that ends. */
void mainRoleResume(void);
/* Acquires the role again before the wait because work has arrived. Returns false if another thread has it: that thread
 * does the work. */
bool mainRoleReacquire(void);

/* --- I/O threads ------------------------------------------------------------------------------------ */
/* Acquires the role for one iteration of thread number `thread`. Returns false if it is not free. */
bool mainRoleAcquire(unsigned thread);
/* Ends the iteration: frees the role, or hands it to main's own thread if that waits for it. */
void mainRoleRelease(void);
/* Ends the iteration and hands the role to main's own thread, which is woken: only that thread can do what is next. */
void mainRoleHandOff(void);
/* Returns whether main's own thread waits for the role, so that the iteration should end soon. For the thread that has
 * it. */
bool mainRoleIsWanted(void);
/* Wakes main's own thread if it waits and no I/O thread has the role; it wakes with the role. */
void mainRoleWake(void);

/* --- the thread that has the role ------------------------------------------------------------------------ */
/* Returns how often an I/O thread acquired the role since startup. */
uint64_t mainRoleMoves(void);

#endif

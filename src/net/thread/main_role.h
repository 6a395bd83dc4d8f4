/* main_role.h -- who acts as main: the right to touch sessions, the keyspace and reference counts.
 *
 * One thread has it at a time. Main's own thread has it whenever it works; before it waits it lays the role down, and
 * then a thread that has commands takes it for a turn instead of waking main, executes them, and gives it back. So a
 * light load pays for no hand-over, and under a heavy one main's own thread keeps the role as long as it finds work.
 *
 * Everything that is said to "run on main" runs on the holder of the role.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_MAIN_ROLE_H
#define NET_MAIN_ROLE_H

#include "ae.h"

typedef enum {
    ROLE_KEPT,   /* main's own thread has it and is awake, or was rung for */
    ROLE_ASLEEP, /* main's own thread has it and waits: ring for it */
    ROLE_FREE,   /* main's own thread waits; whoever has commands takes the role */
    ROLE_LENT,   /* an I/O thread has it for a turn */
    ROLE_WANTED  /* the same, and main's own thread waits for its end */
} mainRoleState;

/* Boot, on main's own thread, which has the role from then on. `bell` ends its wait. */
void mainRoleInit(const aeWakeup *wakeup);
mainRoleState mainRolePeek(void); /* any thread; seq_cst */
/* Where the role's holder last took it, as sched_getcpu() says; any thread. */
int mainRoleCpu(void);

/* --- main's own thread ---------------------------------------------------------------------------- */
/* Before the wait: lay the role down (FREE), or keep it (ASLEEP). Then look once more whether there is work. */
void mainRoleSuspend(bool offer);
/* After the wait: have the role again. Waits for the end of a turn that another thread makes, without spinning. */
void mainRoleResume(void);
/* Take the role up again before the wait, because work has come. False when another thread has it: it does the work. */
bool mainRoleReacquire(void);

/* --- I/O threads ------------------------------------------------------------------------------------ */
/* Take a free role for a turn as thread number `thread`; false when it is not free. */
bool mainRoleAcquire(unsigned thread);
/* The turn is over. The role is free again, or main's own thread has it if that waits. */
void mainRoleRelease(void);
/* The turn is over, and what follows is for main's own thread, which is woken. */
void mainRoleHandOff(void);
/* The holder of a borrowed role: main's own thread waits, so end the turn soon. */
bool mainRoleIsWanted(void);
/* Wake main's own thread if it waits and nobody has the role; it has the role when it wakes. */
void mainRoleWake(void);

/* --- the holder ---------------------------------------------------------------------------------------- */
/* How often the role was borrowed since boot. */
uint64_t mainRoleMoves(void);

#endif

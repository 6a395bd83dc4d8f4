/* system_check.h -- finds system settings that make a server slow or let it fail, and gives advice.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SYSTEM_CHECK_H
#define SERVER_SYSTEM_CHECK_H

#include "platform.h"

typedef enum {
    SYSTEM_SLOW_CLOCK, /* reading the time takes a system call; the check takes some milliseconds */
    SYSTEM_XEN_CLOCK,  /* the clock is Xen's although a better one is available */
    SYSTEM_OVERCOMMIT, /* fork may be refused */
    SYSTEM_HUGE_PAGES, /* each write after a fork copies 2 MB */
    SYSTEM_TRAITS
} systemTrait;

typedef enum { SYSTEM_GOOD, SYSTEM_BAD, SYSTEM_UNKNOWN } systemState;

/* Returns the present state of a trait; UNKNOWN if the system does not show it. */
systemState systemCheck(systemTrait trait) must_check;
/* Returns the advice for a BAD trait: sentences without a line end. */
const char *systemAdvice(systemTrait trait);
/* Prints the state of each trait on a line, with the advice. Returns the exit code of --check-system: 1 if one is
 * BAD. */
int systemCheckAll(void);

#endif

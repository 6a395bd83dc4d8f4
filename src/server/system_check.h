/* system_check.h -- what of the system makes a server slow or lets it fail, and what to do about it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SYSTEM_CHECK_H
#define SERVER_SYSTEM_CHECK_H

#include "platform.h"

typedef enum {
    SYSTEM_SLOW_CLOCK, /* reading the time takes a system call; finding that out takes some milliseconds */
    SYSTEM_XEN_CLOCK,  /* the same by a clock of Xen, where a better one is there */
    SYSTEM_OVERCOMMIT, /* fork may be refused */
    SYSTEM_HUGE_PAGES, /* each write behind a fork copies 2 MB */
    SYSTEM_TRAITS
} systemTrait;

typedef enum { SYSTEM_GOOD, SYSTEM_BAD, SYSTEM_UNKNOWN } systemState;

/* How it is now; UNKNOWN where the system does not tell. */
systemState systemCheck(systemTrait trait) must_check;
/* What to do when it is BAD: sentences without a line end. */
const char *systemAdvice(systemTrait trait);
/* Print all of it, a line each and the advice. Returns the exit code of --check-system: 1 when something is BAD. */
int systemCheckAll(void);

#endif

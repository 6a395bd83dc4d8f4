/* forked.h -- what every forked child process does first.
 *
 * The child has one thread, and a lock that another thread held at the fork stays locked in it for ever. So it takes
 * no lock, logs without one, and ends by _exit(). Of the open descriptors it keeps the standard streams and one
 * range: a socket that it kept would stay open after the parent has closed it.
 *
 * Runs on: main's own thread, since the kernel kills a child when the thread that forked it ends.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_FORKED_H
#define BASE_FORKED_H

#include "platform.h"

#include <sys/types.h>

/* Forks, with all signals blocked in the child, so that it does not handle one like the parent would. */
pid_t forkQuietly(void);
/* Call in the child: makes it end with its parent, log as 'C', handle signals in its own way, and closes all
 * descriptors from 3 on except `first` to `last`. Ends the child if the parent has already ended. */
void forkedSettle(pid_t parent, int first, int last);

/* Call in a child that goes on executing commands for one client (a debugger run). From then on forkedIsCopy() returns
 * true, and all with effects beyond the process is refused or skipped: files of the dataset and of the configuration,
 * children, signals to children, connections to other servers. A child that writes a snapshot is no such copy. */
void forkedBecomeCopy(void);
bool forkedIsCopy(void);

#endif

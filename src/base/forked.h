/* forked.h -- what every child process of a fork does first.
 *
 * The child has one thread, and whatever lock another one held at the fork stays locked in it for good. So it takes
 * none, its log goes without, and it ends by _exit(). Of what was open it keeps the standard streams and one
 * descriptor: a socket that it kept would outlive the parent's close.
 *
 * Runs on: main's own thread, since the kernel kills a child when the thread that has forked it ends.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_FORKED_H
#define BASE_FORKED_H

#include "platform.h"

#include <sys/types.h>

/* fork(), with all signals blocked in the child, so that none is answered there as the parent would. */
pid_t forkQuietly(void);
/* In the child: it ends with its parent, logs as 'C', has signals of its own, and of the descriptors from 3 on it has
 * those from `first` to `last` alone. Ends it when the parent is gone already. */
void forkedSettle(pid_t parent, int first, int last);

/* Call in a child that goes on executing commands, for one client (a debugging session). From then on
 * forkedIsCopy() returns true, and what would last beyond the process is refused or left out: files of the dataset
 * and of the configuration, children, signals to children, connections to other servers. A child that writes a
 * snapshot is no such copy. */
void forkedBecomeCopy(void);
bool forkedIsCopy(void);

#endif

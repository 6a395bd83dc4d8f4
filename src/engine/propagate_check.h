/* propagate_check.h -- debug builds look at all that is propagated.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PROPAGATE_CHECK_H
#define ENGINE_PROPAGATE_CHECK_H

/* Boot: from here on each item is asserted to be a command that its reader will know. Release builds: nothing. */
void propagateCheckInit(void);

#endif

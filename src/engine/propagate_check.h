/* propagate_check.h -- debug builds check everything that is propagated.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PROPAGATE_CHECK_H
#define ENGINE_PROPAGATE_CHECK_H

/* Call at startup: from then on each item is asserted to be a command that its reader knows. Does nothing in release
 * builds. */
void propagateCheckInit(void);

#endif

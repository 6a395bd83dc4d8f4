/* interrupt.h -- Ctrl-C as a wish to stop, for work that has something to tell when it is stopped.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include "platform.h"

/* From now on the first Ctrl-C is only noted. A second one ends the program, as it does without this. What waits for
 * the server goes on waiting; sleeping and polling end early. */
void interruptCatch(void);
bool interruptCaught(void);

#endif

/* interrupt.h -- turns Ctrl-C into a request to stop, for work that prints a result when it is stopped.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include "platform.h"

/* Catches the next Ctrl-C, which then only sets the flag of interruptCaught(). A second one ends the program. Reads
 * from the server continue after a Ctrl-C; sleep and poll end early. */
void interruptCatch(void);
bool interruptCaught(void);

#endif

/* programs.h -- other programs that the server's binary is, by the name that it is started with.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_PROGRAMS_H
#define SERVER_PROGRAMS_H

#include "platform.h"

/* True when the process is such a program: it has been run, and *exit_code is what it ended with. */
bool programsRun(int argc, char **argv, int *exit_code);

#endif

/* programs.h -- other programs in the server's binary, which run if it is started under their names.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_PROGRAMS_H
#define SERVER_PROGRAMS_H

#include "platform.h"

/* Runs such a program if this process is one. Returns true if it has run, with its exit code in *exit_code. */
bool programsRun(int argc, char **argv, int *exit_code);

#endif

/* check_aof.h -- valkey-check-aof: checks whether append-only files can be loaded, and cuts off an incomplete end.
 *
 * Runs on: main, in a process that is not a server.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_AOF_H
#define PERSIST_CHECK_AOF_H

/* Runs the program, except for its option --version, and returns its exit code. If the table of commands has been
 * registered, commands that it lacks are noted. */
int checkAofMain(int argc, char **argv);

#endif

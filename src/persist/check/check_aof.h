/* check_aof.h -- valkey-check-aof: says whether append-only files would be loaded, and cuts them to what is whole.
 *
 * Runs on: main, of a process that is no server.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_AOF_H
#define PERSIST_CHECK_AOF_H

/* The program, without its --version. Gives its exit code. Where the table of commands has been registered, commands
 * that it does not know are noted. */
int checkAofMain(int argc, char **argv);

#endif

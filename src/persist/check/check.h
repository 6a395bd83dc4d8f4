/* check.h -- the programs valkey-check-aof and valkey-check-rdb.
 *
 * Runs on: main's own thread, in a process that is not a server.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_H
#define PERSIST_CHECK_H

/* Runs valkey-check-aof, except for its option --version, and returns its exit code. If the table of commands has been
 * registered, commands that it lacks are noted. */
int checkAofMain(int argc, char **argv);
/* Runs valkey-check-rdb and returns its exit code: 0 if the file is good; 1 if it is not, cannot be read, or the
 * command line is wrong. */
int checkRdbMain(int argc, char **argv);

#endif

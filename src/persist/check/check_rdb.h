/* check_rdb.h -- the program valkey-check-rdb.
 *
 * Runs on: main's own thread, in a process that does nothing else.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_H
#define PERSIST_CHECK_RDB_H

/* Runs the program and returns its exit code: 0 if the file is good; 1 if it is not, cannot be read, or the command
 * line is wrong. */
int checkRdbMain(int argc, char **argv);

#endif

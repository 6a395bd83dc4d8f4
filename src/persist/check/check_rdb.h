/* check_rdb.h -- the program valkey-check-rdb.
 *
 * Runs on: main's own thread, in a process that does nothing else.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_H
#define PERSIST_CHECK_RDB_H

/* What its exit code is: 0 the file is good, 1 it is not, or cannot be read, or the command line is wrong. */
int checkRdbMain(int argc, char **argv);

#endif

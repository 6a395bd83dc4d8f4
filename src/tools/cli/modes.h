/* modes.h -- what valkey-cli does if the command line has no command.
 *
 * Each function returns the exit code. Those of modes need a connected session.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_MODES_H
#define CLI_MODES_H

#include "cli_connection.h"

int modeStat(cliConnection *c);
int modeLatency(cliConnection *c, bool history);
int modeLatencyDist(cliConnection *c);
int modeIntrinsicLatency(long long seconds);
int modeScan(cliConnection *c);
int modeBigKeys(cliConnection *c, bool by_memory);
int modeKeyStats(cliConnection *c);
int modeHotKeys(cliConnection *c);
int modePipe(cliConnection *c);
int modeRdb(cliConnection *c, bool functions_only);
int modeReplica(cliConnection *c);
int modeLruTest(cliConnection *c);

typedef enum { DEBUG_ENDED, DEBUG_QUIT, DEBUG_RESTART, DEBUG_BROKEN } debugEnd;
/* Runs the debugger (--ldb) on the words of an EVAL. Returns how the debugger ended; the connection has ended with
 * it. */
debugEnd modeDebug(cliConnection *c, int argc, const slice *argv);

/* --- Lines of commands from a terminal or a pipe, until the end of input (repl.c) --- */
int replRunTerminal(cliConnection *c);
int replRunPipe(cliConnection *c);

#endif

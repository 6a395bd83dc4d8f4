/* modes.h -- what valkey-cli does if the command line has no command.
 *
 * Each function returns the exit code. Those of modes need a connected session.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_MODES_H
#define CLI_MODES_H

#include "cli_connection.h"

int modeStat(cliConnection *c);                     /* --stat */
int modeLatency(cliConnection *c, bool history);    /* --latency, --latency-history */
int modeLatencyDist(cliConnection *c);              /* --latency-dist */
int modeIntrinsicLatency(long long seconds);        /* --intrinsic-latency; needs no server */
int modeScan(cliConnection *c);                     /* --scan */
int modeBigKeys(cliConnection *c, bool by_memory);  /* --bigkeys, --memkeys */
int modeKeyStats(cliConnection *c);                 /* --keystats */
int modeHotKeys(cliConnection *c);                  /* --hotkeys */
int modePipe(cliConnection *c);                     /* --pipe */
int modeRdb(cliConnection *c, bool functions_only); /* --rdb, --functions-rdb */
int modeBackup(cliConnection *c);                   /* --backup */
int modeReplica(cliConnection *c);                  /* --replica */
int modeLruTest(cliConnection *c);                  /* --lru-test */
int clusterManagerRun(const cliOptions *o);         /* --cluster (cluster/cluster_manager.c); connects by itself */

typedef enum { DEBUG_ENDED, DEBUG_QUIT, DEBUG_RESTART, DEBUG_BROKEN } debugEnd;
/* Runs the debugger (--ldb) on the words of an EVAL. Returns how the debugger ended; the connection has ended with
 * it. */
debugEnd modeDebug(cliConnection *c, int argc, const slice *argv);

/* --- Lines of commands from a terminal or a pipe, until the end of input (repl.c) --- */
int replRunTerminal(cliConnection *c);
int replRunPipe(cliConnection *c);

#endif

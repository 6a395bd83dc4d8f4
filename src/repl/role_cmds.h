/* role_cmds.h -- REPLICAOF and ROLE: what this server is to others.
 *
 * Runs on: main; REPLICAOF its own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_ROLE_CMDS_H
#define REPL_ROLE_CMDS_H

#include "client.h"

void replicaofCommand(client *c);
void slaveofCommand(client *c);
void roleCommand(client *c);

#endif

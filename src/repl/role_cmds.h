/* role_cmds.h -- REPLICAOF and ROLE: change and show whether this server is a primary or a replica; READONLY and
 * READWRITE.
 *
 * Runs on: main; REPLICAOF, main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_ROLE_CMDS_H
#define REPL_ROLE_CMDS_H

#include "client.h"

/* Logs that this server has become a primary at the request of the client; `why` is the kind of request. */
void roleLogPromotion(const char *why, const client *c);

void replicaofCommand(client *c);
void slaveofCommand(client *c);
void roleCommand(client *c);
void readonlyCommand(client *c);
void readwriteCommand(client *c);

#endif

/* role_cmds.h -- REPLICAOF and ROLE: what this server is to others.
 *
 * Runs on: main; REPLICAOF its own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_ROLE_CMDS_H
#define REPL_ROLE_CMDS_H

#include "client.h"

/* Boot. `hide_user_data`: whether names of clients stay out of the log. */
void roleCommandsInit(bool (*hide_user_data)(void));
/* This server has become a primary because somebody asked for it. */
void roleLogPromotion(const char *why, const client *c);

void replicaofCommand(client *c);
void slaveofCommand(client *c);
void roleCommand(client *c);

#endif

/* acl_cmds.h -- handlers of ACL, which the rows of table/ leave to be bound.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_ACL_CMDS_H
#define COMMANDS_ACL_CMDS_H

#include "client.h"

void aclCatCommand(client *c);
void aclGenpassCommand(client *c);
void aclGetuserCommand(client *c);
void aclHelpCommand(client *c);
void aclListCommand(client *c);
void aclUsersCommand(client *c);
void aclWhoamiCommand(client *c);

#endif

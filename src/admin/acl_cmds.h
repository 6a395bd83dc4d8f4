/* acl_cmds.h -- the handlers of ACL: users and their rules, categories of commands, the log of refused commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ACL_CMDS_H
#define ADMIN_ACL_CMDS_H

#include "client.h"

void aclCatCommand(client *c);
void aclDeluserCommand(client *c);
void aclDryrunCommand(client *c);
void aclGenpassCommand(client *c);
void aclGetuserCommand(client *c);
void aclListCommand(client *c);
void aclLoadCommand(client *c);
void aclLogCommand(client *c);
void aclSaveCommand(client *c);
void aclSetuserCommand(client *c);
void aclUsersCommand(client *c);
void aclWhoamiCommand(client *c);

#endif

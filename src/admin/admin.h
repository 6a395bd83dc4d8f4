/* admin.h -- registers what this layer has for the layers below, and the handlers of its short commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "client.h"

/* Call at startup only: the commands, the INFO fields, the sections of crash reports (crash_sections.c). */
void adminCommandsRegister(void);
void adminInfoRegister(void);
void crashSectionsRegister(void);

/* --- The handlers in acl_cmds.c, memory_cmds.c and lolwut.c --- */
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
void memoryDoctorCommand(client *c);
void memoryMallocStatsCommand(client *c);
void memoryPurgeCommand(client *c);
void memoryStatsCommand(client *c);
void memoryUsageCommand(client *c);
void lolwutCommand(client *c);

#endif

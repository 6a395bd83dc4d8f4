/* server_cmds.h -- the handlers of this layer for the command table.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SERVER_CMDS_H
#define SERVER_SERVER_CMDS_H

/* Give the commands of the table their handlers; start INFO's clock; tell HELLO who we are; add the sections of the
 * crash report and what CONFIG RESETSTAT resets. Boot only, after commandsRegister(). */
void serverCmdsBind(void);

#endif

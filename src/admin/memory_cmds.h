/* memory_cmds.h -- the MEMORY command.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_MEMORY_CMDS_H
#define ADMIN_MEMORY_CMDS_H

#include "client.h"

void memoryDoctorCommand(client *c);
void memoryMallocStatsCommand(client *c);
void memoryPurgeCommand(client *c);
void memoryStatsCommand(client *c);
void memoryUsageCommand(client *c);

#endif

/* role.h -- ROLE.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ROLE_H
#define ADMIN_ROLE_H

#include "client.h"

void roleCommand(client *c);

#endif

/* lolwut.h -- the LOLWUT command.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_LOLWUT_H
#define ADMIN_LOLWUT_H

#include "client.h"

/* LOLWUT [VERSION n] [columns [rows]] */
void lolwutCommand(client *c);

#endif

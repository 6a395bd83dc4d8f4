/* admin.h -- what this layer registers in the tables of the layers below. Boot only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

void adminCommandsRegister(void);
void adminInfoRegister(void);

#endif

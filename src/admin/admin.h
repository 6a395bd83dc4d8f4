/* admin.h -- registers this layer's commands and INFO fields with the layers below. Call at startup only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

void adminCommandsRegister(void);
void adminInfoRegister(void);

#endif

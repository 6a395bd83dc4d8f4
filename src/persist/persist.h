/* persist.h -- what this layer registers in the tables of the layers below. Boot only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_PERSIST_H
#define PERSIST_PERSIST_H

void persistCommandsRegister(void);
void persistInfoRegister(void);

#endif

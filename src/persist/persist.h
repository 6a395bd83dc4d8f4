/* persist.h -- the functions that register this layer's commands and INFO fields in the tables of lower layers.
 *
 * Call both at startup only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_PERSIST_H
#define PERSIST_PERSIST_H

void persistCommandsRegister(void);
void persistInfoRegister(void);

#endif

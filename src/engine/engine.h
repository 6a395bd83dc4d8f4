/* engine.h -- what this layer registers in the tables of the layers below. Boot only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

void engineCommandsRegister(void);
void engineInfoRegister(void);

#endif

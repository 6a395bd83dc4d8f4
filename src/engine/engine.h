/* engine.h -- registers this layer in the tables of the layers below. Call at startup.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

void engineCommandsRegister(void);
void engineInfoRegister(void);

#endif

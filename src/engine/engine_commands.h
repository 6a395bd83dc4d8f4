/* engine_commands.h -- the commands whose handlers are in this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ENGINE_COMMANDS_H
#define ENGINE_ENGINE_COMMANDS_H

/* Boot only. */
void engineCommandsRegister(void);

#endif

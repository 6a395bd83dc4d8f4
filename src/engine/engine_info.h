/* engine_info.h -- the figures of commands in INFO.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ENGINE_INFO_H
#define ENGINE_ENGINE_INFO_H

/* Boot only. */
void engineInfoRegister(void);

#endif

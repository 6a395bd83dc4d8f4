/* script_info.h -- what INFO says of scripts.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_INFO_H
#define SCRIPT_SCRIPT_INFO_H

/* Boot only. */
void scriptInfoRegister(void);

#endif

/* admin_info.h -- the process, its memory and its rates in INFO.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ADMIN_INFO_H
#define ADMIN_ADMIN_INFO_H

/* Boot only. */
void adminInfoRegister(void);

#endif

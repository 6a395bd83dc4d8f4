/* pending_info.h -- fields of INFO whose subsystem is still to come.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_PENDING_INFO_H
#define SERVER_PENDING_INFO_H

/* Boot only. */
void pendingInfoRegister(void);

#endif

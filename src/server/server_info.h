/* server_info.h -- how the process stands towards the system, in INFO.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SERVER_INFO_H
#define SERVER_SERVER_INFO_H

/* Boot only. */
void serverInfoRegister(void);

#endif

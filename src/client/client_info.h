/* client_info.h -- the figures of clients and errors in INFO.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_CLIENT_INFO_H
#define CLIENT_CLIENT_INFO_H

/* Boot only. */
void clientInfoRegister(void);

#endif

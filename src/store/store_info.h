/* store_info.h -- the figures of the keyspace in INFO.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_INFO_H
#define STORE_STORE_INFO_H

/* Boot only. */
void storeInfoRegister(void);

#endif

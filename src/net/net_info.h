/* net_info.h -- the figures of connections, threads and loops in INFO.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_INFO_H
#define NET_NET_INFO_H

/* Boot only. */
void netInfoRegister(void);

#endif

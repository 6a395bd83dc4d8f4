/* persist_info.h -- what INFO says of snapshots and children.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_PERSIST_INFO_H
#define PERSIST_PERSIST_INFO_H

/* Boot only. */
void persistInfoRegister(void);

#endif

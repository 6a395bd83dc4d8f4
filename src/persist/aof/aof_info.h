/* aof_info.h -- what INFO says of the append-only file.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_INFO_H
#define PERSIST_AOF_INFO_H

/* Boot only. */
void aofInfoRegister(void);

#endif

/* repl_info.h -- what INFO says of replication.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPL_INFO_H
#define REPL_REPL_INFO_H

/* Boot. */
void replInfoRegister(void);

#endif

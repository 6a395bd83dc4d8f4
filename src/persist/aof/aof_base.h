/* aof_base.h -- writes the dataset as commands that create it: the base of an append-only file without RDB preamble.
 *
 * Threads     the thread that has the main role, or the only thread of a child; it writes to no memory of the dataset.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_BASE_H
#define PERSIST_AOF_BASE_H

#include "rdb_save.h"

/* The value of rdbSaveOptions.as_commands. The functions run in the process that saves, usually a child. */
extern const rdbCommandForm aof_base_commands;

#endif

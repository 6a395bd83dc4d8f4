/* aof_base.h -- the dataset as commands that make it: the base of an append-only file where it is to be no snapshot.
 *
 * Threads     who has main's role, or the only thread of a child; nothing of the dataset is written to.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_BASE_H
#define PERSIST_AOF_BASE_H

#include "rdb_save.h"

/* For rdbSaveOptions.as_commands. Runs in the process that saves, usually a child; it changes nothing of the dataset.
 * */
extern const rdbCommandForm aof_base_commands;

#endif

/* rdb_fault.h -- describes a fault of a snapshot as text, for the log and for valkey-check-rdb.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_FAULT_H
#define PERSIST_RDB_FAULT_H

#include "rdb_scan.h"

/* Returns the reason in one line, worded as in Valkey's log. `version` is that of the file. The caller frees it. */
sds rdbFaultText(const rdbFault *f, unsigned version);
/* Returns the name of a module (nine letters) for its ID. The caller frees it. */
sds rdbModuleName(uint64_t id);
/* Returns where the fault is: "at byte 12, database 0, key "k", type 4", or only "at byte 0" for a fault of magic or
 * version. The caller frees it. */
sds rdbFaultPlace(const rdbFault *f, bool hide_user_data);

#endif

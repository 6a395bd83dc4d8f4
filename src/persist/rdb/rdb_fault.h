/* rdb_fault.h -- what is wrong with a snapshot, in words.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_FAULT_H
#define PERSIST_RDB_FAULT_H

#include "rdb_scan.h"

/* One line, as those who read logs know it. `version` is the file's. A new sds. */
sds rdbFaultText(const rdbFault *f, unsigned version);
/* The nine letters of a module's id. A new sds. */
sds rdbModuleName(uint64_t id);
/* Where it is: "at byte 12, database 0, key "k", type 4"; of the magic "at byte 0". A new sds. */
sds rdbFaultPlace(const rdbFault *f, bool hide_user_data);

#endif

/* function_dump.h -- libraries as bytes that another server can take.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_DUMP_H
#define SCRIPT_FUNCTION_DUMP_H

#include "function_table.h"

/* The caller's. */
sds functionDump(const functionTable *t);
/* Load what functionDump() of some server has made into `t`. `relaxed`: any version. NULL, or the text of an error,
 * which is the caller's; the table may then have some of the libraries. */
sds functionDumpLoad(functionTable *t, slice payload, bool relaxed, functionLoading how) must_check;

#endif

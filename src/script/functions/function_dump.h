/* function_dump.h -- libraries as a payload of bytes that another server can load (FUNCTION DUMP, FUNCTION RESTORE).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_DUMP_H
#define SCRIPT_FUNCTION_DUMP_H

#include "function_table.h"

/* Returns the payload, which the caller frees. */
sds functionDump(const functionTable *t);
/* Loads the libraries of a payload of functionDump() into `t`. `relaxed` accepts any RDB version. Returns NULL, or the
 * text of an error, which the caller frees; the table may then have some of the libraries. */
sds functionDumpLoad(functionTable *t, slice payload, bool relaxed, functionLoading how) must_check;

#endif

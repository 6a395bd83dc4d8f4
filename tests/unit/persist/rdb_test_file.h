/* rdb_test_file.h -- snapshots for tests, put together piece by piece.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_RDB_TEST_FILE_H
#define TESTS_RDB_TEST_FILE_H

#include "rdb_value.h"

/* The process as these tests need it: databases (empty again at each call), types, settings. */
void rdbTestReset(void);

/* A file that grows: magic first, then what is wanted, then the end with its checksum. */
sds rdbTestBegin(void);
sds rdbTestCatDb(sds f, int db, size_t keys, size_t expires);
sds rdbTestCatKey(sds f, slice key, const robj *value, int64_t expire_ms);
sds rdbTestEnd(sds f);
/* Its bytes as an open file, at the begin of it. */
int rdbTestOpen(slice bytes);
/* The same as a path, valid until the next call. */
const char *rdbTestPath(slice bytes);

/* A value of some type, drawn from the generator: of about so many elements, or bytes. */
robj *rdbTestValue(uint64_t *random, slice key, size_t size);

#endif

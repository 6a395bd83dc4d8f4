/* rdb_test_file.h -- snapshots for tests, built piece by piece.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_RDB_TEST_FILE_H
#define TESTS_RDB_TEST_FILE_H

#include "rdb_value.h"

/* Prepares the process: databases (emptied at each call), types, settings. */
void rdbTestReset(void);

/* Build a file: the magic first, then any contents, then the end with its checksum. */
sds rdbTestBegin(void);
sds rdbTestCatDb(sds f, int db, size_t keys, size_t expires);
sds rdbTestCatKey(sds f, slice key, const robj *value, int64_t expire_ms);
sds rdbTestEnd(sds f);
/* Returns a descriptor of a file with these bytes, at its begin. */
int rdbTestOpen(slice bytes);
/* Returns the path of a file with these bytes, valid until the next call. */
const char *rdbTestPath(slice bytes);

/* Returns a random value of a random type, of about `size` elements or bytes. */
robj *rdbTestValue(uint64_t *random, slice key, size_t size);

#endif

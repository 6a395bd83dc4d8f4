/* value_list_internal.h -- what the two files of the list type share.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_LIST_INTERNAL_H
#define OBJECT_VALUE_LIST_INTERNAL_H

#include "quicklist.h"
#include "rdb_value.h"

/* An empty one with today's bounds. */
quicklist *valueListQuicklist(void);
/* objectTypeOps */
uint8_t valueListRdbType(const void *structure, int encoding);
void valueListRdbWrite(rdbWriter *w, const void *structure, int encoding);
void *valueListRdbRead(rdbReader *r, unsigned rdb_type, int *encoding);

#endif

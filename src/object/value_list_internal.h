/* value_list_internal.h -- shared by the two files of the list type.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_LIST_INTERNAL_H
#define OBJECT_VALUE_LIST_INTERNAL_H

#include "quicklist.h"
#include "rdb_value.h"

/* Returns an empty quicklist with the current limits. */
quicklist *valueListQuicklist(void);
/* Callbacks for objectTypeOps. */
uint8_t valueListRdbType(const void *structure, int encoding);
void valueListRdbWrite(rdbWriter *w, const void *structure, int encoding);
void *valueListRdbRead(rdbReader *r, unsigned rdb_type, int *encoding);

#endif

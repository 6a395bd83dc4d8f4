/* value_set_internal.h -- what the files of the set type share.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_SET_INTERNAL_H
#define OBJECT_VALUE_SET_INTERNAL_H

#include "value_set.h"

static inline setMember setMemberOfEntry(const void *entry) {
    slice text = setEntryText(entry);
    return (setMember){.str = text.ptr, .len = text.len};
}
void setEntryFree(void *entry);

dict *setTableCreate(void);
/* Add a member that is not there. */
void setTableAdd(dict *d, slice member, uint64_t hash);
/* False: it is there. */
bool setTableTryAdd(dict *d, slice member);
/* Whether so many members are within the thresholds. */
bool setFitsIntset(size_t count);
bool setFitsListpack(size_t count, size_t longest);

#endif

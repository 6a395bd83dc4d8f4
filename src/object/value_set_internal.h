/* value_set_internal.h -- shared by the files of the set type.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_SET_INTERNAL_H
#define OBJECT_VALUE_SET_INTERNAL_H

#include "value_set.h"

/* Returns the member that an entry of the table holds. */
static inline setMember setMemberOfEntry(const void *entry) {
    slice text = setEntryText(entry);
    return (setMember){.str = text.ptr, .len = text.len};
}
void setEntryFree(void *entry);

dict *setTableCreate(void); /* empty */
/* Adds a member that is absent. */
void setTableAdd(dict *d, slice member, uint64_t hash);
/* Adds a member. Returns false if it is present. */
bool setTableTryAdd(dict *d, slice member);
/* Return whether this many members are within the limits of an encoding. */
bool setFitsIntset(size_t count);
bool setFitsListpack(size_t count, size_t longest);

#endif

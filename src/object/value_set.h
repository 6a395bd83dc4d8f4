/* value_set.h -- the set type: different members without order.
 *
 *   intset      all members are integers, set-max-intset-entries at most
 *   listpack    set-max-listpack-entries at most, none longer than set-max-listpack-value
 *   hashtable   a dict whose entries are the members: length and bytes in one allocation
 *
 *            another add               another add
 *   intset -------------> listpack ------------------> hashtable       never back
 *          --------------------------------------------^
 *
 * A set is an entry (robj) of type OBJ_SET, in the keyspace or not yet. A hash is that of the member's text, and is
 * looked at only where setIsTable(): callers that have none at hand make it only then.
 *
 * Threads     main; functions that take a const set write nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_SET_H
#define OBJECT_VALUE_SET_H

#include "dict.h"
#include "listpack.h"
#include "object.h"

extern const objectTypeOps set_type_ops;

/* A member that is there: borrowed until the set changes. `str` NULL: the integer `num`. */
typedef listpackValue setMember;

/* Its text, in the set or printed to `buf`. */
static inline slice setMemberText(const setMember *m, char buf[LONG_STR_SIZE]) {
    return m->str ? sliceOf(m->str, m->len) : sliceOf(buf, ll2string(buf, m->num));
}

/* --- Making -------------------------------------------------------------------------------------- */

/* An empty set for `key`, of the encoding that is right if `first` comes first and about `count` members in all. */
robj *setCreate(slice key, slice first, size_t count);
/* An empty set of the encoding OBJ_ENC_INTSET or OBJ_ENC_LISTPACK, whatever the thresholds. */
robj *setCreateCompact(slice key, int encoding);
/* About `count` members will be added: a compact set for which that is too much becomes a table. */
void setExpect(robj *o, size_t count);
/* Room for `count` members where it is a table; if the memory cannot be had, it grows as it goes. */
void setReserve(robj *o, size_t count);
/* The members are final: all of them integers, and few enough, make it an intset. */
void setSettle(robj *o);
/* The entry gets the members of `from`, whose own are freed (in the background where that is worth it by the caller):
 * returns an entry without key that holds what `o` had. */
robj *setExchange(robj *o, robj *from);

/* --- Reading ------------------------------------------------------------------------------------- */

size_t setSize(const robj *o);
static inline bool setIsTable(const robj *o) {
    return o->encoding == OBJ_ENC_HASHTABLE;
}
/* The table, NULL where there is none. */
dict *setTable(const robj *o);
/* A table's entry is a member. */
slice setEntryText(const void *entry);
bool setHas(const robj *o, slice member, uint64_t hash);
/* Sets has[i] to whether values[i] is in `o`, which is an intset. The values must ascend. */
void setHasIntegers(const robj *o, const int64_t *values, size_t n, bool *has);
/* All members. The set must not change meanwhile. */
typedef struct setIterator {
    const robj *set;
    size_t index;
    listpackIter listpack;
    dictIterator table;
} setIterator;
void setIterBegin(setIterator *it, const robj *o);
bool setIterNext(setIterator *it, setMember *out);
void setIterEnd(setIterator *it);

/* --- Changing ------------------------------------------------------------------------------------ */

/* False: it was there. */
bool setAdd(robj *o, slice member, uint64_t hash);
/* The same for one that is known not to be in a table `o`. */
void setAddNew(robj *o, slice member, uint64_t hash);
/* False: it was not there. An empty set is the caller's to delete. */
bool setRemove(robj *o, slice member, uint64_t hash);

/* --- Random members, each as likely as the others (value_set_random.c) ---------------------------- */

/* The set is not empty. */
setMember setRandom(const robj *o);
/* `visit` is told of each member that is picked; false ends it. */
typedef bool setVisit(void *arg, const setMember *m);
/* `count` picks that may repeat, of a set that is not empty. */
void setRandomRepeating(const robj *o, uint64_t count, setVisit *visit, void *arg);
/* `count` different members, at most as many as there are. */
void setRandomDifferent(const robj *o, size_t count, setVisit *visit, void *arg);
/* Take one out: `taken` is told of it while it can still be read. The set is not empty. */
typedef void setTaken(void *arg, const setMember *m);
void setPop(robj *o, setTaken *taken, void *arg);
/* The same for `count` members, fewer than there are. */
void setPopMany(robj *o, size_t count, setTaken *taken, void *arg);

#endif

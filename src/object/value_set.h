/* value_set.h -- the set type: unordered, unique members.
 *
 *   intset      all members are integers, set-max-intset-entries at most
 *   listpack    set-max-listpack-entries at most, none longer than set-max-listpack-value
 *   hashtable   a dict whose entries are the members: length and bytes in one allocation
 *
 *            another add               another add
 *   intset -------------> listpack ------------------> hashtable       never back
 *          --------------------------------------------^
 *
 * A set is an entry (robj) of type OBJ_SET, in the keyspace or not yet. `hash` is that of the member's text, and is
 * used only if setIsTable(): callers without one compute it only then.
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

/* A member, borrowed until the set changes. If `str` is NULL it is the integer `num`. */
typedef listpackValue setMember;

/* Returns the member's text, in the set or printed to `buf`. */
static inline slice setMemberText(const setMember *m, char buf[LONG_STR_SIZE]) {
    return m->str ? sliceOf(m->str, m->len) : sliceOf(buf, ll2string(buf, m->num));
}

/* --- Creating -------------------------------------------------------------------------------------- */

/* Returns an empty set for `key`, with the encoding for `first` as its first member and about `count` members in
 * all. */
robj *setCreate(slice key, slice first, size_t count);
/* Returns an empty set with the encoding OBJ_ENC_INTSET or OBJ_ENC_LISTPACK, whatever the limits. */
robj *setCreateCompact(slice key, int encoding);
/* Call before adding about `count` members: a compact set becomes a table if they are too many for it. */
void setExpect(robj *o, size_t count);
/* Reserves capacity for `count` members in a table; if there is no memory for that, it grows step by step. */
void setReserve(robj *o, size_t count);
/* Call when all members were added: converts to an intset if all are integers and few enough. */
void setSettle(robj *o);
/* Gives the entry the members of `from`, whose entry is freed. Returns an entry without key that holds the old members,
 * for the caller to free (in the background if that is worth it). */
robj *setExchange(robj *o, robj *from);

/* --- Reading ------------------------------------------------------------------------------------- */

size_t setSize(const robj *o);
static inline bool setIsTable(const robj *o) { return o->encoding == OBJ_ENC_HASHTABLE; }
/* Returns the table, NULL if it has none. */
dict *setTable(const robj *o);
/* Returns the member that an entry of the table holds. */
slice setEntryText(const void *entry);
/* Returns whether the member is present. */
bool setHas(const robj *o, slice member, uint64_t hash);
/* Sets has[i] to whether values[i] is in `o`, which is an intset. The values must ascend. */
void setHasIntegers(const robj *o, const int64_t *values, size_t n, bool *has);
/* A walk over all members. The set must not change meanwhile. */
typedef struct setIterator {
    const robj *set;
    size_t index;
    listpackIter listpack;
    dictIterator table;
} setIterator;
void setIterBegin(setIterator *it, const robj *o);
bool setIterNext(setIterator *it, setMember *out); /* false at the end */
void setIterEnd(setIterator *it);

/* --- Changing ------------------------------------------------------------------------------------ */

/* Adds a member. Returns false if it is present. */
bool setAdd(robj *o, slice member, uint64_t hash);
/* Like setAdd(), for a member that is known to be absent if `o` has a table. */
void setAddNew(robj *o, slice member, uint64_t hash);
/* Removes a member. Returns false if it is absent. The caller deletes a set that is empty then. */
bool setRemove(robj *o, slice member, uint64_t hash);

/* --- Random members, all equally likely (value_set_random.c) ---------------------------- */

/* Returns a random member of a set that is not empty. */
setMember setRandom(const robj *o);
/* Called for each chosen member; returns false to stop. */
typedef bool setVisit(void *arg, const setMember *m);
/* Chooses `count` members, with repetition, of a set that is not empty. */
void setRandomRepeating(const robj *o, uint64_t count, setVisit *visit, void *arg);
/* Chooses `count` different members, at most as many as the set has. */
void setRandomDifferent(const robj *o, size_t count, setVisit *visit, void *arg);
/* Removes a random member of a set that is not empty; calls `taken` with it first. */
typedef void setTaken(void *arg, const setMember *m);
void setPop(robj *o, setTaken *taken, void *arg);
/* Like setPop(), for `count` members, fewer than the set has. */
void setPopMany(robj *o, size_t count, setTaken *taken, void *arg);

#endif

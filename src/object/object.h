/* object.h -- robj: a key's entry and its value in one allocation.
 *
 *   +--------+--------+----------+-----------+--------------+------------+--------------+
 *   | word 0 | word 1 | [expire] | [place]   | [long key n] | key bytes  | [value bytes]|
 *   +--------+--------+----------+-----------+--------------+------------+--------------+
 *     type     value    int64 ms   value block  size_t, only   key_len      value_len, when
 *     refs     length   or -1      or integer   past 65534 B                embedded (EMBSTR)
 *     flags    owner
 *              key length
 *
 * Small strings (EMBSTR) lie in the entry. Larger ones (RAW) are a block of exactly their bytes, without
 * a header of their own, so that 512 or 4096 bytes fill their size class; room to grow is what
 * the allocator gave. An integer (INT) lies in the block's place. Other types have the address of
 * their structure where strings have length and owner, and no place: so a small collection costs no more around it than
 * two words and its key. RAW has an expire slot always, because it must not move while replies refer to it; the others
 * get one when they need it, in a new entry.
 *
 * Reference counts are plain: only main changes them (and a thread that alone knows a new object). A value that
 * replies in flight refer to (refcount > 1) is never changed in place: objectMakeWritableTake() copies first.
 * The 24 LRU/LFU bits are kept here and mean something only to store/lru.c; 0 is "not set yet".
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_OBJECT_H
#define OBJECT_OBJECT_H

#include "numbers.h"
#include "slice.h"
#include "zmalloc_move.h"

typedef enum { OBJ_STRING, OBJ_LIST, OBJ_SET, OBJ_ZSET, OBJ_HASH, OBJ_MODULE, OBJ_STREAM, OBJ_TYPES } objectTypeId;

/* Encodings, by the number RDB and DEBUG OBJECT do not show; names come from objectEncodingName(). */
typedef enum {
    OBJ_ENC_RAW,
    OBJ_ENC_INT,
    OBJ_ENC_EMBSTR,
    OBJ_ENC_HASHTABLE,
    OBJ_ENC_LISTPACK,
    OBJ_ENC_INTSET,
    OBJ_ENC_SKIPLIST,
    OBJ_ENC_QUICKLIST,
    OBJ_ENC_STREAM
} objectEncoding;

/* At this count a reply copies instead of referring. References in replies cost 40 bytes each: 10 GB of them. */
#define OBJ_REFCOUNT_MAX ((1u << 28) - 1)
#define OBJ_STRING_MAX ((1ull << 40) - 1)
#define OBJ_KEY_LONG 65535u /* key_len of a longer key: the length stands before the key */

typedef struct robj {
    /* word 0 -- main (or the one thread that knows a new object) */
    uint32_t type : 4;
    uint32_t encoding : 4;
    uint32_t lru : 24; /* LRU clock, or LFU: 16 bits of minutes and 8 of counter */
    uint32_t refcount : 28;
    uint32_t has_expire_slot : 1;
    uint32_t has_key : 1;
    uint32_t block_exact : 1; /* RAW: the block was asked for with exactly value_len bytes */
    uint32_t in_volatile : 1; /* the store's: it is in the table of those whose elements have times */
    /* word 1 */
    uint64_t value_len : 40; /* strings: bytes; other types: with owner, the structure's address */
    uint64_t owner : 8;      /* strings: the thread that made it, and frees it */
    uint64_t key_len : 16;   /* or OBJ_KEY_LONG */
} robj;
static_assert(sizeof(robj) == 16, "two words before the optional parts");

/* What the keyspace asks of a type; one table per type, registered at boot. `structure` is what lies behind an entry's
 * pointer. A function that takes it const writes nothing. Any thread that alone knows the object, else main. */
struct digest;
struct rdbReader;
struct rdbWriter;
struct dict;

/* Where the defragmentation of a large value goes on: zeros at first, then what the type has put there. A type takes
 * what it once put there as well when its value has changed, or is another one. */
typedef struct defragCursor {
    uint64_t at, phase;
} defragCursor;

/* An element, by its name, is about to be freed. NULL: nobody wants to know. */
typedef void elementExpiredFn(void *arg, slice element);

typedef struct objectTypeOps {
    const char *name;                                          /* "list", "hash" ...: reply of TYPE */
    void (*free)(void *structure, int encoding);               /* any thread */
    size_t (*freeEffort)(const void *structure, int encoding); /* allocations to free, for lazy freeing */
    /* Bytes, without the entry. At most `samples` elements are looked at, 0: all. */
    size_t (*memUsage)(const void *structure, int encoding, size_t samples);
    void *(*dup)(const void *structure, int encoding, int *new_encoding); /* a deep copy */
    void (*prefetch)(const void *structure,
                     int encoding); /* ask for what every command touches first; NULL: its line */
    /* The table in which elements are found by name, to look ahead in it; NULL where there is none. NULL: never one. */
    const struct dict *(*elements)(const void *structure, int encoding);
    void (*digest)(const void *structure, int encoding, struct digest *d); /* digest.h */
    /* RDB's type byte for the value, and the value; read a value of an RDB type that rdb_value.c knows as this type's:
     * NULL when it is malformed or there is no memory. What is read comes from anywhere. */
    uint8_t (*rdbType)(const void *structure, int encoding);
    void (*rdbWrite)(struct rdbWriter *w, const void *structure, int encoding);
    void *(*rdbRead)(struct rdbReader *r, unsigned rdb_type, int *encoding);
    void (*check)(const void *structure, int encoding); /* assert what holds; reads all of it */
    /* Elements may have a time at which they are gone. Whether some have; and take out up to `max` of those whose time
     * is before `before_ms`: how many it were, `gone` being told the name of each. *empty: nothing is left. NULL: they
     * never have. */
    bool (*hasTimes)(const void *structure, int encoding);
    size_t (*expireElements)(void *structure, int encoding, int64_t before_ms, size_t max, bool *empty,
                             elementExpiredFn *gone, void *arg);
    /* Offer blocks of the value to `move`, from *cursor on, and stop when about `budget` elements or nodes have been
     * passed; true: that were all. The structure itself may move. NULL: the value stays where it is. */
    bool (*defrag)(void **structure, int encoding, defragCursor *cursor, size_t budget, blockMover *move);
} objectTypeOps;
/* Elements whose time is before this are over: kept by the store, which knows when time stands still. Main. */
extern int64_t object_expire_cutoff_ms;
void objectRegisterType(objectTypeId type, const objectTypeOps *ops);
const char *objectTypeName(const robj *o);
const char *objectEncodingName(const robj *o); /* "int" "embstr" "raw" "listpack" ... */

/* --- Making ------------------------------------------------------------------------------------ */

/* The owner of what commands make: the number of the thread that has main's role, kept by whoever moves the role. */
extern unsigned object_main_owner;

/* A string entry for `key`: INT when the value is a canonical 64-bit integer of at most 20 digits, EMBSTR when it
 * fits, else RAW with a copy. `with_expire` makes room for an expire (-1 in it). Refcount 1. Any thread; `owner` is
 * its number. */
robj *objectCreateString(slice key, slice value, bool with_expire, unsigned owner);
/* The same, but NULL when there is no memory for what is large in it. For threads that read requests: what main makes
 * in a command is reserved by it. */
robj *objectTryCreateString(slice key, slice value, bool with_expire, unsigned owner) must_check;
/* The same without looking for an integer: EMBSTR or RAW (results of INCRBYFLOAT). */
robj *objectCreateTextString(slice key, slice value, bool with_expire, unsigned owner);
/* RAW whatever its size, as values are that commands build piece by piece (SETRANGE, SETBIT, BITOP, PFADD). */
robj *objectCreateRawString(slice key, slice value, unsigned owner);
/* RAW from a block allocated by zmalloc of which the first `len` bytes are the value; takes the block. */
robj *objectCreateFromBlockTake(slice key, char *block, size_t len, unsigned owner);
/* The same from a block that was asked for with exactly `len` bytes. */
robj *objectCreateFromExactTake(slice key, char *block, size_t len, unsigned owner);
/* The same, but NULL when there is no memory for a large key: the block stays the caller's. For threads that read. */
robj *objectTryCreateFromExactTake(slice key, char *block, size_t len, unsigned owner) must_check;
robj *objectCreateInteger(slice key, long long value, bool with_expire, unsigned owner);
/* Another type: takes `structure`. Main. */
robj *objectCreateTake(slice key, objectTypeId type, int encoding, void *structure);
/* A copy of `o` under another key: value copied, expire slot kept (value too), LRU kept. Integer stays integer. */
robj *objectDup(const robj *o, slice new_key);
/* The same value under another key, without copying a block or structure when refcount is 1: consumes one reference
 * of `o`. */
robj *objectRenameTake(robj *o, slice new_key);

/* --- Reading ----------------------------------------------------------------------------------- */

slice objectKey(const robj *o);
/* Value of a string. INT is printed into `buf` (LONG_STR_SIZE bytes); otherwise the slice points into the object
 * and lives as long as it is unchanged. */
slice objectString(const robj *o, char *buf);
size_t objectStringLen(const robj *o);
/* The same of a RAW string, inline: replies refer to these bytes. */
static inline slice objectRawString(const robj *o) {
    const char *block;
    memcpy(&block, (const char *)o + sizeof(robj) + (o->has_expire_slot ? sizeof(int64_t) : 0), sizeof(block));
    return sliceOf(block, o->value_len);
}
long long objectInteger(const robj *o); /* encoding INT */
void *objectStructure(const robj *o);   /* other types */
/* The table of its elements (objectTypeOps); NULL when it has none. */
const struct dict *objectElements(const robj *o);
/* Whether elements of it have times at which they are gone, and taking out those that are (objectTypeOps). */
bool objectHasTimes(const robj *o);
size_t objectExpireElements(robj *o, int64_t before_ms, size_t max, bool *empty, elementExpiredFn *gone, void *arg);
/* false when the string is not a number */
bool objectGetLongLong(const robj *o, long long *out) must_check;
bool objectGetLongDouble(const robj *o, long double *out) must_check;
/* ms since 1970, -1 when none. Inline: every lookup asks. */
static inline int64_t objectExpire(const robj *o) {
    int64_t when_ms = -1;
    if (o->has_expire_slot) memcpy(&when_ms, (const char *)o + sizeof(robj), sizeof(when_ms));
    return when_ms;
}
/* Bytes of the allocation(s): entry + value block or structure. */
size_t objectMemUsage(const robj *o, size_t samples);

/* --- Changing (main) ---------------------------------------------------------------------------- */

/* These return the object to keep in the dict: the same, or a new one that replaces it (then one reference of the
 * old was dropped). The old must not be used again. */
robj *objectSetExpireTake(robj *o, int64_t when_ms); /* -1 removes */
/* A string that may be changed in place: RAW, refcount 1, room for `capacity` bytes, same key, expire and LRU. */
robj *objectMakeWritableTake(robj *o, size_t capacity);
/* Bytes that it would allocate; 0 when the value is changed where it lies. */
size_t objectWritableNeeds(const robj *o, size_t capacity);
char *objectWritableBytes(robj *o);                   /* after objectMakeWritableTake */
void objectSetStringLen(robj *o, size_t len);         /* after writing into it */
robj *objectSetIntegerTake(robj *o, long long value); /* in place when INT and unshared */
/* Other types: the structure has moved, or has been exchanged for one of another encoding. The entry stays. */
void objectSetStructure(robj *o, int encoding, void *structure);

/* --- Defragmentation (main) ----------------------------------------------------------------------- */

/* Whether nobody else knows where its blocks lie. */
static inline bool objectMayMove(const robj *o) {
    return o->refcount == 1;
}
/* Offer the blocks of its value to `move`, as objectTypeOps.defrag does. The entry is a block as well, which whoever
 * knows its address may offer. */
bool objectDefragValue(robj *o, defragCursor *cursor, size_t budget, blockMover *move) must_check;

/* --- Life ---------------------------------------------------------------------------------------- */

/* The count lies in the low 28 bits of the entry's second 32-bit word. It is changed by plain arithmetic and one store;
 * the store is atomic so that a background thread that frees a whole table may look whether a reply still refers to an
 * entry (objectIsShared). */
typedef uint32_t __attribute__((may_alias)) objectRefWord;
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "objectRefWord: bit-fields start at the low bit");
static inline objectRefWord *objectRefs(robj *o) {
    return (objectRefWord *)(void *)o + 1;
}
static inline void incrRefCount(robj *o) {
    objectRefWord *refs = objectRefs(o);
    __atomic_store_n(refs, *refs + 1, __ATOMIC_RELAXED);
}
/* Is there more than one reference? Any thread. false is final when no other thread can find the object any more:
 * the one that held the second reference has let go of it and will not touch it again. */
static inline bool objectIsShared(const robj *o) {
    return (__atomic_load_n((const objectRefWord *)(const void *)o + 1, __ATOMIC_ACQUIRE) & OBJ_REFCOUNT_MAX) > 1;
}
/* Drop a reference that is not the last one (main). */
static inline void objectDropShared(robj *o) {
    objectRefWord *refs = objectRefs(o);
    __atomic_store_n(refs, *refs - 1, __ATOMIC_RELEASE);
}
/* Drop a reference (main). The last one frees at once. */
void decrRefCount(robj *o);
/* Free an object whose refcount is 1 or 0 and which nobody else knows. Any thread. */
void objectFree(robj *o);
/* A structure lets go of an object that is one of its elements. Main, or the thread that frees a structure which nobody
 * can find any more. Replies may refer to it: what then becomes of it the store says (lazyfreeDropElement()). */
void objectDropElement(robj *o);
void objectSetElementDrop(void (*drop)(robj *o)); /* boot only; unless it is called, it is decrRefCount() */
/* Cost of freeing in allocations, for lazy freeing: 1 for strings. */
size_t objectFreeEffort(const robj *o);

/* --- As a dict's entry ---------------------------------------------------------------------------- */
#define OBJ_KEY_WITHIN 32 /* where the key begins at the latest, but for keys of 64 KiB: two words, expire, pointer */
slice objectEntryKey(const void *entry);
const void *objectPrefetchKey(const void *entry);
void objectPrefetchValue(const void *entry);

#endif

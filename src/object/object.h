/* object.h -- robj: a key's entry and its value in one allocation.
 *
 *   +--------+--------+----------+-----------+--------------+------------+--------------+
 *   | word 0 | word 1 | [expire] | [slot]    | [long key n] | key bytes  | [value bytes]|
 *   +--------+--------+----------+-----------+--------------+------------+--------------+
 *     type     value    int64 ms   value block  size_t, only   key_len      value_len, when
 *     refs     length   or -1      or integer   past 65534 B                embedded (EMBSTR)
 *     flags    owner
 *              key length
 *
 * Small strings (EMBSTR) are in the entry. Larger ones (RAW) are a block of exactly their bytes, without
 * a header of their own, so that 512 or 4096 bytes fill their size class; spare capacity is what
 * the allocator adds. An integer (INT) is stored where RAW has the block's address. Other types have the address of
 * their structure where strings have length and owner, so a small collection needs no more in addition than
 * two words and its key. RAW always has an expire slot, because it must not move while replies refer to it; the others
 * get one when they need it, in a new entry.
 *
 * Reference counts are not atomic: only main changes them (and a thread that alone knows a new object). A value that
 * replies in flight refer to (refcount > 1) is never changed in place: objectMakeWritableTake() copies first.
 * Only store/lru.c interprets the 24 LRU/LFU bits; 0 is "not set yet".
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_OBJECT_H
#define OBJECT_OBJECT_H

#include "numbers.h"
#include "slice.h"
#include "zmalloc_move.h"

typedef enum { OBJ_STRING, OBJ_LIST, OBJ_SET, OBJ_ZSET, OBJ_HASH, OBJ_MODULE, OBJ_STREAM, OBJ_TYPES } objectTypeId;

/* Encodings. The numbers are internal; objectEncodingName() has the names. */
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

/* At this count a reply copies the value instead of referring to it. Each reference in replies takes 40 bytes, so these
 * are 5 GB. */
#define OBJ_REFCOUNT_MAX ((1u << 27) - 1)
#define OBJ_STRING_MAX ((1ull << 40) - 1)
#define OBJ_KEY_LONG 65535u /* key_len of a longer key: the length precedes the key */

typedef struct robj {
    /* word 0 -- changed by main (or the one thread that knows a new object) */
    uint32_t type : 4;
    uint32_t encoding : 4;
    uint32_t lru : 24; /* LRU clock, or LFU: 16 bits of minutes and 8 of counter */
    uint32_t refcount : 27;
    uint32_t orphaned : 1; /* its owner has dropped it, and it is kept for replies: object_orphan_bytes counts it */
    uint32_t has_expire_slot : 1;
    uint32_t has_key : 1;
    uint32_t block_exact : 1; /* RAW: the block was allocated with exactly value_len bytes */
    uint32_t in_volatile : 1; /* for the store: the entry is in the table of keys with field TTLs */
    /* word 1 */
    uint64_t value_len : 40; /* strings: bytes; other types: with owner, the structure's address */
    uint64_t owner : 8;      /* strings: number of the thread that created it, and frees it */
    uint64_t key_len : 16;   /* or OBJ_KEY_LONG */
} robj;
static_assert(sizeof(robj) == 16, "two words before the optional parts");

/* The operations of a type; registered at startup, one table per type. `structure` is the address in an entry. A
 * function that takes it as const changes nothing. They run on any thread that alone knows the object, otherwise on
 * main. Listpacks and intsets are single blocks, which object.c frees, measures, copies and moves for all types:
 * functions without `encoding` never get them. */
struct digest;
struct rdbReader;
struct rdbWriter;
struct dict;

/* The progress of defragmenting a large value: zeros at first, then set by the type. A type accepts a cursor from an
 * earlier state of the value, or of another value. */
typedef struct defragCursor {
    uint64_t at, phase;
} defragCursor;

/* Called with the name of an element that is going to be freed. May be NULL. */
typedef void elementExpiredFn(void *arg, slice element);

typedef struct objectTypeOps {
    void (*free)(void *structure);               /* any thread */
    size_t (*freeEffort)(const void *structure); /* number of allocations to free, for lazy freeing */
    /* Returns the bytes of memory without the entry, estimated from at most `samples` elements (0: all). */
    size_t (*memUsage)(const void *structure, size_t samples);
    void *(*dup)(const void *structure); /* a deep copy, of the same encoding */
    /* Prefetches the lines that every command reads first. NULL: the first one of the structure. */
    void (*prefetch)(const void *structure);
    const struct dict *(*elements)(const void *structure); /* the dict of its elements, for prefetching; NULL: none */
    void (*digest)(const void *structure, int encoding, struct digest *d); /* digest.h */
    /* Return RDB's type byte for the value, write the value, and read a value of an RDB type that rdb_value.c assigns
     * to this type. rdbRead() returns NULL if the bytes, which may come from any source, are malformed or there is no
     * memory. */
    uint8_t (*rdbType)(const void *structure, int encoding);
    void (*rdbWrite)(struct rdbWriter *w, const void *structure, int encoding);
    void *(*rdbRead)(struct rdbReader *r, unsigned rdb_type, int *encoding);
    void (*check)(const void *structure, int encoding); /* asserts the invariants; reads all of it */
    /* For types whose elements may have a TTL; NULL for others. Return whether some element has one; and remove up to
     * `max` elements that expire before `before_ms`, call `expired` with the name of each, and return their number.
     * *empty: no element is left. */
    bool (*hasTtls)(const void *structure);
    int64_t (*ttlBound)(void *structure, int64_t **noted); /* objectTtlBound() */
    size_t (*expireElements)(void *structure, int64_t before_ms, size_t max, bool *empty, elementExpiredFn *expired,
                             void *arg);
    /* Offers blocks of the value to `move`, from *cursor on, and stops after about `budget` elements or nodes. Returns
     * true if these were the last ones. The structure itself may move. NULL: the value does not move. */
    bool (*defrag)(void **structure, defragCursor *cursor, size_t budget, blockMover *move);
} objectTypeOps;
/* Elements that expire before this time are expired. Set by the store, which stops it while expiry is paused. Main. */
extern int64_t object_expire_cutoff_ms;
/* Registers the operations of a type. Call at startup. */
void objectRegisterType(objectTypeId type, const objectTypeOps *ops);
/* In object_types.c: registers all types but strings. Call at startup. */
void objectTypesRegister(void);
const char *objectTypeName(const robj *o);     /* reply of TYPE */
const char *objectEncodingName(const robj *o); /* "int" "embstr" "raw" "listpack" ... */

/* --- Creating ----------------------------------------------------------------------------------- */

/* The owner number for objects that commands create: the thread that has the main role. Set when the role moves. */
extern unsigned object_main_owner;

/* Returns a string entry for `key`: INT if the value is a canonical 64-bit integer of at most 20 digits, EMBSTR if it
 * fits, else RAW with a copy. `with_expire` adds an expire slot, set to -1. The refcount is 1. Any thread; `owner` is
 * its number. */
robj *objectCreateString(slice key, slice value, bool with_expire, unsigned owner);
/* Like objectCreateString(), but returns NULL if there is no memory for a large key or value. For threads that read
 * requests; memory for objects that main creates in a command is reserved first. */
robj *objectTryCreateString(slice key, slice value, bool with_expire, unsigned owner) must_check;
/* Like objectCreateString(), but never INT (results of INCRBYFLOAT). */
robj *objectCreateTextString(slice key, slice value, bool with_expire, unsigned owner);
/* Returns a RAW string of any size, for values that commands build piece by piece (SETRANGE, SETBIT, BITOP, PFADD). */
robj *objectCreateRawString(slice key, slice value, unsigned owner);
/* Returns a RAW string whose value is the first `len` bytes of a zmalloc() block, which it takes. */
robj *objectCreateFromBlockTake(slice key, char *block, size_t len, unsigned owner);
/* Like objectCreateFromBlockTake(), with a block that was allocated with exactly `len` bytes. */
robj *objectCreateFromExactTake(slice key, char *block, size_t len, unsigned owner);
/* Like objectCreateFromExactTake(), but returns NULL if there is no memory for a large key: the caller keeps the block.
 * For threads that read requests. */
robj *objectTryCreateFromExactTake(slice key, char *block, size_t len, unsigned owner) must_check;
robj *objectCreateInteger(slice key, long long value, bool with_expire, unsigned owner);
/* Returns an entry of another type; takes `structure`. Main. */
robj *objectCreateTake(slice key, objectTypeId type, int encoding, void *structure);
/* Returns a copy of `o` under another key, with its expire and LRU bits. An integer stays an integer. */
robj *objectDup(const robj *o, slice new_key);
/* Returns the value under another key, without copying a block or structure if the refcount is 1. Consumes one
 * reference of `o`. */
robj *objectRenameTake(robj *o, slice new_key);

/* --- Reading ----------------------------------------------------------------------------------- */

slice objectKey(const robj *o); /* empty if the entry has none */
/* Returns the value of a string. INT is printed to `buf` (LONG_STR_SIZE bytes); otherwise the slice points into the
 * object and is valid while that is unchanged. */
slice objectString(const robj *o, char *buf);
size_t objectStringLen(const robj *o); /* bytes of the value as text */
/* Like objectString(), for RAW strings; inline, as replies refer to these bytes. */
static inline slice objectRawString(const robj *o) {
    const char *block;
    memcpy(&block, (const char *)o + sizeof(robj) + (o->has_expire_slot ? sizeof(int64_t) : 0), sizeof(block));
    return sliceOf(block, o->value_len);
}
long long objectInteger(const robj *o); /* encoding INT */
void *objectStructure(const robj *o);   /* other types */
/* Returns the dict of its elements (objectTypeOps); NULL if it has none. */
const struct dict *objectElements(const robj *o);
/* Returns whether some of its elements have a TTL (objectTypeOps). */
bool objectHasTtls(const robj *o);
/* Returns a time before which no element expires, of a value that has TTLs. *noted: a variable for the store, INT64_MAX
 * until it is set: the bound that it has noted. */
int64_t objectTtlBound(const robj *o, int64_t **noted);
/* Removes expired elements; see expireElements in objectTypeOps. */
size_t objectExpireElements(robj *o, int64_t before_ms, size_t max, bool *empty, elementExpiredFn *expired, void *arg);
/* Parse a string as a number. Return false if it is none. */
bool objectGetLongLong(const robj *o, long long *out) must_check;
bool objectGetLongDouble(const robj *o, long double *out) must_check;
/* Returns the expire in milliseconds since 1970, -1 if none. Inline, as every lookup reads it. */
static inline int64_t objectExpire(const robj *o) {
    int64_t when_ms = -1;
    if (o->has_expire_slot) memcpy(&when_ms, (const char *)o + sizeof(robj), sizeof(when_ms));
    return when_ms;
}
/* Returns the bytes of all allocations: entry, and value block or structure. */
size_t objectMemUsage(const robj *o, size_t samples);

/* --- Changing (main) ---------------------------------------------------------------------------- */

/* These functions return the object to keep in the dict: the same, or a new one that replaces it (one reference of the
 * old one was then dropped). The old one must not be used again. */
robj *objectSetExpireTake(robj *o, int64_t when_ms); /* -1 removes */
/* Returns a string that can be changed in place: RAW, refcount 1, with a capacity of `capacity` bytes and the same key,
 * expire and LRU bits. */
robj *objectMakeWritableTake(robj *o, size_t capacity);
/* Returns how many bytes objectMakeWritableTake() would allocate; 0 if the value can be changed in place. */
size_t objectWritableNeeds(const robj *o, size_t capacity);
char *objectWritableBytes(robj *o);                   /* after objectMakeWritableTake */
void objectSetStringLen(robj *o, size_t len);         /* after writing into it */
robj *objectSetIntegerTake(robj *o, long long value); /* in place when INT and unshared */
/* Sets another structure, which has moved or has another encoding. The entry does not move. Not for strings. */
void objectSetStructure(robj *o, int encoding, void *structure);

/* --- Defragmentation (main) ----------------------------------------------------------------------- */

/* Returns whether no other reference to its blocks exists. */
static inline bool objectMayMove(const robj *o) { return o->refcount == 1; }
/* Offers the blocks of its value to `move`, as objectTypeOps.defrag does. The entry is a block as well, which a caller
 * that knows its address can offer. */
bool objectDefragValue(robj *o, defragCursor *cursor, size_t budget, blockMover *move) must_check;

/* --- Life ---------------------------------------------------------------------------------------- */

/* The count is the low 27 bits of the entry's second 32-bit word, and `orphaned` is the bit above them. The word
 * is changed by plain arithmetic and one store; the store is atomic so that a background thread that frees a whole
 * table can check whether a reply still refers to an entry (objectIsShared). */
typedef uint32_t __attribute__((may_alias)) objectRefWord;
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "objectRefWord: bit-fields start at the low bit");
static inline objectRefWord *objectRefs(robj *o) { return (objectRefWord *)(void *)o + 1; }
static inline void incrRefCount(robj *o) {
    objectRefWord *refs = objectRefs(o);
    __atomic_store_n(refs, *refs + 1, __ATOMIC_RELAXED);
}
/* Returns whether there is more than one reference. Any thread. False is final if no other thread can find the object
 * any more: the owner of the second reference has dropped it and will not touch the object again. */
static inline bool objectIsShared(const robj *o) {
    return (__atomic_load_n((const objectRefWord *)(const void *)o + 1, __ATOMIC_ACQUIRE) & OBJ_REFCOUNT_MAX) > 1;
}
/* Memory of values that only replies keep: it does not come back when their keys are evicted, but when the replies are
 * sent. Main. */
extern size_t object_orphan_bytes;
/* Returns whether there is more than one reference or the object is orphaned: both in one test (main). */
static inline bool objectIsKept(robj *o) { return (*objectRefs(o) & (2 * OBJ_REFCOUNT_MAX + 1)) > 1; }
/* Drops the reference of a value's owner (a table, a structure, a message) that is not the last one (main): from now on
 * a string is orphaned. */
void objectDropShared(robj *o);
/* Drops a reference of a reply, or of another borrower, that is not the last one (main). */
static inline void objectDropBorrowed(robj *o) {
    objectRefWord *refs = objectRefs(o);
    __atomic_store_n(refs, *refs - 1, __ATOMIC_RELEASE);
}
/* Call before the last reference of an orphaned object is dropped (main). */
void objectOrphanEnds(robj *o);
/* Drops the reference of an owner (main). The last one frees the object immediately. */
void decrRefCount(robj *o);
/* Frees an object whose refcount is 1 or 0 and which no other thread knows. Any thread. */
void objectFree(robj *o);
/* Drops a structure's reference to an object that is one of its elements. Main, or the thread that frees a structure
 * which cannot be found any more. Replies may refer to the object: the store's callback (lazyfreeDropElement()) handles
 * that. */
void objectDropElement(robj *o);
void objectSetElementDrop(void (*drop)(robj *o)); /* at startup; the default is decrRefCount() */
/* Returns the number of allocations to free, for lazy freeing: 1 for strings. */
size_t objectFreeEffort(const robj *o);

/* --- As a dict's entry ---------------------------------------------------------------------------- */
#define OBJ_KEY_WITHIN 32 /* largest offset of the key, except for keys of 64 KiB: two words, expire, pointer */
/* The functions of dictType. */
slice objectEntryKey(const void *entry);
const void *objectPrefetchKey(const void *entry);
void objectPrefetchValue(const void *entry);

#endif

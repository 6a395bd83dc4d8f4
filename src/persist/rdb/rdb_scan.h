/* rdb_scan.h -- a snapshot's framing: a file read in large pieces, summed, and cut into whole items.
 *
 * An item is a key with its value, or one of the records between keys. The scanner walks a value just far enough to
 * know where it ends: nothing is decompressed, no element looked at. What it gives out is bytes and places in them.
 *
 *   file:  magic | AUX .. | SELECTDB RESIZEDB | attributes type key value | .. | EOF checksum
 *   piece:         `---- about 256 KB of whole items, their bytes contiguous ----'
 *
 * Knows nothing of the keyspace, so that a tool that only looks at files uses the same.
 *
 * Runs on: any thread; a scanner and a piece belong to one at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_SCAN_H
#define PERSIST_RDB_SCAN_H

#include "platform.h"
#include "sds.h"
#include "slice.h"

#include <sys/types.h>

typedef enum {
    RDB_ITEM_KEY,         /* type, key, value */
    RDB_ITEM_AUX,         /* name, value: strings */
    RDB_ITEM_DB,          /* number: the database of what follows, also in `db` of the keys */
    RDB_ITEM_RESIZE,      /* number: keys of this database; number2: of them with an expire */
    RDB_ITEM_FUNCTION,    /* a string: the source of a library */
    RDB_ITEM_MODULE_AUX,  /* data of a module */
    RDB_ITEM_SLOT_INFO,   /* foreign: number of a slot; number2: its keys */
    RDB_ITEM_SLOT_IMPORT, /* name of a job, ranges of slots */
    RDB_ITEM_END          /* the last one; the checksum has been found good, or there is none */
} rdbItemKind;

/* Places are offsets into the piece's bytes. */
typedef struct rdbItem {
    uint8_t kind; /* rdbItemKind */
    uint8_t type; /* KEY: of the value */
    bool has_idle, has_freq;
    uint8_t freq;
    uint32_t db;
    int64_t expire_ms;     /* KEY: -1 none */
    size_t at, value, end; /* KEY: the key as a string, then the value; others: at = value, what follows the opcode */
    uint64_t number, number2; /* KEY with has_idle: number is seconds */
} rdbItem;

/* Bytes of whole items. Zeros at first; used again for each piece. */
typedef struct rdbPiece {
    char *bytes; /* owns */
    size_t len, capacity;
    rdbItem *items; /* owns */
    size_t count, items_capacity;
    uint64_t offset; /* of the bytes in the file */
} rdbPiece;
void rdbPieceFree(rdbPiece *p); /* what it owns; it is empty then */

typedef enum {
    RDB_FAULT_NONE,
    RDB_FAULT_SIGNATURE, /* no snapshot at all */
    RDB_FAULT_VERSION,   /* not to be read by this server; number: version */
    RDB_FAULT_FOREIGN,   /* number: type or opcode that means something else in a file of that magic */
    RDB_FAULT_TYPE,      /* number: unknown type or opcode */
    RDB_FAULT_SHORT,     /* the file ends too early */
    RDB_FAULT_LENGTH,    /* a length or an encoding that is none */
    RDB_FAULT_CHECKSUM,
    RDB_FAULT_READ,   /* read(2) failed; number: errno */
    RDB_FAULT_MEMORY, /* none for so many bytes */
    /* Found by those who take the items. */
    RDB_FAULT_VALUE,    /* malformed, or no memory for it */
    RDB_FAULT_MODULE,   /* number: id of the module that it takes; 0: data of one, not a value */
    RDB_FAULT_AUX,      /* key: name of the field that is malformed */
    RDB_FAULT_IMPORT,   /* of slots, by a server that knows none */
    RDB_FAULT_DATABASE, /* number: there are so many */
    RDB_FAULT_TWICE,    /* the key is there already */
    RDB_FAULT_LIBRARY   /* of functions, and refused */
} rdbFaultKind;

/* What was being read. */
typedef enum {
    RDB_STEP_START, /* magic and version */
    RDB_STEP_TYPE,  /* a type or an opcode, and what has no step of its own */
    RDB_STEP_EXPIRE,
    RDB_STEP_KEY,
    RDB_STEP_VALUE,
    RDB_STEP_LENGTH, /* numbers of a database */
    RDB_STEP_AUX,
    RDB_STEP_MODULE_AUX,
    RDB_STEP_FUNCTION,
    RDB_STEP_CHECKSUM
} rdbStep;

typedef struct rdbFault {
    rdbFaultKind kind;
    rdbStep step;
    uint64_t offset;              /* in the file: where the item with the fault begins */
    uint64_t reached;             /* and where what could be read of it ends: nothing that is cut counts */
    uint64_t number, wanted, got; /* CHECKSUM: what the file says, and what was summed */
    uint32_t db;
    int type; /* of the key with the fault; -1: it is none of a key */
    sds key;  /* owns; NULL when it is none of a key, or the key itself cannot be read. SIGNATURE: what is there */
} rdbFault;

/* Where bytes come from that are no file. */
typedef struct rdbSource {
    ssize_t (*read)(void *arg, void *buf, size_t len); /* as read(2), on whatever thread scans */
    void (*stop)(void *arg);                           /* any thread: a read() under way, and those to come, end */
    void *arg;                                         /* borrowed */
    uint64_t bytes;                                    /* 0: nobody knows how many they are */
} rdbSource;

typedef struct rdbScanOptions {
    bool relaxed;            /* any version (rdb-version-check) */
    bool checksum;           /* compare it */
    const rdbSource *source; /* borrowed: instead of a descriptor; or NULL */
} rdbScanOptions;

typedef struct rdbScanner rdbScanner;

/* Begin at the place of `fd`, which stays the caller's and must be positioned at the magic. Nothing is read yet. */
rdbScanner *rdbScanCreate(int fd, const rdbScanOptions *options);
void rdbScanFree(rdbScanner *s);
/* The next piece. True: it has at least one item, and after RDB_ITEM_END it is the last. False: there is a fault; the
 * items of the piece are those before it. Not to be called again after either. */
bool rdbScanNext(rdbScanner *s, rdbPiece *piece) must_check;
/* The fault that ended it. Borrowed until rdbScanFree(). */
const rdbFault *rdbScanFault(const rdbScanner *s);
/* Once the first piece has been given out, or there was a fault: the file's version, 0 if it has none. */
unsigned rdbScanVersion(const rdbScanner *s);
/* It had no checksum: it is too old, or was saved without. After RDB_ITEM_END. */
bool rdbScanWithoutChecksum(const rdbScanner *s);
/* Bytes up to the end of the last piece; at the end: of the snapshot, behind which something else may follow. */
uint64_t rdbScanOffset(const rdbScanner *s);

#endif

/* rdb_scan.h -- finds the items of a snapshot: reads a file in large pieces, sums it, and cuts it into whole items.
 *
 * An item is a key with its value, or one of the records between keys. The scanner parses a value just far enough to
 * find its end: it decompresses nothing and looks at no element. Its results are bytes and offsets into them.
 *
 *   file:  magic | AUX .. | SELECTDB RESIZEDB | attributes type key value | .. | EOF checksum
 *   piece:         `---- about 256 KB of whole items, their bytes contiguous ----'
 *
 * It does not use the keyspace, so that tools that only inspect files can share it.
 *
 * Runs on: any thread; a scanner or a piece is used by one thread at a time.
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
    RDB_ITEM_DB,          /* number: the database of the following keys, also in their `db` */
    RDB_ITEM_RESIZE,      /* number: keys of this database; number2: those of them with an expiry */
    RDB_ITEM_FUNCTION,    /* a string: the source of a library */
    RDB_ITEM_MODULE_AUX,  /* data of a module */
    RDB_ITEM_SLOT_INFO,   /* of other servers; number: a slot; number2: its keys */
    RDB_ITEM_SLOT_IMPORT, /* name of a job, ranges of slots; of other servers */
    RDB_ITEM_END          /* the last one; the checksum was correct, absent or not compared */
} rdbItemKind;

/* Positions are offsets into the piece's bytes. */
typedef struct rdbItem {
    uint8_t kind; /* rdbItemKind */
    uint8_t type; /* if KEY: type of the value */
    bool has_idle, has_freq;
    uint8_t freq;
    bool is_foreign; /* the file is of Redis 7.4 or later */
    uint32_t db;
    int64_t expire_ms; /* if KEY: expiry; -1 if it has none */
    /* A key begins at `at`, its value at `value`. For other items both are the offset after the opcode. */
    size_t at, value, end;
    uint64_t number, number2; /* if KEY with has_idle: number is seconds */
} rdbItem;

/* Bytes of whole items. Zero it before its first use; it is used again for each piece. */
typedef struct rdbPiece {
    char *bytes; /* owns */
    size_t len, capacity;
    rdbItem *items; /* owns */
    size_t count, items_capacity;
    uint64_t offset; /* position of the bytes in the file */
} rdbPiece;
/* Frees what it owns; it is empty and usable afterwards. */
void rdbPieceFree(rdbPiece *p);

typedef enum {
    RDB_FAULT_NONE,
    RDB_FAULT_SIGNATURE, /* not a snapshot; key: the bytes that should be the magic */
    RDB_FAULT_VERSION,   /* this server cannot read it; number: version */
    RDB_FAULT_FOREIGN,   /* number: type or opcode that has another meaning in files with this magic */
    RDB_FAULT_TYPE,      /* number: unknown type or opcode */
    RDB_FAULT_SHORT,     /* the file ends too early */
    RDB_FAULT_LENGTH,    /* an invalid length or encoding */
    RDB_FAULT_CHECKSUM,
    RDB_FAULT_READ,   /* read(2) failed; number: errno */
    RDB_FAULT_MEMORY, /* not enough for the bytes of an item */
    /* These are found by the code that takes the items. */
    RDB_FAULT_VALUE,     /* malformed, or no memory for it */
    RDB_FAULT_MODULE,    /* number: ID of the module it needs; 0: unknown */
    RDB_FAULT_AUX,       /* a malformed AUX field */
    RDB_FAULT_IMPORT,    /* a slot import, which this server does not support */
    RDB_FAULT_DATABASE,  /* the file has more databases; number: those of this server */
    RDB_FAULT_DUPLICATE, /* the key exists already */
    RDB_FAULT_LIBRARY    /* a library of functions that was refused */
} rdbFaultKind;

/* The part of the file that was being read. */
typedef enum {
    RDB_STEP_START, /* magic and version */
    RDB_STEP_TYPE,  /* a type or an opcode, or a part without a step of its own */
    RDB_STEP_EXPIRE,
    RDB_STEP_KEY,
    RDB_STEP_VALUE,
    RDB_STEP_LENGTH, /* numbers of SELECTDB and RESIZEDB */
    RDB_STEP_AUX,
    RDB_STEP_MODULE_AUX,
    RDB_STEP_FUNCTION,
    RDB_STEP_CHECKSUM
} rdbStep;

typedef struct rdbFault {
    rdbFaultKind kind;
    rdbStep step;
    uint64_t offset;             /* in the file: start of the item with the fault */
    uint64_t reached;            /* in the file: end of the last element of it that could be read completely */
    uint64_t number;             /* see rdbFaultKind */
    uint64_t expected, computed; /* the checksums, if CHECKSUM: `expected` is the file's */
    uint32_t db;
    int type; /* type of the key with the fault; -1 if it is not in a key */
    sds key;  /* owns; NULL if the fault is not in a key or the key cannot be read. If SIGNATURE: the first bytes */
} rdbFault;

/* A source of bytes that is not a file. */
typedef struct rdbSource {
    ssize_t (*read)(void *arg, void *buf, size_t len); /* like read(2); runs on the scanner's thread */
    void (*stop)(void *arg);                           /* any thread: ends a running read(), and makes later ones end */
    void *arg;                                         /* borrowed */
    uint64_t bytes;                                    /* 0 if their number is unknown */
} rdbSource;

typedef struct rdbScanOptions {
    bool relaxed;            /* accept any version (rdb-version-check) */
    bool checksum;           /* compare the checksum */
    const rdbSource *source; /* borrowed: read instead of a descriptor; or NULL */
} rdbScanOptions;

typedef struct rdbScanner rdbScanner;

/* Creates a scanner that begins at the offset of `fd`, which must be at the magic and stays the caller's. Reads nothing
 * yet. */
rdbScanner *rdbScanCreate(int fd, const rdbScanOptions *options);
void rdbScanFree(rdbScanner *s);
/* Reads the next piece. Returns true if it has at least one item; a piece with RDB_ITEM_END is the last. Returns false
 * if there is a fault; the piece has the items before it. Do not call it again after the last piece or a fault. */
bool rdbScanNext(rdbScanner *s, rdbPiece *piece) must_check;
/* Returns the fault that ended the scan. Borrowed until rdbScanFree(). */
const rdbFault *rdbScanFault(const rdbScanner *s);
/* Returns the version of the file, 0 if it has none. Valid after the first piece or a fault. */
unsigned rdbScanVersion(const rdbScanner *s);
/* Returns true if the file has no checksum: it is too old, or was saved without one. Valid after RDB_ITEM_END. */
bool rdbScanWithoutChecksum(const rdbScanner *s);
/* Returns the offset of the end of the last piece; after RDB_ITEM_END the size of the snapshot, after which other data
 * may follow. */
uint64_t rdbScanOffset(const rdbScanner *s);

/* --- rdb_fault.c -------------------------------------------------------------------------------------- */
/* Returns the reason in one line, worded as in Valkey's log. `version` is that of the file. The caller frees it. */
sds rdbFaultText(const rdbFault *f, unsigned version);
/* Returns the name of a module (nine letters) for its ID. The caller frees it. */
sds rdbModuleName(uint64_t id);
/* Returns where the fault is: "at byte 12, database 0, key "k", type 4", or only "at byte 0" for a fault of magic or
 * version. The caller frees it. */
sds rdbFaultLocation(const rdbFault *f, bool hide_user_data);

#endif

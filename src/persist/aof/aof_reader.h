/* aof_reader.h -- a thread that reads one file of the log and turns its commands into records, in batches for main.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_READER_H
#define PERSIST_AOF_READER_H

#include "command_record.h"
#include "sds.h"

#include <sys/types.h>

typedef enum {
    AOF_READ_ON,    /* another batch follows */
    AOF_READ_END,   /* the file has ended */
    AOF_READ_SHORT, /* the file ends inside a command, an annotation or a transaction, or with zero bytes */
    AOF_READ_BAD,   /* the next bytes are not a command */
    AOF_READ_WRONG, /* this server does not have the next command, or not with these arguments: `error` */
    AOF_READ_FAILED /* the file cannot be read: `error_number` */
} aofReadState;

typedef struct aofBatch {
    struct aofBatch *next;
    parsedCommand *first, *last; /* records of whole units; without annotations */
    size_t count;
    aofReadState state; /* what follows this batch */
    off_t end;          /* in the file, after the last unit: a file that ends early is truncated here */
    bool in_multi;      /* if SHORT: a MULTI has no EXEC */
    off_t zeros;        /* if SHORT: zero bytes at the end of the file, which were not read */
    sds error;          /* if WRONG; owns */
    int error_number;   /* if FAILED */
    /* The following fields are used by the reader only. */
    recordArena arena;
    void *arena_first; /* owns: first piece of the arena */
    char *bytes;       /* owns */
    size_t have, capacity;
} aofBatch;

typedef struct aofReader aofReader;

/* Returns the size of the file `fd` without the zero bytes at its end: a loss of power and a preallocation leave them,
 * and no command ends with one. Returns `size` if it cannot be read; at least `from`. */
off_t aofSizeWithoutZeros(int fd, off_t from, off_t size);

/* Starts a thread that reads `fd` (borrowed) from offset `from` on. Returns NULL with errno if the system cannot start
 * one. */
aofReader *aofReaderStart(int fd, off_t from) must_check;
/* Waits for the next batch and returns it. The last one has a state other than ON. */
aofBatch *aofReaderNext(aofReader *r);
/* Returns the batch to the reader: frees its records, their bytes, and the values that were not taken. */
void aofReaderReturn(aofReader *r, aofBatch *b);
/* Ends the thread, also before the end of the file, and frees everything. All batches must have been returned. */
void aofReaderStop(aofReader *r);

#endif

/* aof_reader.h -- a thread that reads one file of the log and makes records of its commands, in batches for main.
 *
 * Runs on: main, all of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_READER_H
#define PERSIST_AOF_READER_H

#include "command_record.h"
#include "sds.h"

#include <sys/types.h>

typedef enum {
    AOF_READ_ON,    /* more comes */
    AOF_READ_END,   /* that was all */
    AOF_READ_SHORT, /* the file ends inside a command, an annotation or a transaction */
    AOF_READ_BAD,   /* what follows is no command */
    AOF_READ_WRONG, /* what follows is a command that this server does not have, or not like this: `error` */
    AOF_READ_FAILED /* the file cannot be read: `error_number` */
} aofReadState;

typedef struct aofBatch {
    struct aofBatch *next;
    parsedCommand *first, *last; /* whole units; without annotations */
    size_t count;
    aofReadState state; /* what follows this batch */
    off_t end;          /* in the file, behind the last unit: where it is to be cut when it is short */
    bool in_multi;      /* SHORT: a MULTI without its EXEC */
    sds error;          /* WRONG; owns */
    int error_number;   /* FAILED */
    /* The reader's. */
    recordArena arena;
    void *arena_first; /* owns: its first piece */
    char *bytes;       /* owns */
    size_t have, room;
} aofBatch;

typedef struct aofReader aofReader;

/* Read `fd` (borrowed) from offset `from` on. NULL with errno: there is no thread for it. */
aofReader *aofReaderStart(int fd, off_t from) must_check;
/* Wait for the next batch; the last one is the one whose state is not ON. */
aofBatch *aofReaderNext(aofReader *r);
/* Give it back: its records and their bytes are gone, values that nobody has taken are freed. */
void aofReaderReturn(aofReader *r, aofBatch *b);
/* End the thread, also before the end of the file, and free all; batches must have been returned. */
void aofReaderStop(aofReader *r);

#endif

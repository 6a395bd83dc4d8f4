/* file_writer.h -- an rdbWriter whose bytes become a file, with their checksum.
 *
 * The disk gets work while there is still more to come: each few megabytes what was written is sent on its way, and
 * what was sent a little earlier is waited for, so that the sync at the end has little left to do and the system never
 * has much of it in memory.
 *
 * Threads     any; one owner at a time. Waits for the disk. A forked child may call all of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_FILE_WRITER_H
#define PERSIST_FILE_WRITER_H

#include "durable_file.h"
#include "rdb_writer.h"

typedef struct fileWriter {
    rdbWriter out; /* what is written goes here */
    durableFile file;
    uint64_t crc;           /* of all that has left the buffer */
    uint64_t sent, settled; /* offsets: written back up to here at least as a task; for sure */
    bool checksum, incremental_sync;
    int error; /* errno of what has failed, when out.failed */
} fileWriter;

typedef struct fileWriterOptions {
    bool compress, checksum, incremental_sync;
} fileWriterOptions;

/* Make the file (durableCreate()); false: errno, and nothing is to be ended. The struct must not move. */
bool fileWriterBegin(fileWriter *f, const char *temporary, fileWriterOptions options) must_check;
/* Hand all to the system, so that `crc` is that of all that was written. False: errno. */
bool fileWriterFlush(fileWriter *f) must_check;
/* Flush, and put the file in the place of `path` (durableReplace()). Ends it in any case; false: errno, and
 * f->file.step says in which step. */
bool fileWriterReplace(fileWriter *f, const char *path) must_check;
/* End it without a file (durableAbandon()). Keeps errno. */
void fileWriterAbandon(fileWriter *f);

#endif

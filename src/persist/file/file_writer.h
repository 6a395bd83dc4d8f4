/* file_writer.h -- an rdbWriter that writes to a file and computes its checksum.
 *
 * The disk starts to work before the file is complete: every few megabytes the kernel is asked to write back what was
 * written last, and the writer waits for the part before it. So the sync at the end has little left to do, and there
 * are never many dirty pages.
 *
 * Runs on: any thread, also of a forked child; a writer has one owner at a time. All functions wait for the disk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_FILE_WRITER_H
#define PERSIST_FILE_WRITER_H

#include "durable_file.h"
#include "rdb_writer.h"

typedef struct fileWriter {
    rdbWriter out; /* write the contents of the file to it */
    durableFile file;
    uint64_t crc;           /* of all bytes that have left the buffer */
    uint64_t sent, settled; /* offsets: writeback was started up to `sent`, and completed up to `settled` */
    bool checksum, incremental_sync;
    int error; /* errno of the failure if out.failed */
} fileWriter;

typedef struct fileWriterOptions {
    bool compress, checksum, incremental_sync;
} fileWriterOptions;

/* Creates the temporary file (durableCreate()). Returns false with errno, and nothing to abandon, on failure. The
 * struct must not move. */
bool fileWriterBegin(fileWriter *f, const char *temporary, fileWriterOptions options) must_check;
/* Writes out the buffer, so that `crc` covers everything written so far. Returns false with errno on failure. */
bool fileWriterFlush(fileWriter *f) must_check;
/* Flushes, then renames the file to `path` (durableReplace()). The writer is done afterwards, also on failure. Returns
 * false with errno on failure; f->file.step names the step. */
bool fileWriterReplace(fileWriter *f, const char *path) must_check;
/* Ends the writer and removes its file (durableAbandon()). Keeps errno. */
void fileWriterAbandon(fileWriter *f);

#endif

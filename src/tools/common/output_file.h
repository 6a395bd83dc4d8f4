/* output_file.h -- an output file that is replaced completely or not at all.
 *
 * Stdout, pipes and devices are written directly, as the bytes arrive.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_OUTPUT_FILE_H
#define TOOLS_OUTPUT_FILE_H

#include "platform.h"

typedef struct outputFile {
    int fd;          /* owns */
    char *path;      /* owns; the final path; NULL if the bytes are written directly */
    char *temporary; /* owns; the path until then; NULL if `path` is */
} outputFile;

/* Opens a file for writing; "-" is stdout. Returns false with errno. A program may have one such file open at a
 * time. */
bool outputFileOpen(outputFile *f, const char *name) must_check;
bool outputFileWrite(outputFile *f, const char *bytes, size_t len) must_check; /* returns false with errno */
/* Ends a successful write: syncs the file to disk and gives it its final name. Returns false with errno; call
 * outputFileAbandon() then. */
bool outputFileKeep(outputFile *f) must_check;
/* Closes the file and deletes what was written. Call after any failure but that of outputFileOpen(). */
void outputFileAbandon(outputFile *f);

#endif

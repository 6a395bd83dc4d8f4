/* output_file.h -- a file that is there whole, or as it was before.
 *
 * What is no regular file (stdout, a pipe, a device) is written as it comes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_OUTPUT_FILE_H
#define TOOLS_OUTPUT_FILE_H

#include "platform.h"

typedef struct outputFile {
    int fd;          /* owns */
    char *path;      /* owns; where it will be. NULL: written as it comes */
    char *temporary; /* owns; with `path`: where it is */
} outputFile;

/* "-" is stdout. False with errno. One file at a time. */
bool outputFileOpen(outputFile *f, const char *name) must_check;
bool outputFileWrite(outputFile *f, const char *bytes, size_t len) must_check; /* false with errno */
/* All has been written: it takes its place, and is on disk. False with errno. */
bool outputFileKeep(outputFile *f) must_check;
/* Behind any failure but that of outputFileOpen(). */
void outputFileAbandon(outputFile *f);

#endif

/* text_file.h -- a small file of text, read as a whole and replaced as a whole.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_TEXT_FILE_H
#define ADMIN_TEXT_FILE_H

#include "sds.h"

#include <sys/types.h>

/* The file's text and its permissions; empty with *mode untouched when there is no file; NULL with errno. The caller
 * owns it. */
sds textFileRead(const char *path, mode_t *mode) must_check;
/* The new text is complete on disk under another name before it takes the old one's place. False with errno leaves
 * the file as it was. */
bool textFileReplace(const char *path, slice text, mode_t mode) must_check;

#endif

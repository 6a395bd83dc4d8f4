/* text_file.h -- reads and replaces small text files as a whole.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_TEXT_FILE_H
#define ADMIN_TEXT_FILE_H

#include "sds.h"

#include <sys/types.h>

/* Returns the text of the file and its permissions in *mode; an empty text, with *mode unchanged, if there is no file;
 * NULL with errno on failure. The caller owns the text. */
sds textFileRead(const char *path, mode_t *mode) must_check;
/* Replaces the file: the new text is written to disk under another name and then renamed. Returns false with errno on
 * failure; the old file is then unchanged. */
bool textFileReplace(const char *path, slice text, mode_t mode) must_check;

#endif

/* check_progress.h -- a progress bar on the terminal while files are read.
 *
 * Runs on: one thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_PROGRESS_H
#define PERSIST_CHECK_PROGRESS_H

#include "platform.h"

/* Begins a bar for `bytes` bytes. It is never drawn if stderr is not a terminal. */
void checkProgressBegin(uint64_t bytes);
/* Sets how many bytes have been read. It is cheap, to be called often. */
void checkProgressAt(uint64_t bytes);
/* Erases the bar; call it before a line is printed. The next checkProgressAt() may draw it again. */
void checkProgressHide(void);

#endif

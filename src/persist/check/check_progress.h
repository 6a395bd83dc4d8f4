/* check_progress.h -- a bar on a terminal while files are read.
 *
 * Runs on: one thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_PROGRESS_H
#define PERSIST_CHECK_PROGRESS_H

#include "platform.h"

/* So many bytes will be read. Nothing is ever shown where stderr is no terminal. */
void checkProgressBegin(uint64_t bytes);
/* So many have been. Cheap: to be called often. */
void checkProgressAt(uint64_t bytes);
/* Take the bar away, before a line is written. It comes back with the next call of the above. */
void checkProgressHide(void);

#endif

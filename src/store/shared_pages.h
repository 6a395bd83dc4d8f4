/* shared_pages.h -- avoids optional writes while a child process shares the pages of this one.
 *
 * After a fork the first write to a page copies it. Writes that no command requires are skipped meanwhile: the time of
 * a key's last use, optional growth and rehashing of tables, defragmentation.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_SHARED_PAGES_H
#define STORE_SHARED_PAGES_H

#include "platform.h"

/* Call when a child was forked, or the last one has ended. */
void sharedPagesSet(bool shared);
bool sharedPages(void); /* true while a child runs */
/* Sets whether tables may be resized at all (DEBUG DICT-RESIZING), independent of children. */
void sharedPagesAllowResizing(bool allowed);

#endif

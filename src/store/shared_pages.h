/* shared_pages.h -- what is left undone while a child process shares the pages of this one.
 *
 * After a fork the first write into a page copies it. Writes that nobody asked for are not made meanwhile: the time of
 * a key's last use, tables that grow for comfort or move on, entries that defragmentation would move.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_SHARED_PAGES_H
#define STORE_SHARED_PAGES_H

#include "platform.h"

/* A child has been forked, or the last one has ended. */
void sharedPagesSet(bool shared);
bool sharedPages(void);
/* Whether tables may be resized at all (DEBUG DICT-RESIZING). Whatever children do, it stays so. */
void sharedPagesAllowResizing(bool allowed);

#endif
